"""Placement constraints and launch types against the pools of a service."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import Fleet, PlacementConstraint, Subnet
from gpu_constructs.rules import Severity, check, find_rule
from tests.rules.given import FIT_RULES, a_pool, a_task, found, on_launch_type, only, running_on, said


def where(expression: str) -> tuple[PlacementConstraint, ...]:
    return (PlacementConstraint(type="memberOf", expression=expression),)


IN = "attribute:ecs.instance-type in [{}]"
L4 = a_pool("g6.xlarge", "g6.2xlarge")
UNSCALED = a_pool("g6.xlarge", "g6.2xlarge", managed_scaling=False)


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(L4, task=a_task("1"), constraints=where(IN.format("g6.xlarge, g6.2xlarge"))),
        running_on(a_pool(has_unknown_types=True), task=a_task("1"), constraints=where(IN.format("g5.xlarge"))),
    ],
)
def test_constraints_that_hold_or_may_hold_everywhere_have_no_finding(fleet: Fleet) -> None:
    assert found(fleet) == []


def test_a_daemon_without_a_host_is_a_warning_because_ecs_then_wants_no_copy_of_it() -> None:
    fleet = running_on(L4, task=a_task("1"), constraints=where(IN.format("g5.xlarge")))
    daemon = replace(fleet, workloads=(replace(fleet.workloads[0], daemon=True),))
    assert [(each.rule, each.severity) for each in said(FIT_RULES, daemon)] == [("GPU070", Severity.WARNING)]


@pytest.mark.parametrize("fleet_of", [running_on, on_launch_type])
def test_constraints_that_leave_out_some_types_of_a_group_may_get_no_host_of_the_others(fleet_of: Any) -> None:
    finding = only(FIT_RULES, fleet_of(UNSCALED, task=a_task("1"), constraints=where(IN.format("g6.2xlarge"))))
    assert finding.rule == "GPU071"
    assert "without managed scaling the group launches any of its types" in finding.message


ZONE, SUBNET = "attribute:ecs.availability-zone", "attribute:ecs.subnet-id"
IN_A = Subnet(zone="eu-west-1a")
IN_B = Subnet(zone="eu-west-1b")
HERE = Subnet(id="subnet-0a0a0a0a")


@pytest.mark.parametrize(
    ("subnets", "expressions", "rule"),
    [
        ((IN_A, IN_B), [f"{ZONE} == eu-west-1a", f"{ZONE} != eu-west-1a"], "GPU070"),
        ((IN_A, IN_B), [f"{ZONE} == eu-west-1a"], "GPU071"),
        ((), [f"{ZONE} == us-east-1a"], "GPU070"),
        ((), [f"{ZONE} == eu-west-1a"], "GPU229"),
        ((), [f"{ZONE} =~ eu-.*"], "GPU229"),
        ((HERE,), [f"{SUBNET} == subnet-0a0a0a0a"], None),
        ((), ["attribute:stack == prod"], "GPU042"),
        ((), ["attribute:stack not_exists"], "GPU229"),
    ],
)
def test_a_constraint_on_zones_and_subnets_is_held_against_those_of_the_hosts(
    subnets: tuple[Subnet, ...], expressions: list[str], rule: str | None
) -> None:
    pool = replace(a_pool("g6.xlarge", region="eu-west-1"), subnets=subnets)
    constraints = tuple(each for text in expressions for each in where(text))
    fleet = running_on(pool, task=a_task("1"), constraints=constraints)
    asked = [find_rule(each) for each in ("GPU070", "GPU071", "GPU229", "GPU060", "GPU061", "GPU042")]
    assert [each.rule for each in check(fleet, rules=asked)] == ([rule] if rule else [])
