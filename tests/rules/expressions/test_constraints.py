"""Placement constraints that ECS cannot read, that name what no host has, or that no host of a service satisfies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import Architecture
from gpu_constructs.fleet import UNKNOWN, Fleet, PlacementConstraint, StrategyItem, Subnet, UserData, Workload
from gpu_constructs.placement.query.ast import render
from gpu_constructs.placement.query.parser import parse
from gpu_constructs.rules import Rule, Severity, check, find_rule, rules_of
from gpu_constructs.rules.expressions import constraints
from gpu_constructs.rules.expressions.attributes import names_exist, only_named_families
from gpu_constructs.rules.expressions.constraints import (
    readable_by_ecs,
    satisfied_by_hosts,
)
from tests.rules.given import (
    FIT_RULES,
    a_pool,
    a_task,
    container,
    fleet_of,
    found,
    gpu,
    member_of,
    on_launch_type,
    on_strategy,
    only,
    running_on,
    said,
    service,
    task_of,
)

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
    ("expression", "words", "fix"),
    [
        (f"{TYPE} == g9.xlarge", "no instance type 'g9.xlarge'", "if it is newer, declare_instance_types("),
        (f"{TYPE} in [g5.xlarge, g5]", "no instance type 'g5'", "g5.xlarge"),
        (f"{TYPE} != G5.xlarge", "no instance type 'G5.xlarge'", "g5.xlarge"),
        (f"{TYPE} =~ g9.*", "the pattern g9.* matches no instance type", TYPE),
        ("attribute:ecs.cpu-architecture == amd64", "ecs.cpu-architecture is never 'amd64'", "x86_64, or arm64"),
        ("attribute:ecs.capability.gpu == true", "no attribute ecs.capability.gpu", "asks for GPUs"),
        ("attribute:ecs.capability.nvidia.gpu exists", "no attribute ecs.capability.nvidia.gpu", "asks for GPUs"),
    ],
)
def test_what_no_host_has_is_named_with_the_nearest_name_and_an_error_where_a_letter_is_missing(
    expression: str, words: str, fix: str
) -> None:
    finding = only(names_exist, expressed(expression))
    is_slip = expression.startswith("attribute:ecs.instance-typ ")
    assert (finding.rule, finding.severity) == ("GPU042", "error" if is_slip else "warning")
    assert words in finding.message
    assert fix in finding.fix


def test_an_attribute_of_the_users_own_may_be_called_as_one_of_ecs() -> None:
    data = UserData(agent=(("ECS_INSTANCE_ATTRIBUTES", '{"instance-type": "fast"}'),))
    fleet = replace(expressed("attribute:instance-type == fast"), pools=(a_pool(user_data=data),))
    assert said(names_exist, fleet) == []
    data = UserData(agent=(("ECS_INSTANCE_ATTRIBUTES", '{"gpu.count":"1"}'),))
    assert len(said(names_exist, replace(fleet, pools=(a_pool(user_data=data),)))) == 1


@pytest.mark.parametrize(
    ("expression", "words", "in_fix", "not_in_fix"),
    [
        (f"{TYPE} =~ g5.*", "names g5 and also matches g5g (arm64, T4g)", "g5.48xlarge", "g5g"),
        (f"{TYPE} =~ g6.*", "g6e (x86_64, L40S) and g6f (x86_64, part of an L4)", "g6.xlarge", "g6e"),
        (f"{TYPE} =~ p5.*", "p5e (x86_64, H200) and p5en (x86_64, H200)", "p5.4xlarge", "p5e"),
        (f"{TYPE} =~ (g5|g6).*", "names g5 and g6 and also matches g5g", "g6.xlarge", "g5g"),
    ],
)
def test_a_pattern_that_matches_another_family_is_a_warning_with_the_list(
    expression: str, words: str, in_fix: str, not_in_fix: str
) -> None:
    finding = only(only_named_families, expressed(expression))
    assert (finding.rule, finding.severity) == ("GPU043", "warning")
    assert words in finding.message
    assert in_fix in finding.fix
    assert not_in_fix not in finding.fix
    assert render(parse(finding.fix)) == finding.fix


X86_64 = "attribute:ecs.cpu-architecture == x86_64"


@pytest.mark.parametrize(
    ("rule", "expressions"),
    [
        (readable_by_ecs, [f"{TYPE} in [g5.xlarge, g5.2xlarge]"]),
        (readable_by_ecs, ["x" * 2001]),  # another mistake
        (satisfied_by_hosts, [f"{TYPE} in [g5.xlarge, g5g.xlarge] and {X86_64}"]),
        # newer than the catalogue
        (satisfied_by_hosts, [f"{TYPE} == g99.xlarge and attribute:ecs.cpu-architecture == arm64"]),
        (satisfied_by_hosts, [f"{TYPE} not_in [g5.xlarge]"]),
        (names_exist, [f"{TYPE} in [g5.xlarge, p6-b200.48xlarge, c7i.large]"]),
        (names_exist, ["attribute:ecs.outpost-arn exists"]),
        (names_exist, ["not a query"]),
        (only_named_families, [rf"{TYPE} =~ g5\..*"]),
        (only_named_families, [f"{TYPE} =~ g5g.*"]),
        (only_named_families, [f"{TYPE} =~ p.*"]),
        (only_named_families, [f"{TYPE} =~ g[56].*"]),
        (only_named_families, [f"{TYPE} =~ c5.*"]),  # c5a and the others are x86_64 without GPUs too
        (only_named_families, [f"{TYPE} !~ g5.*"]),
        (only_named_families, [f"{TYPE} in [g5.xlarge]"]),
        (only_named_families, [f"{TYPE} =~ g5.* and {X86_64}"]),
        (only_named_families, [f"{TYPE} =~ g5.*", f"{TYPE} !~ g5g.*"]),
        (only_named_families, [f"{TYPE} =~ g5.*", f"{TYPE} in [g5.xlarge, g5.2xlarge]"]),
    ],
)
def test_what_is_right_or_harmless_or_may_be_is_silent(rule: Rule, expressions: list[str]) -> None:
    assert said(rule, expressed(*expressions)) == []


def test_a_task_that_is_built_for_the_other_processor_is_not_placed_there() -> None:
    constraints = (member_of(f"{TYPE} =~ g5.*"),)
    for built, count in ((Architecture.X86_64, 0), (Architecture.ARM64, 1), (None, 1)):
        task = replace(TASK, constraints=constraints, architecture=built)
        assert len(said(only_named_families, fleet_of(task))) == count


@pytest.mark.parametrize("of_task", [True, False])
def test_hosts_that_may_be_of_the_other_family_do_not(of_task: bool) -> None:
    constraints = (member_of(f"{TYPE} =~ g5.*"),)
    task = replace(TASK, constraints=constraints) if of_task else TASK
    mixed = service(task, a_pool("g5.xlarge", name="A10G"), a_pool("g5g.xlarge", name="Arm"))
    own = () if of_task else constraints
    for workload in (
        mixed,
        Workload(name="s", task=task, launch_type="EC2"),
        Workload(name="s", task=task, strategy=(StrategyItem(provider="elsewhere"),)),
    ):
        finding = only(only_named_families, fleet_of(task, workloads=(replace(workload, constraints=own),)))
        assert "g5g" in finding.message


@pytest.mark.parametrize(
    ("expression", "data", "count"),
    [
        ("attribute:gpu-model == l4", UserData(), 1),
        ("attribute:gpu-model != l4", UserData(), 0),
        ("attribute:gpu-model == l4 or runningTasksCount == 0", UserData(), 0),
        ("attribute:gpu-model == l4", UserData(complete=False), 0),
        ("attribute:gpu-model == l4", UserData(agent=(("ECS_INSTANCE_ATTRIBUTES", UNKNOWN),)), 0),
    ],
)
def test_an_attribute_that_no_user_data_sets_is_a_warning(expression: str, data: UserData, count: int) -> None:
    task = replace(TASK, constraints=(member_of(expression),))
    fleet = replace(running_on(a_pool(user_data=data), task=task), is_whole=True)
    assert len(said(names_exist, fleet)) == count


def test_an_attribute_that_one_pool_of_a_strategy_lacks_is_a_warning_that_names_the_pool() -> None:
    given = UserData(agent=(("ECS_INSTANCE_ATTRIBUTES", '{"gpu-model": "l4"}'),))
    has, lacks = a_pool(name="Has", user_data=given), a_pool(name="Lacks", user_data=UserData())
    task = replace(TASK, constraints=(member_of("attribute:gpu-model == l4"),))
    finding = only(names_exist, on_strategy(task, (lacks, 1, 2), (has, 1, 0)))
    assert "and no user data of Lacks sets it" in finding.message
    assert said(names_exist, on_strategy(task, (lacks, 0, 0), (has, 1, 0))) == []
    in_one_cluster = (replace(each, managed_scaling=False) for each in (has, lacks))
    assert said(names_exist, on_launch_type(*in_one_cluster, task=task, is_whole=True)) == []


L4 = a_pool("g6.xlarge", "g6.2xlarge")
UNSCALED = a_pool("g6.xlarge", "g6.2xlarge", managed_scaling=False)


def test_constraints_that_hold_or_may_hold_everywhere_have_no_finding() -> None:
    for pool, types in ((L4, "g6.xlarge, g6.2xlarge"), (a_pool(has_unknown_types=True), "g5.xlarge")):
        assert found(running_on(pool, task=a_task("1"), constraints=(member_of(f"{TYPE} in [{types}]"),))) == []


def test_a_daemon_without_a_host_is_a_warning_because_ecs_then_wants_no_copy_of_it() -> None:
    fleet = running_on(L4, task=a_task("1"), constraints=(member_of(f"{TYPE} in [g5.xlarge]"),))
    daemon = replace(fleet, workloads=(replace(fleet.workloads[0], daemon=True),))
    assert [(each.rule, each.severity) for each in said(FIT_RULES, daemon)] == [("GPU070", Severity.WARNING)]


@pytest.mark.parametrize("fleet_of", [running_on, on_launch_type])
def test_constraints_that_leave_out_some_types_of_a_group_may_get_no_host_of_the_others(fleet_of: Any) -> None:
    finding = only(FIT_RULES, fleet_of(UNSCALED, task=a_task("1"), constraints=(member_of(f"{TYPE} in [g6.2xlarge]"),)))
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
    fleet = running_on(pool, task=a_task("1"), constraints=tuple(map(member_of, expressions)))
    asked = [find_rule(each) for each in ("GPU070", "GPU071", "GPU229", "GPU060", "GPU061", "GPU042")]
    assert [each.rule for each in check(fleet, rules=asked)] == ([rule] if rule else [])
