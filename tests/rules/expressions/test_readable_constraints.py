"""Placement constraints that ECS cannot read, or that no host satisfies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.fleet import Fleet, PlacementConstraint, Workload
from gpu_constructs.rules import check, rules_of
from gpu_constructs.rules.expressions import constraints
from gpu_constructs.rules.expressions.constraints import (
    readable_by_ecs,
    satisfied_by_hosts,
)
from gpu_constructs.rules.finding import Severity
from tests.rules.given import container, fleet_of, gpu, member_of, only, said, task_of

RULES = tuple(each for each in rules_of(constraints) if each.id <= "GPU070")

TYPE = "attribute:ecs.instance-type"
TASK = task_of(container(gpu()))


def constrained(*constraints: PlacementConstraint) -> Fleet:
    return fleet_of(replace(TASK, constraints=constraints))


def expressed(*expressions: str) -> Fleet:
    return constrained(*map(member_of, expressions))


def service_of(fleet: Fleet, *constraints: PlacementConstraint) -> Fleet:
    workload = Workload(name="web", task=fleet.tasks[0], constraints=constraints)
    return replace(fleet, workloads=(workload,))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (f"{TYPE} =~ ((", "column 33: `((` is not a regular expression"),
        ("a = b", "column 1: expected a subject, found `a`"),
        (f"{TYPE} in [g5.xlarge", "column"),
        (f"{TYPE} == g5.xlarge and", "column"),
    ],
)
def test_an_expression_that_cannot_be_read_is_an_error_with_the_column_and_the_text(
    expression: str, words: str
) -> None:
    finding = only(readable_by_ecs, expressed(expression))
    assert (finding.rule, finding.severity) == ("GPU040", Severity.ERROR)
    assert words in finding.message
    assert expression in finding.message
    assert "\n" not in finding.message


def test_a_long_expression_is_quoted_around_the_column() -> None:
    long = " or ".join([f"{TYPE} == g5.xlarge"] * 30)
    finding = only(readable_by_ecs, expressed(f"{long} or ("))
    assert len(finding.message) < 400
    assert finding.message.endswith("or (")


@pytest.mark.parametrize(
    "fleet",
    [expressed(f"{TYPE} in [g5.xlarge, g5.2xlarge]"), expressed("x" * 2001)],
)
def test_what_can_be_read_or_is_another_mistake_is_silent(fleet: Fleet) -> None:
    assert said(readable_by_ecs, fleet) == []


@given(st.text(max_size=300))
def test_any_text_gets_an_answer_and_never_a_traceback(text: str) -> None:
    fleet = service_of(expressed(text), member_of(text))
    assert all("\n" not in each.message for each in check(fleet, rules=RULES))


def test_two_constraints_that_exclude_each_other_are_an_error_said_once() -> None:
    finding = only(satisfied_by_hosts, expressed(f"{TYPE} == g5.xlarge", f"{TYPE} in [p5.48xlarge]"))
    assert finding.subject == "train"


def test_a_service_is_not_blamed_for_its_task() -> None:
    fleet = expressed(f"{TYPE} == g5.xlarge and {TYPE} == p5.48xlarge")
    assert only(satisfied_by_hosts, service_of(fleet, member_of(f"{TYPE} == g5.xlarge"))).subject == "train"


@pytest.mark.parametrize(
    ("constraint", "words", "fix"),
    [
        (PlacementConstraint(type="distinctInstance"), "only takes memberOf", "move it to the service"),
        (PlacementConstraint(type="MemberOf", expression=f"{TYPE} == g5.xlarge"), "'MemberOf'", "memberOf"),
        (PlacementConstraint(type="affinity", expression=f"{TYPE} == g5.xlarge"), "'affinity'", "memberOf"),
        (PlacementConstraint(type="", expression=f"{TYPE} == g5.xlarge"), "has no type", "memberOf"),
    ],
)
def test_a_type_that_ecs_does_not_take_is_an_error(constraint: PlacementConstraint, words: str, fix: str) -> None:
    finding = only(readable_by_ecs, constrained(constraint))
    assert words in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    "expressions",
    [
        (f"{TYPE} in [g5g.xlarge, g5g.2xlarge] and attribute:ecs.cpu-architecture == x86_64",),
        (f"{TYPE} == g5g.xlarge", "attribute:ecs.cpu-architecture == x86_64"),
        (f"{TYPE} == g5.xlarge", f"{TYPE} =~ p5.*"),
        (f"({TYPE} == g5.xlarge or {TYPE} == g6.xlarge) and {TYPE} !~ g.*",),
    ],
)
def test_types_that_satisfy_nothing_else_that_is_asked_are_one_error(expressions: tuple[str, ...]) -> None:
    finding = only(satisfied_by_hosts, expressed(*expressions))
    assert finding.rule == "GPU070"
    assert "g5" in finding.message


@pytest.mark.parametrize(
    "expression",
    [
        f"{TYPE} in [g5.xlarge, g5g.xlarge] and attribute:ecs.cpu-architecture == x86_64",
        f"{TYPE} == g99.xlarge and attribute:ecs.cpu-architecture == arm64",  # newer than the catalogue
        f"{TYPE} not_in [g5.xlarge]",
    ],
)
def test_what_an_instance_type_may_satisfy_is_silent(expression: str) -> None:
    assert said(satisfied_by_hosts, expressed(expression)) == []
