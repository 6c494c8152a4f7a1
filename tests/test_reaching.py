"""What has to reach a service, and what a service has to reach, is let through, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_rds as rds

from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition
from tests.synthesis import Site

_PORT = 8000
_MODES = [ecs.NetworkMode.BRIDGE, ecs.NetworkMode.HOST, ecs.NetworkMode.AWS_VPC]
_DYNAMIC = (32768, 65535)
_EVERY_PATH = elbv2.ListenerCondition.path_patterns(["/*"])


class Rules:
    """The security group rules of a template, evaluated: which ports one group may reach another on."""

    def __init__(self, template: dict[str, Any]) -> None:
        self._resources = list(template["Resources"].items())
        self._rules = list(_rules(self._resources))

    def group(self, prefix: str) -> str:
        """The one security group whose logical id begins so."""
        groups = [name for name, each in self._resources if each["Type"] == "AWS::EC2::SecurityGroup"]
        (name,) = [name for name in groups if name.startswith(prefix)]
        return str(name)

    def into(self, group: str) -> set[tuple[str, int, int]]:
        """Where from and on which ports a group is reached."""
        return {(peer, *ports) for way, here, peer, ports in self._rules if way == "in" and here == group}

    def out_of(self, group: str) -> set[tuple[str, int, int]]:
        return {(peer, *ports) for way, here, peer, ports in self._rules if way == "out" and here == group}


def _rules(resources: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, str, str, tuple[int, int]]]:
    for name, each in resources:
        properties = each.get("Properties", {})
        match each["Type"]:
            case "AWS::EC2::SecurityGroup":
                for rule in properties.get("SecurityGroupIngress", ()):
                    yield "in", name, _peer(rule, "SourceSecurityGroupId"), _ports(rule)
                for rule in properties.get("SecurityGroupEgress", ()):
                    yield "out", name, _peer(rule, "DestinationSecurityGroupId"), _ports(rule)
            case "AWS::EC2::SecurityGroupIngress":
                yield (
                    "in",
                    _group(properties["GroupId"]),
                    _peer(properties, "SourceSecurityGroupId"),
                    _ports(properties),
                )
            case "AWS::EC2::SecurityGroupEgress":
                peer = _peer(properties, "DestinationSecurityGroupId")
                yield "out", _group(properties["GroupId"]), peer, _ports(properties)


def _group(value: Any) -> str:
    return str(value["Fn::GetAtt"][0])


def _peer(rule: dict[str, Any], group: str) -> str:
    return _group(rule[group]) if group in rule else str(rule["CidrIp"])


def _ports(rule: dict[str, Any]) -> tuple[int, int]:
    """First and last port of a rule, 0 where it is the port of another resource."""
    if rule["IpProtocol"] == "-1":
        return (0, 65535)
    first, last = (each if isinstance(each, int) else 0 for each in (rule["FromPort"], rule["ToPort"]))
    return (first, last)


def service_on(site: Site, cluster: GpuCluster, mode: ecs.NetworkMode) -> GpuService:
    l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=2)
    stack = cdk.Stack.of(cluster)
    return _service(site, cluster, GpuTaskDefinition(stack, "Task", capacity=[l4], network_mode=mode))


def _service(site: Site, cluster: GpuCluster, task: GpuTaskDefinition) -> GpuService:
    task.add_gpu_container("vllm", image=site.image).add_port_mappings(ecs.PortMapping(container_port=_PORT))
    return GpuService(cdk.Stack.of(cluster), "Service", cluster=cluster, task_definition=task)


def balancer_of(stack: cdk.Stack, vpc: ec2.IVpc, service: ecs.Ec2Service) -> elbv2.ApplicationLoadBalancer:
    balancer = elbv2.ApplicationLoadBalancer(stack, "Balancer", vpc=vpc)
    balancer.add_listener("Http", port=80).add_targets("Chat", port=80, targets=[service])
    return balancer


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("flags", ["site", "recommended_flags"])
def test_balancers_reach_a_service_and_it_reaches_its_file_system_and_its_database(
    request: pytest.FixtureRequest, flags: str, mode: ecs.NetworkMode
) -> None:
    site: Site = request.getfixturevalue(flags)
    stack, vpc = site.stack, site.vpc
    service = service_on(site, site.cluster, mode)
    kind = elbv2.TargetType.IP if mode is ecs.NetworkMode.AWS_VPC else elbv2.TargetType.INSTANCE
    attached = elbv2.ApplicationTargetGroup(stack, "Attached", vpc=vpc, port=80, target_type=kind)
    service.attach_to_application_target_group(attached)
    target = service.load_balancer_target(container_name="vllm", container_port=_PORT)
    listener = balancer_of(stack, vpc, service).add_listener("Other", port=8080)
    listener.add_target_groups("Attached", target_groups=[attached])
    listener.add_targets("Named", port=80, targets=[target], priority=1, conditions=[_EVERY_PATH])
    ports = _DYNAMIC if mode is ecs.NetworkMode.BRIDGE else (_PORT, _PORT)
    allowed = ec2.SecurityGroup(stack, "Network", vpc=vpc)
    network = elbv2.NetworkLoadBalancer(stack, "NetworkBalancer", vpc=vpc, security_groups=[allowed])
    network.add_listener("Tcp", port=80).add_targets("Chat", port=_PORT, targets=[service])
    service.connections.allow_from(network, ec2.Port.tcp_range(*ports))
    files = efs.FileSystem(stack, "Models", vpc=vpc)
    files.connections.allow_default_port_from(service)
    engine = rds.DatabaseInstanceEngine.postgres(version=rds.PostgresEngineVersion.VER_17)
    rds.DatabaseInstance(stack, "Users", vpc=vpc, engine=engine).connections.allow_default_port_from(service)

    rules = Rules(site.template())
    hosts, balancer = rules.group("ClusterHost"), rules.group("Balancer")
    tasks = rules.group("ServiceSecurityGroup") if mode is ecs.NetworkMode.AWS_VPC else hosts
    assert rules.into(tasks) == {(balancer, *ports), (rules.group("Network"), *ports)}
    assert rules.out_of(balancer) == {(tasks, *ports)}
    assert rules.into(rules.group("Models")) == {(tasks, 2049, 2049)}
    assert rules.into(rules.group("Users")) == {(tasks, 0, 0)}
    assert rules.out_of(tasks) == {("0.0.0.0/0", 0, 65535)}
    assert tasks == hosts or not rules.into(hosts)


def test_a_plain_service_of_the_cluster_is_reached_too(site: Site) -> None:
    site.capacity("c7i.2xlarge")
    task = ecs.Ec2TaskDefinition(site.stack, "Task")
    ports = [ecs.PortMapping(container_port=_PORT)]
    task.add_container("web", image=site.image, memory_limit_mib=512, port_mappings=ports)
    service = ecs.Ec2Service(
        site.stack, "Service", cluster=site.cluster.cluster, task_definition=task, min_healthy_percent=50
    )
    balancer_of(site.stack, site.vpc, service)
    rules = Rules(site.template())
    assert rules.into(rules.group("ClusterHost")) == {(rules.group("Balancer"), *_DYNAMIC)}


@pytest.mark.parametrize("whose", ["of this stack", "of another stack", "imported", "imported by its ARN"])
def test_whoever_defines_the_cluster_its_hosts_are_reached(site: Site, whose: str) -> None:
    stack = cdk.Stack(site.app, "Gpu") if whose == "of another stack" else site.stack
    given: ecs.ICluster
    if whose == "imported":
        given = ecs.Cluster.from_cluster_attributes(stack, "Given", cluster_name="given", vpc=site.vpc)
    elif whose == "imported by its ARN":
        given = ecs.Cluster.from_cluster_arn(stack, "Given", "arn:aws:ecs:eu-west-1:123456789012:cluster/given")
    else:
        given = ecs.Cluster(site.stack, "Given", vpc=site.vpc)
    cluster = GpuCluster(stack, "Gpu", cluster=given, vpc=site.vpc)
    balancer_of(stack, site.vpc, service_on(site, cluster, ecs.NetworkMode.HOST))
    rules = Rules(site.template(stack))
    assert rules.into(rules.group("GpuHost")) == {(rules.group("Balancer"), _PORT, _PORT)}


def test_managed_instances_are_reached_in_host_mode(site: Site) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.2xlarge"])
    task = site.task(managed, network_mode=ecs.NetworkMode.HOST)
    balancer_of(site.stack, site.vpc, _service(site, site.cluster, task))
    rules = Rules(site.template())
    assert rules.into(rules.group("ClusterHost")) == {(rules.group("Balancer"), _PORT, _PORT)}
