"""How hosts are bought: what is written for it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

import aws_cdk as cdk
import pytest

from gpu_constructs import IncompatibleError, InvalidValueError, Purchase
from gpu_constructs.fleet import UNKNOWN, Block, Distribution, PurchaseOption, Reservation
from tests.synthesis import Ground, Properties, Site

ID = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/reserved"
START = datetime(2026, 12, 1, 11, 30, tzinfo=timezone.utc)
END = START + timedelta(days=2)


def block(**changes: Any) -> Purchase:
    return Purchase.capacity_block(**{"reservation_id": ID, "instances": 2, "starts": START, "ends": END, **changes})


def hosts(site: Site, purchase: Purchase, *types: str, **arguments: Any) -> Properties:
    site.capacity(*(types or ("p5.48xlarge",)), purchase=purchase, **{"max_instances": 2, **arguments})
    return site.only("AWS::AutoScaling::AutoScalingGroup")


def in_block(site: Site, purchase: Purchase, *types: str, **arguments: Any) -> Properties:
    return hosts(site, purchase, *types, **{"vpc_subnets": site.one_zone, **arguments})


@pytest.fixture(scope="module")
def blocked(shared_site: Site) -> Site:
    """One capacity in a Capacity Block."""
    in_block(shared_site, block())
    return shared_site


# On demand and spot


SPOT: dict[str, tuple[dict[str, int], int, int, PurchaseOption]] = {
    "Spot": ({}, 0, 0, PurchaseOption.SPOT),
    "Base": ({"on_demand_base": 2}, 2, 0, PurchaseOption.MIXED),
    "Share": ({"on_demand_percentage": 25}, 0, 25, PurchaseOption.MIXED),
    "Both": ({"on_demand_base": 1, "on_demand_percentage": 50}, 1, 50, PurchaseOption.MIXED),
}


def test_spot_of_one_type_has_a_policy_that_looks_at_price_and_capacity(site: Site) -> None:
    for name, (arguments, _, _, option) in SPOT.items():
        purchase = Purchase.spot(**arguments)
        assert purchase.option is option
        site.capacity("g6.xlarge", name=name, purchase=purchase)
    groups = site.properties("AWS::AutoScaling::AutoScalingGroup")
    policies = [each["MixedInstancesPolicy"] for each in groups]
    assert [each["InstancesDistribution"] for each in policies] == [
        {
            "OnDemandAllocationStrategy": "prioritized",
            "OnDemandBaseCapacity": base,
            "OnDemandPercentageAboveBaseCapacity": percentage,
            "SpotAllocationStrategy": "price-capacity-optimized",
        }
        for _, base, percentage, _ in SPOT.values()
    ]
    assert [each["LaunchTemplate"]["Overrides"] for each in policies] == [[{"InstanceType": "g6.xlarge"}]] * len(SPOT)
    # Hosts are drained by the agent, and not rebalanced without its knowledge.
    assert not any("CapacityRebalance" in each for each in groups)
    for each in site.properties("AWS::EC2::LaunchTemplate"):
        assert "InstanceMarketOptions" not in each["LaunchTemplateData"]
        assert "ECS_ENABLE_SPOT_INSTANCE_DRAINING=true" in str(each["LaunchTemplateData"]["UserData"])


def test_a_base_of_the_deploy_reaches_the_template_and_is_known_to_be_unknown(site: Site) -> None:
    purchase = Purchase.spot(on_demand_base=site.number("Base"))
    capacity = site.capacity("g6.xlarge", purchase=purchase)
    distribution = site.only("AWS::AutoScaling::AutoScalingGroup")["MixedInstancesPolicy"]["InstancesDistribution"]
    assert distribution["OnDemandBaseCapacity"] == {"Ref": "Base"}
    assert capacity.pool.bought.option is UNKNOWN
    assert capacity.pool.bought.distribution == Distribution(
        on_demand_base=UNKNOWN, on_demand_percentage=0, spot_allocation="price-capacity-optimized"
    )


@pytest.mark.parametrize(("base", "said"), [(9, ["on_demand_base is 9, and max_instances is 8"]), (8, [])])
def test_a_base_above_all_hosts_is_a_warning(site: Site, base: int, said: list[str]) -> None:
    site.capacity("g6.xlarge", max_instances=8, purchase=Purchase.spot(on_demand_base=base))
    found = [each for each in site.warnings() if "ever a Spot host" in each]
    assert [words in each for words, each in zip(said, found, strict=True)] == [True] * len(said)


@pytest.mark.parametrize("wrong", [-1, 100, 101, 0.5, True, "50", 50.0])
def test_a_percentage_leaves_something_to_spot(wrong: Any) -> None:
    with pytest.raises(InvalidValueError, match="on_demand_percentage") as error:
        Purchase.spot(on_demand_percentage=wrong)
    assert error.value.allowed == "0 to 99"
    assert ("on_demand_percentage=50" if wrong in (0.5, "50", 50.0) else "Purchase.on_demand()") in str(error.value.fix)


def test_several_types_on_demand_have_a_policy_that_the_fleet_knows(site: Site) -> None:
    assert site.capacity("g6.xlarge", "g6.2xlarge").pool.bought.distribution == Distribution()
    assert site.capacity("g6.xlarge", name="One").pool.bought.distribution is None


# Reservations


RESERVED: list[tuple[dict[str, Any], Properties, PurchaseOption]] = [
    ({}, {"CapacityReservationPreference": "capacity-reservations-first"}, PurchaseOption.ON_DEMAND),
    (
        {"only": True},
        {"CapacityReservationPreference": "capacity-reservations-only"},
        PurchaseOption.RESERVED,
    ),
    (
        {"reservation_id": ID},
        {
            "CapacityReservationPreference": "capacity-reservations-first",
            "CapacityReservationTarget": {"CapacityReservationIds": [ID]},
        },
        PurchaseOption.ON_DEMAND,
    ),
    (
        {"resource_group_arn": GROUP, "only": True},
        {
            "CapacityReservationPreference": "capacity-reservations-only",
            "CapacityReservationTarget": {"CapacityReservationResourceGroupArns": [GROUP]},
        },
        PurchaseOption.RESERVED,
    ),
]


def test_the_group_says_which_reservations_and_what_else(site: Site) -> None:
    for number, (arguments, _, option) in enumerate(RESERVED):
        purchase = Purchase.reservations(**arguments)
        assert purchase.option is option
        site.capacity("p5.48xlarge", name=f"C{number}", purchase=purchase)
    groups = site.properties("AWS::AutoScaling::AutoScalingGroup")
    assert [each["CapacityReservationSpecification"] for each in groups] == [written for _, written, _ in RESERVED]
    templates = [each["LaunchTemplateData"] for each in site.properties("AWS::EC2::LaunchTemplate")]
    assert not any("CapacityReservationSpecification" in each for each in templates)


def test_reservations_of_the_deploy_pass(site: Site) -> None:
    parameter = cdk.CfnParameter(site.stack, "Reservation").value_as_string
    group = cdk.Stack.of(site.stack).format_arn(service="resource-groups", resource="group", resource_name="reserved")
    capacity = site.capacity("p5.48xlarge", purchase=Purchase.reservations(reservation_id=parameter))
    other = site.capacity("p5.48xlarge", name="Group", purchase=Purchase.reservations(resource_group_arn=group))
    assert capacity.pool.bought.reservation == Reservation(preference="capacity-reservations-first", id=UNKNOWN)
    assert other.pool.bought.reservation == Reservation(preference="capacity-reservations-first", group=UNKNOWN)
    one, _ = site.properties("AWS::AutoScaling::AutoScalingGroup")
    target = one["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationIds": [{"Ref": "Reservation"}]}


@pytest.mark.parametrize(
    "wrong",
    ["", "cr-", "cr-xyz", "cr-0123456789ABCDEF0", "cr-012345678", f"{ID} ", f"arn:aws:ec2:a:1:x/{ID}", 5, True, b"cr"],
)
def test_a_reservation_has_an_id_of_ec2(wrong: Any) -> None:
    for purchase in (Purchase.reservations, block):
        with pytest.raises(InvalidValueError, match="reservation_id: .* is not the id of a capacity reservation"):
            purchase(reservation_id=wrong)


@pytest.mark.parametrize(
    ("purchase", "arguments", "words"),
    [
        *(
            (Purchase.reservations, {"resource_group_arn": each}, "_arn: .* is not the ARN of a resource group")
            for each in ("reserved", ID, f"{GROUP}/", "arn:aws:ec2:us-east-1:123456789012:group/a", 5, "")
        ),
        (Purchase.reservations, {"reservation_id": ID, "resource_group_arn": GROUP}, "one reservation and a group of"),
        (Purchase.reservations, {"only": "true"}, "fix: only=True$"),
        *(
            (block, {"ends": each}, "ends: .* leaves no time for tasks")
            for each in (START, START - timedelta(days=1), START + timedelta(minutes=45))
        ),
    ],
)
def test_a_group_has_an_arn_and_tasks_some_time(
    purchase: Callable[..., Purchase], arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidValueError, match=words):
        purchase(**arguments)


def test_more_hosts_than_are_reserved_never_start(ground: Ground) -> None:
    for purchase in (Purchase.reservations(only=True, instances=1), block(instances=1)):
        with pytest.raises(IncompatibleError, match="max_instances is 2 and 1 host is reserved") as error:
            in_block(ground, purchase)
        assert error.value.argument == "max_instances"
        assert error.value.fix == "lower max_instances to 1"


def test_how_many_are_reserved_stands_in_the_metadata(site: Site) -> None:
    site.capacity("g6.xlarge", purchase=Purchase.reservations(instances=3))
    site.capacity("g6.xlarge", name="Token", purchase=Purchase.reservations(instances=site.number("Reserved")))
    groups = site.resources("AWS::AutoScaling::AutoScalingGroup").values()
    told = [each["Metadata"]["gpu-constructs"]["ReservedInstances"] for each in groups]
    assert told == [3, {"Ref": "Reserved"}]


def test_one_reservation_is_of_one_type_and_not_for_several_shapes(site: Site) -> None:
    with pytest.raises(IncompatibleError, match="^instance_types: .* is of one instance type"):
        in_block(site, Purchase.reservations(reservation_id=ID, only=True), "p5.48xlarge", "p5e.48xlarge")
    with pytest.raises(IncompatibleError, match="g6 has 3 shapes"):
        site.cluster.add_family("g6", max_instances=1, purchase=Purchase.reservations(reservation_id=ID, only=True))
    assert site.cluster.capacities == ()


# Capacity Blocks


def test_the_launch_template_names_the_block_and_its_market(blocked: Site) -> None:
    group = blocked.only("AWS::AutoScaling::AutoScalingGroup")
    template = blocked.launch_template()
    assert template["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert template["CapacityReservationSpecification"] == {"CapacityReservationTarget": {"CapacityReservationId": ID}}
    assert template["InstanceType"] == "p5.48xlarge"
    assert not group.keys() & {"MixedInstancesPolicy", "CapacityReservationSpecification", "PlacementGroup"}
    assert len(group["VPCZoneIdentifier"]) == 1


def test_hosts_come_when_the_block_starts_and_leave_before_it_ends(blocked: Site) -> None:
    (capacity,) = blocked.cluster.capacities
    start, drain = blocked.properties("AWS::AutoScaling::ScheduledAction")
    name = start.pop("AutoScalingGroupName")
    assert drain.pop("AutoScalingGroupName") == name
    assert start == {"StartTime": "2026-12-01T11:30:00Z", "MinSize": 2, "MaxSize": 2}
    assert drain == {"StartTime": "2026-12-03T10:45:00Z", "MinSize": 0, "MaxSize": 0}
    assert capacity.pool.bought.block == Block(starts="2026-12-01T11:30:00Z", ends="2026-12-03T10:45:00Z")
    assert [name] == [{"Ref": each} for each in blocked.resources("AWS::AutoScaling::AutoScalingGroup")]


def test_a_deploy_does_not_undo_the_schedule(blocked: Site) -> None:
    group = blocked.only("AWS::AutoScaling::AutoScalingGroup")
    assert (group["MinSize"], group["MaxSize"]) == ("0", "2")
    policies = [each.get("UpdatePolicy") for each in blocked.template()["Resources"].values()]
    assert {"AutoScalingScheduledAction": {"IgnoreUnmodifiedGroupSizeProperties": True}} in policies


def test_a_block_that_has_started_is_only_drained(site: Site) -> None:
    group = in_block(site, block(starts=None), min_instances=1)
    (drain,) = site.properties("AWS::AutoScaling::ScheduledAction")
    assert drain["MaxSize"] == 0
    assert group["MinSize"] == "1"


def test_times_are_written_in_utc_and_the_lead_is_a_choice(site: Site) -> None:
    tokyo = timezone(timedelta(hours=9))
    in_block(site, block(starts=START.astimezone(tokyo), ends=END.astimezone(tokyo), drain_minutes=90))
    start, drain = site.properties("AWS::AutoScaling::ScheduledAction")
    assert (start["StartTime"], drain["StartTime"]) == ("2026-12-01T11:30:00Z", "2026-12-03T10:00:00Z")


@pytest.mark.parametrize("argument", ["starts", "ends"])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (START.replace(tzinfo=None), "a time without a time zone"),
        (date(2026, 12, 1), "expects a time"),
        ("2026-12-01T11:30:00Z", "expects a time"),
    ],
)
def test_times_have_a_time_zone(argument: str, wrong: Any, words: str) -> None:
    with pytest.raises(InvalidValueError, match=f"{argument}: {words}"):
        block(**{argument: wrong})


@pytest.mark.parametrize("wrong", [30, 0, -45, 45.5, True, None, "45"])
def test_the_drain_is_before_ec2_terminates(wrong: Any) -> None:
    with pytest.raises(InvalidValueError, match="drain_minutes: expects a whole number of minutes") as error:
        block(drain_minutes=wrong)
    assert error.value.allowed == "31 or more"


def test_nothing_can_be_kept_running_before_the_block_starts(ground: Ground) -> None:
    with pytest.raises(IncompatibleError, match="the smallest number of hosts is 1, and none can start before"):
        in_block(ground, block(), min_instances=1)
