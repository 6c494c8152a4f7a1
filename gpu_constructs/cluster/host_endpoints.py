"""Endpoints of a VPC through which hosts reach AWS without NAT and without the internet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.cdk.arguments import texts
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.tokens import is_list_token
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.cluster.managed.managed_gpu_capacity import ManagedGpuCapacity
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown

# The first three are for the agent, those of ECR, CloudWatch Logs, Secrets Manager and Parameter Store for images, logs
# and secrets of tasks, and ssmmessages for ECS Exec:
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html
# Session Manager takes ssm and ssmmessages:
# https://docs.aws.amazon.com/systems-manager/latest/userguide/setup-create-vpc.html
_OF_ALL = MappingProxyType(
    {
        "ecs": "Ecs",
        "ecs-agent": "EcsAgent",
        "ecs-telemetry": "EcsTelemetry",
        "ecr.api": "EcrApi",
        "ecr.dkr": "EcrDkr",
        "logs": "Logs",
        "secretsmanager": "SecretsManager",
        "ssm": "Ssm",
        "ssmmessages": "SsmMessages",
    }
)
_OF_BOOT_CHECK = MappingProxyType({"autoscaling": "AutoScaling", "monitoring": "Monitoring"})
_OF_MONITORING = MappingProxyType({"events": "Events"})
_S3 = "s3"
_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")


class HostEndpoints(Construct):
    """Defines the endpoints of the VPC that hosts need in subnets without NAT: ``HostEndpoints(self, "Endpoints", …)``.

    One interface endpoint each for ECS (``ecs``, ``ecs-agent``, ``ecs-telemetry``), ECR (``ecr.api``, ``ecr.dkr``),
    ``logs``, ``secretsmanager``, ``ssm`` and ``ssmmessages``, in one subnet of each Availability Zone, with
    ``autoscaling`` and ``monitoring`` where hosts check their GPUs at boot, and ``events`` where a daemon reports
    faults of GPUs, which then needs an ``image`` in ECR; and a gateway endpoint for ``s3``, where ECR keeps the layers
    of images. They outlast the hosts, and cost by the hour and zone.

    With an endpoint, its service has private addresses for everything in the VPC. So they let in the whole VPC; where
    it was imported without ``vpc_cidr_block``, the hosts of the cluster alone.

    An endpoint that the app defines for the same VPC stays the only one of its service, and lets in the hosts as well.
    One without private DNS, or a gateway that subnets of the hosts have no route to, is not enough for them.

    Args:
        scope: Where they are defined, in the stack of the cluster.
        construct_id: Its id in that scope.
        cluster: The cluster, after its capacity and its monitoring were added.
        existing: Services whose endpoints the VPC has already, defined elsewhere: ``["s3", "ecr.api"]``. They are left
            as they are.

    Raises:
        InvalidValueError: `cluster` is not a GpuCluster, or `existing` names another service.
        IncompatibleError: The cluster has no capacity yet, or is in another stack.
        RefusedByCdkError: CDK refuses it, such as a gateway endpoint for subnets whose route tables it does not know.

    Attributes:
        security_group: Lets the VPC in to the interface endpoints.
        interface_endpoints: The interface endpoints, by service.
        s3: The gateway endpoint for S3; None where the VPC has one.
    """

    @checked
    def __init__(
        self, scope: Construct, construct_id: str, *, cluster: GpuCluster, existing: Sequence[str] = ()
    ) -> None:
        require_gpu_cluster(cluster)
        _require_services(existing)
        if not cluster.capacities:
            raise IncompatibleError(
                "the cluster has no capacity yet, which decides the subnets and services of the endpoints",
                argument="cluster",
                value=cluster.node.path,
                fix="HostEndpoints after the last add_capacity",
            )
        super().__init__(scope, construct_id)
        hosts = cluster.hosts
        here = cdk.Stack.of(self)
        if here != hosts.stack:
            place = hosts.stack.node.path
            raise IncompatibleError(
                "hosts start after their endpoints, which let them in, so both are in one stack: the hosts are in "
                f"{place}",
                argument="scope",
                value=here.node.path,
                allowed=place,
                fix=f"define HostEndpoints in {place}, after the capacity",
            )
        theirs = [each for each in _of_the_app(hosts.vpc) if each[0] not in existing]
        _let_in(hosts.security_group, [each for _, each in theirs])
        there = {*existing, *(service for service, each in theirs if each.private_dns_enabled is not False)} - {_S3}
        self.security_group: ec2.SecurityGroup = ec2.SecurityGroup(
            self, "SecurityGroup", vpc=hosts.vpc, description="Endpoints of AWS: hosts of an ECS cluster reach them"
        )
        for peer in (hosts.security_group, *_addresses_of(hosts.vpc)):
            self.security_group.add_ingress_rule(peer, ec2.Port.HTTPS)
        first_of_zone: dict[str, ec2.ISubnet] = {}
        for subnet in (each for chosen in hosts.every_choice_of_subnets for each in chosen.subnets):
            first_of_zone.setdefault(subnet.availability_zone, subnet)
        needed = dict(_OF_ALL)
        if any(isinstance(each, GpuCapacity) and each.boot_check is not None for each in cluster.capacities):
            needed.update(_OF_BOOT_CHECK)
        if cluster.monitoring is not None:
            needed.update(_OF_MONITORING)
        self.interface_endpoints: Mapping[str, ec2.InterfaceVpcEndpoint] = {
            service: ec2.InterfaceVpcEndpoint(
                self,
                name,
                vpc=hosts.vpc,
                service=ec2.InterfaceVpcEndpointAwsService(service),
                subnets=ec2.SubnetSelection(subnets=list(first_of_zone.values())),
                security_groups=[self.security_group],
                open=False,
            )
            for service, name in needed.items()
            if service not in there
        }
        self.s3: ec2.GatewayVpcEndpoint | None = None
        without_s3 = () if _S3 in existing else _without_s3(hosts, theirs)
        if without_s3:
            self.s3 = ec2.GatewayVpcEndpoint(
                self,
                "S3",
                vpc=hosts.vpc,
                service=ec2.GatewayVpcEndpointAwsService.S3,
                subnets=without_s3,
            )
        # Every host has the profile of its cluster, so that none is started before or stopped after them.
        hosts.instance_profile.node.add_dependency(self)
        if any(isinstance(each, ManagedGpuCapacity) for each in cluster.capacities):
            hosts.managed_roles.instance_profile.node.add_dependency(self)


def _addresses_of(vpc: ec2.IVpc) -> Iterator[ec2.IPeer]:
    try:
        cidr = vpc.vpc_cidr_block
    except RuntimeError:  # imported without its addresses
        return
    yield ec2.Peer.ipv4(cidr)


def _require_services(existing: Sequence[str]) -> None:
    texts("existing", existing, example="['s3', 'ecr.api']")
    services = (_S3, *_OF_ALL, *_OF_BOOT_CHECK, *_OF_MONITORING)
    for each in existing:
        if each not in services:
            raise InvalidValueError(
                f"hosts need no endpoint for {shown(each)}",
                argument="existing",
                value=each,
                allowed=", ".join(services),
                fix="leave it out",
            )


def _of_the_app(vpc: ec2.IVpc) -> Iterator[tuple[str, ec2.CfnVPCEndpoint]]:
    """Endpoints that the app defines for this VPC, each with its service; "" for one that hosts do not need."""
    vpc_id = vpc.vpc_id
    for each in vpc.node.root.node.find_all():
        if isinstance(each, ec2.CfnVPCEndpoint) and each.vpc_id == vpc_id and each.service_name:
            # CDK writes the region, and what stands before it, as tokens.
            name, endpoint = _TOKEN.sub("", each.service_name), each.node.scope
            if isinstance(endpoint, ec2.GatewayVpcEndpoint):
                needed: Iterable[str] = (_S3,)
            elif isinstance(endpoint, ec2.InterfaceVpcEndpoint):
                needed = (*_OF_ALL, *_OF_BOOT_CHECK)
            else:
                continue
            yield next((service for service in needed if name.endswith(f".{service}")), ""), each


def _without_s3(hosts: ClusterHosts, theirs: Sequence[tuple[str, ec2.CfnVPCEndpoint]]) -> Sequence[ec2.SubnetSelection]:
    """Subnets of the hosts whose route tables lead to none of these gateways; a table that CDK does not know leads."""
    gateways = [each for service, each in theirs if service == _S3]
    if not gateways:
        return [each.selection for each in hosts.every_choice_of_subnets]
    tables = {table for each in gateways for table in each.route_table_ids or ()}
    subnets = [each for chosen in hosts.every_choice_of_subnets for each in chosen.subnets]
    own = {} if any(map(is_list_token, tables)) else {_table_of(each): each for each in subnets}
    outside = [each for table, each in own.items() if table and not is_list_token(table) and table not in tables]
    return [ec2.SubnetSelection(subnets=outside)] if outside else []


def _table_of(subnet: ec2.ISubnet) -> str | None:
    try:
        return subnet.route_table.route_table_id
    except RuntimeError:  # imported without it
        return None


def _let_in(hosts: ec2.ISecurityGroup, endpoints: Iterable[ec2.CfnVPCEndpoint]) -> None:
    for endpoint in (each.node.scope for each in endpoints):
        if isinstance(endpoint, ec2.InterfaceVpcEndpoint):
            connections = endpoint.connections
            for group in connections.security_groups:
                # In the stack of the hosts, which comes after that of the VPC.
                group.add_ingress_rule(hosts, connections.default_port or ec2.Port.HTTPS, remote_rule=True)
