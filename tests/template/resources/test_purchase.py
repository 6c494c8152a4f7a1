from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Block, Distribution, Pool, PurchaseOption, Reservation
from tests.template.resources.declared import fleet_of_data, mixed, of, only_pool, pool_of_data, resource

# Above what the reservations of a group have, hosts start on demand unless the preference forbids it.
GROUP = "CapacityReservationResourceGroupArn"


def targeted(preference: Any = None, **target: Any) -> dict[str, Any]:
    specification = {"CapacityReservationTarget": target} if target else {}
    if preference is not None:
        specification["CapacityReservationPreference"] = preference
    return {"CapacityReservationSpecification": specification}


IDS = "CapacityReservationIds"
ONLY = "capacity-reservations-only"
CR_1 = targeted(CapacityReservationId="cr-1")
BLOCK = {"InstanceMarketOptions": {"MarketType": "capacity-block"}, **CR_1}
SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}
NOT_KNOWN = {"LaunchTemplate": None, "MixedInstancesPolicy": {"InstancesDistribution": {"Unknown": 0}}}
NOTHING_KNOWN = Distribution(
    on_demand_base=UNKNOWN,
    on_demand_percentage=UNKNOWN,
    spot_allocation=UNKNOWN,
    segments=(UNKNOWN,),
    template_option=UNKNOWN,
)


@pytest.mark.parametrize(
    ("field", "data", "properties", "expected"),
    [
        ("option", {}, {}, PurchaseOption.ON_DEMAND),
        ("option", SPOT, {}, PurchaseOption.SPOT),
        ("option", {"InstanceMarketOptions": {"MarketType": "capacity-block"}}, {}, PurchaseOption.CAPACITY_BLOCK),
        ("option", {"InstanceMarketOptions": {"MarketType": {"Ref": "P"}}}, {}, UNKNOWN),
        ("option", targeted(ONLY, **{GROUP: "arn"}), {}, PurchaseOption.RESERVED),
        ("option", {}, mixed(OnDemandPercentageAboveBaseCapacity="0", OnDemandBaseCapacity=1), PurchaseOption.MIXED),
        # reservations of the group say how on demand is bought, and nothing else
        ("option", BLOCK, targeted(ONLY, **{IDS: ["cr-1"]}), PurchaseOption.CAPACITY_BLOCK),
        ("option", SPOT, targeted(ONLY), PurchaseOption.SPOT),
        ("option", {}, targeted({"Ref": "P"}), UNKNOWN),
        # and go before those of its template
        ("reservation", {}, {}, None),
        ("reservation", targeted(Unknown=0), {}, Reservation(id=UNKNOWN, group=UNKNOWN)),
        ("reservation", {}, targeted(ONLY, **{IDS: ["cr-1", "cr-2"]}), Reservation(preference=ONLY, id=UNKNOWN)),
        ("reservation", CR_1, targeted(ONLY), Reservation(preference=ONLY, id="cr-1")),
        ("reservation", CR_1, targeted("default"), Reservation(id="cr-1")),
        ("reservation", CR_1, targeted("none"), Reservation(preference="none")),
        ("distribution", {}, {}, None),
        ("distribution", {}, NOT_KNOWN, NOTHING_KNOWN),
    ],
)
def test_how_hosts_are_bought_is_read_wherever_it_is_written(
    field: str, data: Any, properties: Any, expected: Any
) -> None:
    assert getattr(pool_of_data({"InstanceType": "g6.xlarge", **data}, properties).bought, field) == expected


def action(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::AutoScaling::ScheduledAction", "Properties": {"AutoScalingGroupName": "blocks", **properties}}


def group_in_block(*actions: dict[str, Any], metadata: Any = None) -> Pool:
    group = {"AutoScalingGroupName": "blocks", "LaunchTemplate": of("Template")}
    named = {f"Action{number}": each for number, each in enumerate(actions)}
    return pool_of_data({"InstanceType": "p5.48xlarge", **BLOCK}, group, group_metadata=metadata, **named)


DRAINS = action(MinSize=0, MaxSize=0, StartTime="2026-12-03T10:45:00Z")


@pytest.mark.parametrize(
    ("actions", "block"),
    [
        ([], Block()),
        ([action(DesiredCapacity="2", StartTime="2026-12-01T11:30:00Z")], Block(starts="2026-12-01T11:30:00Z")),
        ([action(MinSize=0, DesiredCapacity=0, Recurrence="0 6 * * *")], Block(ends=UNKNOWN)),
        ([action(MaxSize=0)], Block(ends=UNKNOWN)),
        (
            [{**DRAINS, "Properties": {**DRAINS["Properties"], "AutoScalingGroupName": {"Ref": "P"}}}],
            Block(ends=UNKNOWN),
        ),
    ],
)
def test_when_the_hosts_of_a_block_are_there_is_read_from_its_schedule(actions: Any, block: Block) -> None:
    assert group_in_block(*actions).bought.block == block


CALL = '{"AutoScalingGroupName": "blocks", "MinSize": 0, "MaxSize": 0}'


def by_event_bridge(**target: Any) -> dict[str, Any]:
    arn = "arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup"
    schedule = {"ScheduleExpression": "at(2026-12-03T10:45:00)", "Target": {"Arn": arn, **target}}
    return {"Type": "AWS::Scheduler::Schedule", "Properties": schedule}


@pytest.mark.parametrize(
    ("others", "ends"),
    [
        ([by_event_bridge(Input=CALL)], UNKNOWN),
        ([by_event_bridge(Input=CALL), DRAINS], "2026-12-03T10:45:00Z"),
        ([by_event_bridge(Arn="arn:aws:scheduler:::aws-sdk:ecs:runTask")], None),
    ],
)
def test_a_schedule_of_event_bridge_may_empty_the_group(others: Any, ends: Any) -> None:
    assert group_in_block(*others).bought.block == Block(ends=ends)


@pytest.mark.parametrize(
    ("data", "properties", "words"),
    [
        ({"InstanceMarketOptions": {"MarketType": "Spot"}}, {}, "MarketType: expects capacity-block"),
        (targeted("capacity-reservation-only"), {}, "expects capacity-reservations-only, none, open"),
    ],
)
def test_a_value_that_there_is_not_is_noted(data: Any, properties: Any, words: str) -> None:
    assert [words in each.text for each in fleet_of_data(data, properties).remarks] == [True]


@pytest.mark.parametrize(
    ("written", "instances"),
    [
        ({}, None),
        ({"gpu-constructs": {"ReservedInstances": 2}}, 2),
        ({"gpu-constructs": {"ReservedInstances": {"Ref": "P"}}}, UNKNOWN),
        ({"gpu-constructs": {"ReservedInstances": True}}, UNKNOWN),
    ],
)
def test_how_many_are_reserved_is_read_from_the_metadata(written: Any, instances: Any) -> None:
    assert group_in_block(metadata=written).bought.reservation == Reservation(id="cr-1", instances=instances)


JOINS = "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"


def test_a_single_instance_may_be_in_a_reservation() -> None:
    data = {"InstanceType": "g6.xlarge", **CR_1}
    instance = resource("EC2::Instance", LaunchTemplate=of("Host"), UserData=JOINS)
    pool = only_pool({"Host": resource("EC2::LaunchTemplate", LaunchTemplateData=data), "Instance": instance})
    assert pool.bought.reservation == Reservation(id="cr-1")
