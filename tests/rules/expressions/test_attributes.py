"""Instance types and attributes in placement expressions that do not exist, or match more than is meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.facts import Architecture
from gpu_constructs.fleet import UNKNOWN, Fleet, StrategyItem, UserData, Workload
from gpu_constructs.placement.query.ast import render
from gpu_constructs.placement.query.parser import parse
from gpu_constructs.rules.expressions.attributes import names_exist, only_named_families
from tests.rules.given import (
    a_pool,
    container,
    fleet_of,
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

TYPE = "attribute:ecs.instance-type"
TASK = task_of(container(gpu()))


def expressed(*expressions: str) -> Fleet:
    return fleet_of(replace(TASK, constraints=tuple(map(member_of, expressions))))


@pytest.mark.parametrize(
    ("expression", "words", "fix"),
    [
        (f"{TYPE} == g9.xlarge", "no instance type 'g9.xlarge'", "if it is newer, declare_instance_types("),
        (f"{TYPE} in [g5.xlarge, g5]", "no instance type 'g5'", "g5.xlarge"),
        (f"{TYPE} != G5.xlarge", "no instance type 'G5.xlarge'", "g5.xlarge"),
        (f"{TYPE} =~ g9.*", "the pattern g9.* matches no instance type", TYPE),
        ("attribute:ecs.cpu-architecture == amd64", "ecs.cpu-architecture is never 'amd64'", "x86_64, or arm64"),
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


@pytest.mark.parametrize(
    "expression",
    [f"{TYPE} in [g5.xlarge, p6-b200.48xlarge, c7i.large]", "attribute:ecs.outpost-arn exists", "not a query"],
)
def test_what_exists_or_is_the_users_own_is_silent(expression: str) -> None:
    assert said(names_exist, expressed(expression)) == []


def test_an_attribute_of_the_users_own_may_be_called_as_one_of_ecs() -> None:
    data = UserData(agent=(("ECS_INSTANCE_ATTRIBUTES", '{"instance-type": "fast"}'),))
    fleet = replace(expressed("attribute:instance-type == fast"), pools=(a_pool(user_data=data),))
    assert said(names_exist, fleet) == []
    other = replace(
        fleet, pools=(a_pool(user_data=UserData(agent=(("ECS_INSTANCE_ATTRIBUTES", '{"gpu.count":"1"}'),))),)
    )
    assert len(said(names_exist, other)) == 1


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


@pytest.mark.parametrize(
    "expressions",
    [
        (rf"{TYPE} =~ g5\..*",),
        (f"{TYPE} =~ g5g.*",),
        (f"{TYPE} =~ p.*",),
        (f"{TYPE} =~ g[56].*",),
        (f"{TYPE} =~ c5.*",),  # c5a and the others are x86_64 without GPUs too
        (f"{TYPE} !~ g5.*",),
        (f"{TYPE} in [g5.xlarge]",),
        (f"{TYPE} =~ g5.* and attribute:ecs.cpu-architecture == x86_64",),
        (f"{TYPE} =~ g5.*", f"{TYPE} !~ g5g.*"),
        (f"{TYPE} =~ g5.*", f"{TYPE} in [g5.xlarge, g5.2xlarge]"),
    ],
)
def test_a_pattern_that_the_rest_makes_harmless_is_silent(expressions: tuple[str, ...]) -> None:
    assert said(only_named_families, expressed(*expressions)) == []


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
