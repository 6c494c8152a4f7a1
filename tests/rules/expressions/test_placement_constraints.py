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
        running_on(L4, task=a_task("1"), constraints=where("attribute:ecs.availability-zone == us-east-1a")),
        running_on(L4, task=a_task("1"), constraints=where("attribute:stack == prod")),
        running_on(L4, task=a_task("1"), constraints=(PlacementConstraint(type="distinctInstance"),)),
        running_on(L4, task=a_task("1"), constraints=where("attribute:ecs.instance-type = g5.xlarge")),  # GPU040
        running_on(a_pool(has_unknown_types=True), task=a_task("1"), constraints=where(IN.format("g5.xlarge"))),
    ],
)
def test_constraints_that_hold_or_may_hold_everywhere_have_no_finding(fleet: Fleet) -> None:
    assert found(fleet) == []


@pytest.mark.parametrize("of_task", [False, True])
def test_constraints_that_no_type_satisfies_are_an_error_with_the_expression_and_the_types(of_task: bool) -> None:
    constraints = where(IN.format("g5.xlarge"))
    task = a_task("1", constraints=constraints if of_task else ())
    finding = only(FIT_RULES, running_on(L4, task=task, constraints=() if of_task else constraints))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU070", Severity.ERROR, "chat-service")
    assert "no host of Hosts satisfies the placement constraints of chat-service" in finding.message
    assert (
        "a host (g6.xlarge or g6.2xlarge) does not satisfy 'attribute:ecs.instance-type in [g5.xlarge]'"
        in finding.message
    )
    assert finding.fix == "an expression that is true for hosts of Hosts (g6.xlarge and g6.2xlarge), or no constraint"


def test_a_daemon_without_a_host_is_a_warning_because_ecs_then_wants_no_copy_of_it() -> None:
    fleet = running_on(L4, task=a_task("1"), constraints=where(IN.format("g5.xlarge")))
    daemon = replace(fleet, workloads=(replace(fleet.workloads[0], daemon=True),))
    assert [(each.rule, each.severity) for each in said(FIT_RULES, daemon)] == [("GPU070", Severity.WARNING)]


def test_two_constraints_that_leave_no_type_between_them_are_an_error() -> None:
    constraints = where(IN.format("g6.xlarge, g5.xlarge")) + where(IN.format("g6.2xlarge, g5.xlarge"))
    assert only(FIT_RULES, running_on(L4, task=a_task("1"), constraints=constraints)).rule == "GPU070"


def test_a_pool_of_a_strategy_that_a_list_of_types_leaves_out_never_runs_its_share() -> None:
    other = a_pool("g5.xlarge", name="A10G")
    finding = only(
        FIT_RULES, running_on(L4, other, task=a_task("1"), constraints=where(IN.format("g6.xlarge, g6.2xlarge")))
    )
    assert finding.rule == "GPU070"
    assert "no host of A10G satisfies" in finding.message


def test_with_a_launch_type_constraints_choose_among_the_hosts_of_the_cluster() -> None:
    pools = a_pool("g6.xlarge", name="L4", managed_scaling=False), a_pool("g5.xlarge", managed_scaling=False)
    assert found(on_launch_type(*pools, task=a_task("1"), constraints=where(IN.format("g6.xlarge")))) == []
    elsewhere = on_launch_type(*pools, task=a_task("1"), constraints=where(IN.format("p5.4xlarge")), is_whole=True)
    assert only(FIT_RULES, elsewhere).rule == "GPU070"


@pytest.mark.parametrize("fleet_of", [running_on, on_launch_type])
def test_constraints_that_leave_out_some_types_of_a_group_may_get_no_host_of_the_others(fleet_of: Any) -> None:
    finding = only(FIT_RULES, fleet_of(UNSCALED, task=a_task("1"), constraints=where(IN.format("g6.2xlarge"))))
    assert finding.rule == "GPU071"
    assert "without managed scaling the group launches any of its types" in finding.message


def test_constraints_that_leave_out_some_types_may_stop_scale_out() -> None:
    finding = only(FIT_RULES, running_on(L4, task=a_task("1"), constraints=where(IN.format("g6.2xlarge"))))
    assert (finding.rule, finding.severity) == ("GPU071", Severity.WARNING)
    assert "a host (g6.xlarge) does not satisfy" in finding.message
    assert "never launch g6.2xlarge" in finding.message
    assert finding.fix == "a separate capacity provider for g6.2xlarge"


