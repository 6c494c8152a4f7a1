"""How hosts are connected: what the user says, what is made of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import GpuCapacity, GpuCluster, IncompatibleError, InvalidValueError, Purchase
from gpu_constructs.cluster.capacity.network import HostNetwork
from gpu_constructs.fleet import UNKNOWN, Pool, PurchaseOption
from gpu_constructs.template import fleet_of
from tests.rules.given import a_pool
from tests.synthesis import Site
from tests.template.written import read_stacks

EFA = HostNetwork.efa()
NO_GROUP = HostNetwork.efa(placement_group=False)


def applied(network: HostNetwork, *types: str, **changes: Any) -> Pool:
    """The capacity as `plan_capacity` would make it."""
    pool = network.applied_to(a_pool(*types, **changes))
    network.require_possible(pool)
    return pool


def made(site: Site, network: HostNetwork, *types: str) -> GpuCapacity:
    """A capacity with such a network, in one zone."""
    zone = ec2.SubnetSelection(availability_zones=["us-east-1a"])
    return site.capacity(*types, network=network, vpc_subnets=zone)


@pytest.mark.parametrize("purchase", [PurchaseOption.CAPACITY_BLOCK, PurchaseOption.RESERVED])
def test_what_is_reserved_is_placed_by_its_reservation(purchase: PurchaseOption) -> None:
    assert applied(EFA, "p5.48xlarge", purchase=purchase).placement_group is False


@pytest.mark.parametrize("purchase", [PurchaseOption.ON_DEMAND, PurchaseOption.SPOT, PurchaseOption.MIXED, UNKNOWN])
def test_everything_else_is_placed_by_a_group(purchase: Any) -> None:
    assert applied(EFA, "p5.48xlarge", purchase=purchase).placement_group is True
    assert applied(NO_GROUP, "p5.48xlarge", purchase=purchase).placement_group is False


def test_a_group_that_does_not_keep_hosts_together_may_be_in_several_zones(site: Site) -> None:
    spread = ec2.PlacementGroup(site.stack, "Spread", spread_level=ec2.PlacementGroupSpreadLevel.RACK)
    assert applied(HostNetwork(placement_group=spread), "g6.xlarge", zones=3).placement_group is False


def test_a_reservation_is_used_before_hosts_go_on_demand(site: Site) -> None:
    """A placement group of our own is one that the reservation was not made in, and no host would run in it."""
    for name, reservation in (("One", "cr-0123456789abcdef0"), ("Any", None)):
        purchase = Purchase.reservations(reservation_id=reservation)
        capacity = site.capacity("p5.48xlarge", name=name, network=EFA, purchase=purchase, vpc_subnets=site.one_zone)
        assert capacity.placement_group is None
    assert not [each for each in site.warnings() if "placement group" in each]
    templates = site.properties("AWS::EC2::LaunchTemplate")
    assert ["Placement" in each["LaunchTemplateData"] for each in templates] == [False, False]
    assert site.resources("AWS::EC2::PlacementGroup") == {}


@pytest.mark.parametrize(
    ("network", "changes", "words"),
    [
        (EFA, {"zones": 2}, "EFA traffic does not leave one Availability Zone, and the subnets of Hosts are in 2"),
        (NO_GROUP, {"zones": 3}, "EFA traffic does not leave one Availability Zone"),
        (HostNetwork(placement_group=True), {"zones": 3}, "a cluster placement group is in one Availability Zone"),
        (EFA, {"zones": 3, "purchase": PurchaseOption.CAPACITY_BLOCK}, "are in 3"),
        (
            HostNetwork.efa(placement_group=True),
            {"purchase": PurchaseOption.CAPACITY_BLOCK},
            "a Capacity Block places its hosts itself",
        ),
        (
            HostNetwork(placement_group=True),
            {"purchase": PurchaseOption.CAPACITY_BLOCK},
            "cannot start in a placement group",
        ),
        (EFA, {"has_unknown_types": True}, "only known at deploy time does not say at which network cards"),
        (EFA, {"unknown_type_names": ("p7.48xlarge",)}, "does not say at which network cards"),
    ],
)
def test_what_cannot_be_together_is_refused(network: HostNetwork, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(IncompatibleError) as raised:
        applied(network, "p5.48xlarge", **changes)
    assert raised.value.argument == ("vpc_subnets" if "zones" in changes else "network")
    assert words in str(raised.value)


def test_types_without_efa_or_with_other_cards_are_refused() -> None:
    with pytest.raises(IncompatibleError, match=r"network: g6\.xlarge supports no .*g6\.8xlarge is the smallest"):
        applied(EFA, "g6.xlarge")
    with pytest.raises(
        IncompatibleError, match=r"at different network cards.*one add_capacity for each layout \(2 here\)"
    ):
        applied(EFA, "p4d.24xlarge", "p5.48xlarge")


@pytest.fixture(scope="module")
def with_efa(shared_site: Site) -> Site:
    """One capacity with EFA."""
    made(shared_site, EFA, "p4d.24xlarge")
    return shared_site


def test_the_launch_template_has_the_groups_inside_its_interfaces(with_efa: Site) -> None:
    data = with_efa.launch_template()
    (ours,) = [key for key in with_efa.resources("AWS::EC2::SecurityGroup") if "EfaSecurityGroup" in key]
    (theirs,) = [key for key in with_efa.resources("AWS::EC2::SecurityGroup") if "HostSecurityGroup" in key]
    groups = [{"Fn::GetAtt": [each, "GroupId"]} for each in (theirs, ours)]
    assert "SecurityGroupIds" not in data
    assert [each["Groups"] for each in data["NetworkInterfaces"]] == [groups] * 5
    assert not any("AssociatePublicIpAddress" in each for each in data["NetworkInterfaces"])
    ((group, placement),) = with_efa.resources("AWS::EC2::PlacementGroup").items()
    assert placement["Properties"] == {"Strategy": "cluster"}
    assert data["Placement"] == {"GroupName": {"Fn::GetAtt": [group, "GroupName"]}}


def test_the_security_group_talks_to_itself_in_both_directions_and_to_nobody_else(with_efa: Site) -> None:
    (name,) = [key for key in with_efa.resources("AWS::EC2::SecurityGroup") if "EfaSecurityGroup" in key]
    itself = {"Fn::GetAtt": [name, "GroupId"]}
    (ingress,) = with_efa.properties("AWS::EC2::SecurityGroupIngress")
    (egress,) = with_efa.properties("AWS::EC2::SecurityGroupEgress")
    assert (ingress["GroupId"], ingress["SourceSecurityGroupId"], ingress["IpProtocol"]) == (itself, itself, "-1")
    assert (egress["GroupId"], egress["DestinationSecurityGroupId"], egress["IpProtocol"]) == (itself, itself, "-1")
    # Rules inside the group that name it would be a cycle, which CloudFormation refuses.
    properties = with_efa.resources("AWS::EC2::SecurityGroup")[name]["Properties"]
    assert not {"SecurityGroupIngress", "SecurityGroupEgress"} & properties.keys()


def test_groups_that_are_given_are_used_and_none_is_made(site: Site) -> None:
    placement = ec2.PlacementGroup.from_placement_group_name(site.stack, "Theirs", "ours-since-2024")
    security = ec2.SecurityGroup.from_security_group_id(site.stack, "Shared", "sg-0123456789abcdef0")
    network = HostNetwork.efa(placement_group=placement, security_group=security)
    resources = made(site, network, "p4d.24xlarge")
    assert (resources.placement_group, resources.efa_security_group) == (placement, security)
    data = site.launch_template()
    assert data["Placement"] == {"GroupName": "ours-since-2024"}
    assert {each["Groups"][1] for each in data["NetworkInterfaces"]} == {"sg-0123456789abcdef0"}
    assert not site.resources("AWS::EC2::PlacementGroup")
    assert len(site.resources("AWS::EC2::SecurityGroup")) == 1
    assert applied(network, "p4d.24xlarge").placement_group is UNKNOWN


def test_the_template_says_what_the_capacity_holds(site: Site) -> None:
    held: dict[str, Pool] = {}

    def hold(name: str, network: HostNetwork) -> None:
        zone = ec2.SubnetSelection(availability_zones=["us-east-1a"])
        capacity = f"C{len(held)}"
        site.capacity(name, name=capacity, network=network, vpc_subnets=zone)
        held[f"Cluster/{capacity}"] = applied(network, name)

    for network in (EFA, NO_GROUP, HostNetwork(), HostNetwork(placement_group=True)):
        for name in ("p4d.24xlarge", "p6-b300.48xlarge"):
            hold(name, network)
    given: list[dict[str, Any]] = [
        {"strategy": ec2.PlacementGroupStrategy.CLUSTER},
        {},
        {"partitions": 2},
        {"strategy": ec2.PlacementGroupStrategy.SPREAD},
    ]
    for number, arguments in enumerate(given):
        group = ec2.PlacementGroup(site.stack, f"Mine{number}", **arguments)
        hold("p4d.24xlarge", HostNetwork.efa(placement_group=group))
    found = read_stacks([site.app.synth().directory])
    pools = fleet_of(found.stacks, tasks=found.tasks, remarks=found.remarks).pools
    assert {each.name: (each.interfaces, each.placement_group) for each in pools} == {
        name: (each.interfaces, each.placement_group) for name, each in held.items()
    }
    assert [each.placement_group for each in held.values()][-4:] == [True, True, False, False]


@pytest.mark.parametrize(("allow_all_outbound", "rules"), [(True, ["GPU254"]), (False, [])])
def test_a_security_group_for_efa_that_lets_its_hosts_not_reach_each_other_is_found(
    site: Site, allow_all_outbound: bool, rules: list[str]
) -> None:
    vpc = ec2.Vpc(site.stack, "OneZone", max_azs=1)
    group = ec2.SecurityGroup(site.stack, "Efa", vpc=vpc, allow_all_outbound=allow_all_outbound)
    group.connections.allow_internally(ec2.Port.all_traffic())
    cluster = GpuCluster(site.stack, "Gpu", vpc=vpc)
    network = HostNetwork.efa(security_group=group)
    cluster.add_capacity("P5", instance_types=["p5.48xlarge"], max_instances=2, network=network)
    found = [each for each in site.warnings() if "GPU254" in each]
    assert [each.split()[0] for each in found] == rules
    assert all("SecurityGroupEgress of Efa" in each and "SecurityGroupIngress" not in each for each in found)


def test_a_zone_without_a_subnet_is_refused_with_those_of_the_vpc(site: Site) -> None:
    zones = [each.availability_zone for each in site.vpc.private_subnets]
    with pytest.raises(InvalidValueError, match="no subnet of the VPC is in us-east-1z") as refused:
        site.capacity("g6.xlarge", vpc_subnets=ec2.SubnetSelection(availability_zones=["us-east-1z"]))
    assert refused.value.allowed == ", ".join(zones)


def test_a_zone_of_a_stack_without_a_region_is_asked_of_the_vpc(site: Site) -> None:
    cluster = GpuCluster(site.stack, "Gpu", vpc=ec2.Vpc(site.stack, "New"))
    zone = ec2.SubnetSelection(availability_zones=["us-east-1b"])
    with pytest.raises(InvalidValueError, match=r"no region; fix: ec2.Vpc\(…, availability_zones=\['us-east-1b"):
        cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, vpc_subnets=zone)


def test_a_zone_is_not_refused_before_the_zones_are_looked_up(site: Site) -> None:
    there = cdk.Stack(site.app, "There", env=cdk.Environment(account="111122223333", region="us-east-1"))
    cluster = GpuCluster(there, "Gpu", vpc=ec2.Vpc(there, "New"))
    zone = ec2.SubnetSelection(availability_zones=["us-east-1b"])
    cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, vpc_subnets=zone)
    missing = json.loads(Path(site.app.synth().directory, "manifest.json").read_text())["missing"]
    assert [each["provider"] for each in missing] == ["availability-zones"]
