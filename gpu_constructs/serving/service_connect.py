"""Who reaches a service in Service Connect: every service of its cluster that is in Service Connect as well.

Clients connect to the proxy in the task of a server, so its port has to be open to them. In network mode ``awsvpc``
that is the port of the container, or `ingressPortOverride`; in ``bridge`` a port of the host that Docker chooses, or
`ingressPortOverride`: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ServiceConnectService.html and
`dockerPortMap` of https://github.com/aws/amazon-ecs-agent/blob/master/agent/api/task/task.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs.hardware.aws_limits import DYNAMIC_PORTS
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.serving.rules_once import write_rules_once_in

_WHY = "Service Connect"
_GROUPS = "NetworkConfiguration.AwsvpcConfiguration.SecurityGroups"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """What clients are let into.

    Attributes:
        groups: Security groups of the tasks or of their hosts.
        ports: Where the proxy listens.
    """

    groups: Sequence[ec2.ISecurityGroup]
    ports: Sequence[ec2.Port]

    def let_in(self, client: ec2.ISecurityGroup) -> None:
        for group in self.groups:
            for port in self.ports:
                group.connections.allow_from(client, port, _WHY)


@dataclass(slots=True)
class _Members:
    """The services of a cluster that are in Service Connect, as far as they are defined.

    Attributes:
        servers: Those that have names.
        clients: Security groups by which servers know all of them.
    """

    servers: list[_Server] = field(default_factory=list)
    clients: dict[ec2.ISecurityGroup, None] = field(default_factory=dict)

    def add_client(self, client: ec2.ISecurityGroup) -> None:
        if client not in self.clients:
            self.clients[client] = None
            for server in self.servers:
                server.let_in(client)

    def add_server(self, server: _Server) -> None:
        self.servers.append(server)
        for client in self.clients:
            server.let_in(client)


_MEMBERS: WeakKeyDictionary[ClusterHosts, _Members] = WeakKeyDictionary()


def connect(service: ecs.Ec2Service, hosts: ClusterHosts, configuration: object) -> tuple[ec2.Port, ...]:
    """Lets the services of a cluster that are in Service Connect reach one another, whichever stacks they are in.

    Args:
        service: One of them, which was just made.
        hosts: Those of its cluster.
        configuration: Its `ecs.ServiceConnectProps`; None where it is not in Service Connect.

    Returns:
        Where its proxy listens.
    """
    if configuration is None:
        return ()
    members = _MEMBERS.setdefault(hosts, _Members())
    task, services = service.task_definition, cast("Sequence[object]", _of(configuration, "services") or ())
    has_interface = task.network_mode is ecs.NetworkMode.AWS_VPC
    ports = tuple(_port(task, each, has_interface=has_interface) for each in services)
    groups = _groups_here(service) if has_interface else hosts.cluster.connections.security_groups
    for each in [_join(service, hosts)] if has_interface else groups:
        members.add_client(each)
    if ports:
        members.add_server(_Server(groups=groups, ports=ports))
    return ports


def _join(service: ecs.Ec2Service, hosts: ClusterHosts) -> ec2.ISecurityGroup:
    """The group of all tasks of a cluster that are in Service Connect and have interfaces; a service gets it as well.

    It is in the stack of the hosts, on which every service depends, so that no two services depend on each other.
    """
    group = hosts.connect_group
    ids = [each.security_group_id for each in (*service.connections.security_groups, group)]
    cast("ecs.CfnService", service.node.find_child("Service")).add_property_override(_GROUPS, ids)
    return group


def _groups_here(service: ecs.Ec2Service) -> Sequence[ec2.ISecurityGroup]:
    """The groups of its tasks; those of other stacks as its own stack sees them, which writes their rules."""
    stack = cdk.Stack.of(service)
    found, shared = list[ec2.ISecurityGroup](), list[ec2.ISecurityGroup]()
    for number, each in enumerate(service.connections.security_groups, 1):
        here = each
        if each.node.scope is not service:
            if cdk.Stack.of(each) != stack:
                here = ec2.SecurityGroup.from_security_group_id(service, f"Given{number}", each.security_group_id)
            shared.append(here)
        found.append(here)
    if shared:
        write_rules_once_in(service, shared)
    return found


def _port(task: ecs.TaskDefinition, service: object, *, has_interface: bool) -> ec2.Port:
    override = _of(service, "ingress_port_override")
    if override is not None:
        return ec2.Port.tcp(cast("float", override))
    mapping = task.find_port_mapping_by_name(str(_of(service, "port_mapping_name"))) if has_interface else None
    return ec2.Port.tcp_range(*DYNAMIC_PORTS) if mapping is None else ec2.Port.tcp(mapping.container_port)


def _of(struct: object, name: str) -> object:
    """A value of a struct of CDK, which users may write as a dictionary."""
    return struct.get(name) if isinstance(struct, Mapping) else getattr(struct, name, None)
