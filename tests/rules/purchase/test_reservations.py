"""Hosts that were bought in advance: whether they start there and leave in time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Block,
    Container,
    Distribution,
    Fleet,
    Pool,
    PurchaseOption,
    Reservation,
    ResourceRequirement,
    Subnet,
    Task,
)
from gpu_constructs.placement.machine import why_not_reserved
from gpu_constructs.placement.prover import prove
from gpu_constructs.rules import Severity, all_rules, check, rules_of
from gpu_constructs.rules.purchase import reservations
from gpu_constructs.rules.purchase.availability import (
    block_is_not_over,
    one_block,
    sold_so,
    spot_that_lasts,
)
from gpu_constructs.testing import gpus
from tests.rules.changed import severities
from tests.rules.given import a_pool, asked, running_on, said

HOW_SOLD = (sold_so, spot_that_lasts, one_block)
RESERVATIONS = rules_of(reservations)

NAMED = Reservation(id="cr-0123456789abcdef0", instances=2)
ONLY = Reservation(preference="capacity-reservations-only", instances=2)
OF_P4D = Reservation(id="Reserved", instance_type="p4d.24xlarge")
FIRST = Reservation(preference="capacity-reservations-first", id="cr-0123456789abcdef0", instances=2)
GROUP = Reservation(group="arn:aws:resource-groups:us-east-1:123456789012:group/blocks")
TIMES = Block(starts="2026-12-01T11:30:00Z", ends="2026-12-03T10:45:00Z")
SEGMENTS = Distribution(segments=("capacity-block",))


def block(**changes: Any) -> Pool:
    """Hosts in a Capacity Block that are good in every respect."""
    good = {"purchase": PurchaseOption.CAPACITY_BLOCK, "reservation": NAMED, "block": TIMES, "zones": 1}
    return a_pool("p5.48xlarge", **{**good, "max_instances": 2, **changes})


def reserved(**changes: Any) -> Pool:
    good = {"purchase": PurchaseOption.RESERVED, "reservation": ONLY, "max_instances": 2}
    return a_pool("p5.48xlarge", **{**good, **changes})


def placed(number: int, *zones: str) -> Pool:
    """Hosts for a reservation in us-east-1a, the first zone of the region, in subnets of other zones."""
    reservation = replace(ONLY, zone=Subnet(zone="us-east-1a", zone_index=0))
    return replace(reserved(reservation=reservation, zones=number), subnets=tuple(Subnet(zone=each) for each in zones))


LASTING = "price-capacity-optimized"
SPOT_POLICY = Distribution(spot_allocation=LASTING, on_demand_percentage=0, template_option=PurchaseOption.SPOT)
ALL_SPOT = Distribution(template_option=PurchaseOption.CAPACITY_BLOCK, on_demand_percentage=0)
IN_TWO_PLACES = "requests Spot with InstanceMarketOptions, and the group has a mixed instances policy"
IN_ZONE_1 = "start in zone 1 of Fn::GetAZs, and the Capacity Reservation is in us-east-1a"
IN_PARTS = Distribution(segments=("capacity-block", "on-demand"))
SPOT = PurchaseOption.SPOT
BLOCK_POLICY = Distribution(template_option=PurchaseOption.CAPACITY_BLOCK)


@pytest.mark.parametrize(
    ("rule", "severity", "pool", "words"),
    [
        ("GPU160", Severity.ERROR, a_pool(purchase=SPOT, distribution=SPOT_POLICY), IN_TWO_PLACES),
        ("GPU104", Severity.WARNING, block(distribution=BLOCK_POLICY), "a mixed instances policy without distribution"),
        (
            "GPU104",
            Severity.WARNING,
            block(purchase=SPOT, distribution=ALL_SPOT),
            "a mixed instances policy without distribution",
        ),
        (
            "GPU163",
            Severity.ERROR,
            a_pool("p5.48xlarge", purchase=UNKNOWN, distribution=IN_PARTS),
            "a distribution segment is for a Capacity Block",
        ),
        (
            "GPU310",
            Severity.ERROR,
            replace(placed(1), subnets=(Subnet(zone_index=1),)),
            IN_ZONE_1,
        ),
        ("GPU166", Severity.WARNING, a_pool(purchase=SPOT, reservation=ONLY), "the hosts are Spot"),
        ("GPU165", Severity.WARNING, block(managed_termination_protection=True), "keeps hosts with tasks"),
        ("GPU162", Severity.WARNING, a_pool(reservation=FIRST, placement_group=True), "was not made in the placement"),
    ],
)
def test_what_keeps_reserved_hosts_from_coming_or_going_is_found(
    rule: str, severity: Severity, pool: Pool, words: str
) -> None:
    found = asked((*RESERVATIONS, *HOW_SOLD), pool)
    assert list(found) == [rule]
    assert found[rule].severity is severity
    assert words in found[rule].message
    assert found[rule].fix


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param(block(), id="a good block"),
        pytest.param(block(max_instances=UNKNOWN), id="any number of hosts"),
        pytest.param(block(reservation=Reservation(id=UNKNOWN, instances=UNKNOWN)), id="a block of the deploy"),
        pytest.param(block(block=Block(starts=UNKNOWN, ends=UNKNOWN)), id="times of the deploy"),
        pytest.param(block(block=Block(ends="2026-12-03T10:45:00Z")), id="a block that has started"),
        pytest.param(block(placement_group=UNKNOWN), id="a placement group elsewhere"),
        pytest.param(block(managed_termination_protection=UNKNOWN), id="a protection of the deploy"),
        pytest.param(block(reservation=GROUP, distribution=SEGMENTS, zones=2), id="blocks of a group, in segments"),
        pytest.param(reserved(reservation=OF_P4D, has_unknown_types=True), id="types of the deploy"),
    ],
)
def test_what_works_or_nobody_knows_is_not_judged(pool: Pool) -> None:
    assert asked((*RESERVATIONS, *HOW_SOLD), pool) == {}


@pytest.mark.parametrize(
    ("zones", "why"), [((), ""), (("us-east-1b",), "no subnet is in the zone"), (("us-east-1a",), "")]
)
def test_hosts_start_where_their_reservation_is(zones: tuple[str, ...], why: str) -> None:
    assert why_not_reserved(placed(1, *zones)).partition(" of ")[0] == why


def test_a_good_block_is_fine_for_every_rule() -> None:
    found = [each.rule for each in said(all_rules(), block()) if each.severity is not Severity.INFO]
    assert found == []


def test_pools_that_share_a_reservation_use_it_together() -> None:
    pools = (block(max_instances=1), replace(block(max_instances=1), name="Others"))
    assert [each.rule for each in check(Fleet(pools=pools), rules=RESERVATIONS)] == []
    one = replace(NAMED, instances=5)
    found = check(
        Fleet(pools=tuple(replace(each, bought=replace(each.bought, reservation=one)) for each in pools)),
        rules=RESERVATIONS,
    )
    assert [each.message for each in found] == [
        "5 hosts are reserved and paid for, and Hosts and Others start 2 of them at most"
    ]


def test_hosts_that_never_start_in_their_reservation_place_no_task() -> None:
    for pool, why in (
        (placed(1, "us-east-1b"), "no subnet is in the zone of its Capacity Reservation"),
        (reserved(reservation=OF_P4D), "its Capacity Reservation is of p4d.24xlarge"),
    ):
        with pytest.raises(AssertionError, match=why):
            gpus(running_on(pool)).every_gpu_task_is_placeable()
    gpus(running_on(placed(1, "us-east-1a"))).every_gpu_task_is_placeable()


def test_hosts_that_start_in_a_reservation_alone_are_no_more_than_are_reserved() -> None:
    pool = reserved(max_instances=9)
    task = Task(name="train", containers=(Container(name="c", requirements=(ResourceRequirement.gpus(8),)),))
    runs = running_on(pool, task=task, desired_count=3)
    assert prove(runs).workloads[0].answer is False
    words = {each.rule: each.message for each in check(runs) if each.severity is Severity.ERROR}
    assert "Hosts holds 2 at the InstanceCount of its reservation" in words["GPU009"]
    full = running_on(pool, task=task, desired_count=2)
    assert prove(full).workloads[0].answer is True
    (stuck,) = [each.message for each in check(full) if each.rule == "GPU010"]
    assert "2 fit at the InstanceCount of its reservation" in stuck
    assert "they need 24 GPUs, and the hosts have 16" in stuck


@pytest.mark.parametrize(
    ("ends", "is_over"),
    [("2026-12-03T10:45:00", True), ("soon", False)],
)
def test_a_capacity_block_that_has_ended_is_a_warning_at_the_time_of_the_check(ends: Any, is_over: bool) -> None:
    fleet = Fleet(pools=(block(block=Block(ends=ends)),))
    now = datetime(2026, 12, 4, tzinfo=timezone.utc)
    found = check(fleet, rules=[block_is_not_over], now=now)
    assert [(each.rule, each.severity) for each in found] == ([("GPU391", Severity.WARNING)] if is_over else [])
    assert check(fleet, rules=[block_is_not_over]) == ()


@pytest.mark.parametrize(
    ("behavior", "kind", "expected"),
    [("stop", "one-time", ["error"]), ("stop", None, ["error"]), ("stop", "persistent", []), (None, "one-time", [])],
)
def test_a_group_does_not_stop_spot_hosts(behavior: str | None, kind: str | None, expected: list[str]) -> None:
    options = {"InstanceInterruptionBehavior": behavior, "SpotInstanceType": kind}
    market = {"MarketType": "spot", "SpotOptions": {key: each for key, each in options.items() if each}}
    hosts = {"MixedInstancesPolicy": None, "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}, "Version": "1"}}
    changes = {"Template": {"LaunchTemplateData": {"InstanceMarketOptions": market}}, "Hosts": hosts}
    assert severities("GPU160", changes) == expected
