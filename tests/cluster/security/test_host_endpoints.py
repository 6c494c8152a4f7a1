"""Hosts in subnets without NAT get the endpoints that they need, once each, which let in the VPC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import GpuCluster, HostEndpoints, IncompatibleError, InvalidValueError
from tests.synthesis import Site, app_in

_ISOLATED = ec2.SubnetConfiguration(name="Hosts", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
_SELECTION = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
_OF_ALL = {
    *("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr"),
    *("logs", "secretsmanager", "ssm", "ssmmessages", "s3"),
}


class Isolated(Site):
    """A site whose VPC has no way out."""

    def prepare_network(self) -> None:
        self.vpc = ec2.Vpc(
            self.stack,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            # Two subnets in each zone, of which an endpoint takes one.
            subnet_configuration=[_ISOLATED, ec2.SubnetConfiguration(name="More", subnet_type=_ISOLATED.subnet_type)],
            restrict_default_security_group=False,
        )

    def prepare(self, **capacity: Any) -> GpuCluster:
        self.prepare_network()
        self.cluster = GpuCluster(self.stack, "Cluster", vpc=self.vpc, vpc_subnets=_SELECTION)
        self.capacity("g6.xlarge", **capacity)
        return self.cluster

    def services(self) -> list[str]:
        """Services with an endpoint, one for each endpoint."""
        names = [str(each["ServiceName"]) for each in self.properties("AWS::EC2::VPCEndpoint")]
        return [name.rsplit("'.", 1)[-1].rstrip("]}'") for name in names]


@pytest.fixture
def isolated(tmp_path: Path) -> Isolated:
    return Isolated(cdk.App(outdir=str(tmp_path), context=Site.recommended_context()))


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Isolated, HostEndpoints]:
    """Hosts of both kinds with their endpoints, whose template several tests read."""
    isolated = Isolated(app_in(tmp_path_factory.mktemp("reached")))
    cluster = isolated.prepare()
    cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
    return isolated, HostEndpoints(isolated.stack, "Endpoints", cluster=cluster)


def test_hosts_without_nat_reach_what_they_need(reached: tuple[Isolated, HostEndpoints]) -> None:
    isolated, made = reached
    assert sorted(isolated.services()) == sorted(_OF_ALL)
    assert {"s3", *made.interface_endpoints} == _OF_ALL
    for endpoint in isolated.properties("AWS::EC2::VPCEndpoint"):
        if endpoint["VpcEndpointType"] == "Interface":
            assert endpoint["PrivateDnsEnabled"] is True
            assert [each["Ref"] for each in endpoint["SubnetIds"]] == [
                isolated.stack.resolve(each.subnet_id)["Ref"] for each in isolated.vpc.isolated_subnets[:2]
            ]
        else:
            assert len(endpoint["RouteTableIds"]) == 4


def test_the_whole_vpc_is_let_in_because_it_resolves_to_the_endpoints(reached: tuple[Isolated, HostEndpoints]) -> None:
    isolated, made = reached
    own, hosts, addresses = isolated.stack.resolve(
        [
            made.security_group.security_group_id,
            isolated.cluster.host_security_group.security_group_id,
            isolated.vpc.vpc_cidr_block,
        ]
    )
    rules = isolated.properties("AWS::EC2::SecurityGroupIngress")
    assert [(each["GroupId"], each["SourceSecurityGroupId"], each["FromPort"]) for each in rules] == [(own, hosts, 443)]
    (inline,) = filter(None, (e.get("SecurityGroupIngress") for e in isolated.properties("AWS::EC2::SecurityGroup")))
    assert [(each["CidrIp"], each["FromPort"], each["ToPort"]) for each in inline] == [(addresses, 443, 443)]


def test_hosts_that_count_their_gpus_reach_auto_scaling_and_cloudwatch(isolated: Isolated) -> None:
    HostEndpoints(isolated.stack, "Endpoints", cluster=isolated.prepare(check_gpus_at_boot=True))
    assert set(isolated.services()) == {*_OF_ALL, "autoscaling", "monitoring"}


def test_the_daemon_of_a_monitored_cluster_reaches_eventbridge(isolated: Isolated) -> None:
    cluster = isolated.prepare()
    cluster.add_monitoring("Monitoring")
    HostEndpoints(isolated.stack, "Endpoints", cluster=cluster)
    assert set(isolated.services()) == {*_OF_ALL, "events"}


def test_endpoints_outlast_the_hosts(reached: tuple[Isolated, HostEndpoints]) -> None:
    resources = reached[0].template()["Resources"]
    endpoints = {name for name, each in resources.items() if each["Type"] == "AWS::EC2::VPCEndpoint"}
    profiles = [each for each in resources.values() if each["Type"] == "AWS::IAM::InstanceProfile"]
    assert len(profiles) == 2
    assert all(endpoints <= set(each["DependsOn"]) for each in profiles)


def test_endpoints_of_the_app_are_used(isolated: Isolated) -> None:
    cluster = isolated.prepare()
    isolated.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    theirs = isolated.vpc.add_interface_endpoint(
        "Agent", service=ec2.InterfaceVpcEndpointAwsService.ECS_AGENT, open=False
    )
    HostEndpoints(isolated.stack, "Endpoints", cluster=cluster, existing=["ecr.api"])
    assert sorted(isolated.services()) == sorted(_OF_ALL - {"ecr.api"})
    of_theirs = isolated.stack.resolve(theirs.connections.security_groups[0].security_group_id)
    rules = isolated.properties("AWS::EC2::SecurityGroupIngress")
    assert of_theirs in [each["GroupId"] for each in rules]


def test_endpoints_of_the_app_that_hosts_do_not_reach_are_not_enough(isolated: Isolated) -> None:
    cluster = isolated.prepare()
    first, *others = isolated.vpc.isolated_subnets
    isolated.vpc.add_gateway_endpoint(
        "S3", service=ec2.GatewayVpcEndpointAwsService.S3, subnets=[ec2.SubnetSelection(subnets=[first])]
    )
    isolated.vpc.add_interface_endpoint(
        "Ecs", service=ec2.InterfaceVpcEndpointAwsService.ECS, private_dns_enabled=False
    )
    made = HostEndpoints(isolated.stack, "Endpoints", cluster=cluster)
    assert "ecs" in made.interface_endpoints
    # A route table takes one gateway for a service.
    tables = [each["RouteTableIds"] for each in isolated.properties("AWS::EC2::VPCEndpoint") if "RouteTableIds" in each]
    own = isolated.stack.resolve([each.route_table.route_table_id for each in (first, *others)])
    assert sorted(tables, key=len) == [own[:1], [each for each in own if each != own[0]]]


@pytest.mark.parametrize(("existing", "let_in"), [([], 1), (["ecs-agent"], 0)])
def test_endpoints_in_the_stack_of_the_vpc_are_used_from_that_of_the_hosts(
    isolated: Isolated, existing: list[str], let_in: int
) -> None:
    hosts_stack = cdk.Stack(isolated.app, "Gpu")
    isolated.prepare_network()
    isolated.vpc.add_interface_endpoint("Agent", service=ec2.InterfaceVpcEndpointAwsService.ECS_AGENT)
    cluster = GpuCluster(hosts_stack, "Cluster", vpc=isolated.vpc, vpc_subnets=_SELECTION)
    cluster.add_capacity("Capacity", instance_types=["g6.xlarge"], max_instances=2)
    made = HostEndpoints(hosts_stack, "Endpoints", cluster=cluster, existing=existing)
    assert "ecs-agent" not in made.interface_endpoints
    rules = isolated.properties("AWS::EC2::SecurityGroupIngress", hosts_stack)
    assert len([each for each in rules if "Fn::GetAtt" not in each["GroupId"]]) == let_in
    assert isolated.properties("AWS::EC2::SecurityGroupIngress") == []


def test_endpoints_in_another_stack_than_the_hosts_are_refused(isolated: Isolated) -> None:
    other = cdk.Stack(isolated.app, "Network")
    with pytest.raises(IncompatibleError, match=r"scope: .*the hosts are in Stack.*define HostEndpoints in Stack"):
        HostEndpoints(other, "Endpoints", cluster=isolated.prepare())


def test_what_cannot_be_is_refused_and_leaves_nothing(isolated: Isolated) -> None:
    with pytest.raises(
        IncompatibleError, match=r"cluster: the cluster has no capacity yet.* after the last add_capacity"
    ):
        HostEndpoints(isolated.stack, "Endpoints", cluster=GpuCluster(isolated.stack, "Empty", vpc=site_vpc(isolated)))
    with pytest.raises(InvalidValueError, match="cluster: expects a GpuCluster, got 'gpu'"):
        HostEndpoints(isolated.stack, "Endpoints", cluster="gpu")  # type: ignore[arg-type] # what is refused
    cluster = isolated.prepare()
    with pytest.raises(InvalidValueError, match=r"existing: .*'sqs'.*allowed: s3, ecs, "):
        HostEndpoints(isolated.stack, "Endpoints", cluster=cluster, existing=["sqs"])
    with pytest.raises(InvalidValueError, match="existing"):
        HostEndpoints(isolated.stack, "Endpoints", cluster=cluster, existing="s3")
    assert isolated.stack.node.try_find_child("Endpoints") is None


def site_vpc(site: Site) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        site.stack, "Other", vpc_id="vpc-12345678", availability_zones=["a"], private_subnet_ids=["subnet-12345678"]
    )


@pytest.mark.parametrize("checks", [False, True])
def test_the_check_at_synth_misses_nothing(isolated: Isolated, checks: bool) -> None:
    cluster = isolated.prepare(check_gpus_at_boot=checks)
    cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
    assert len(isolated.findings("GPU228")) == 2
    HostEndpoints(isolated.stack, "Endpoints", cluster=cluster)
    assert isolated.findings("GPU228") == []