ZONE, SUBNET = "attribute:ecs.availability-zone", "attribute:ecs.subnet-id"
IN_A = Subnet(zone="eu-west-1a")
IN_B = Subnet(zone="eu-west-1b")
HERE, THERE = Subnet(id="subnet-0a0a0a0a"), Subnet(id="subnet-0b0b0b0b")


@pytest.mark.parametrize(
    ("subnets", "expressions", "rule"),
    [
        ((IN_B,), [f"{ZONE} == eu-west-1a"], "GPU070"),
        ((IN_A, IN_B), [f"{ZONE} in [eu-west-1c, us-east-1a]"], "GPU070"),
        ((IN_A, IN_B), [f"{ZONE} == eu-west-1a", f"{ZONE} != eu-west-1a"], "GPU070"),
        ((IN_A, IN_B), [f"{ZONE} == eu-west-1a"], "GPU071"),
        ((IN_A, IN_B), [f"{ZONE} in [eu-west-1a, eu-west-1b]"], None),
        ((), [f"{ZONE} == us-east-1a"], "GPU070"),
        ((), [f"{ZONE} != us-east-1a"], None),
        ((), [f"{ZONE} == eu-west-1a"], "GPU229"),
        ((), [f"{ZONE} =~ eu-.*"], "GPU229"),
        ((IN_A,), [f"{SUBNET} == subnet-0a0a0a0a"], "GPU229"),
        ((HERE,), [f"{SUBNET} == subnet-0a0a0a0a"], None),
        ((HERE,), [f"{SUBNET} == subnet-0b0b0b0b"], "GPU070"),
        ((HERE, THERE), [f"{SUBNET} == subnet-0b0b0b0b"], "GPU071"),
        ((HERE, Subnet()), [f"{SUBNET} == subnet-0b0b0b0b"], "GPU071"),
        (
            (Subnet(id="subnet-0a0a0a0a", zone="eu-west-1a"), Subnet(id="subnet-0b0b0b0b", zone="eu-west-1b")),
            [f"{ZONE} == eu-west-1a", f"{SUBNET} == subnet-0b0b0b0b"],
            "GPU070",
        ),
        ((), ["attribute:stack == prod"], "GPU042"),
        ((), ["attribute:stack exists"], "GPU042"),
        ((), ["attribute:stack not_exists"], "GPU229"),
        ((), ["attribute:com.amazonaws.ecs.capability.privileged-container exists"], "GPU229"),
    ],
)
def test_a_constraint_on_zones_and_subnets_is_held_against_those_of_the_hosts(
    subnets: tuple[Subnet, ...], expressions: list[str], rule: str | None
) -> None:
    pool = replace(a_pool("g6.xlarge", region="eu-west-1"), subnets=subnets)
    constraints = tuple(each for text in expressions for each in where(text))
    fleet = running_on(pool, task=a_task("1"), constraints=constraints)
    asked = [find_rule(each) for each in ("GPU070", "GPU070", "GPU071", "GPU229", "GPU060", "GPU061", "GPU042")]
    assert [each.rule for each in check(fleet, rules=asked)] == ([rule] if rule else [])


def test_what_a_constraint_on_zones_finds_names_the_zones_of_the_hosts() -> None:
    pool = replace(a_pool("g6.xlarge", region="eu-west-1"), subnets=(IN_A, IN_B))
    finding = only(FIT_RULES, running_on(pool, task=a_task("1"), constraints=where(f"{ZONE} == eu-west-1c")))
    assert finding.message.endswith(
        "does not satisfy 'attribute:ecs.availability-zone == eu-west-1c', and ecs.availability-zone is eu-west-1a or "
        "eu-west-1b"
    )


def test_without_managed_scaling_a_host_in_each_zone_may_be_there() -> None:
    pool = replace(a_pool("g6.xlarge", managed_scaling=False), subnets=(IN_A, IN_B))
    fleet = running_on(pool, task=a_task("1"), constraints=where(f"{ZONE} == eu-west-1a"))
    assert [each.rule for each in check(fleet, rules=[*FIT_RULES, find_rule("GPU229")])] == ["GPU229"]
