"""Kinds of capacity against each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, StrategyItem
from gpu_constructs.rules import Severity
from gpu_constructs.rules.clusters.strategies import compatible_with_capacity, one_kind
from gpu_constructs.rules.scaling.hosts_from_zero import has_a_first_host
from tests.rules.given import GPU_TASK, a_pool, managed_pool, on_launch_type, only, running_on, said

GROUP, MANAGED = a_pool(), managed_pool("g6.xlarge")


@pytest.mark.parametrize(
    ("pool", "compatibilities", "words", "fix"),
    [
        (
            MANAGED,
            ("EC2",),
            "chat requires EC2, and chat-service runs it on managed (ECS Managed",
            "MANAGED_INSTANCES in ",
        ),
        (MANAGED, ("EC2", "FARGATE"), "requires EC2 and FARGATE", "MANAGED_INSTANCES in "),
        (GROUP, ("MANAGED_INSTANCES",), "runs it on Hosts (Auto Scaling group)", "EC2 in RequiresCompatibilities"),
        (GROUP, ("EXTERNAL",), "requires EXTERNAL", "EC2 in RequiresCompatibilities"),
    ],
)
def test_a_task_for_another_kind_is_an_error_on_managed_instances_alone(
    pool: Pool, compatibilities: tuple[str, ...], words: str, fix: str
) -> None:
    finding = only(compatible_with_capacity, running_on(pool, task=replace(GPU_TASK, compatibilities=compatibilities)))
    assert (finding.rule, finding.severity) == ("GPU125", Severity.ERROR if pool is MANAGED else Severity.WARNING)
    assert words in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("pool", "compatibilities"),
    [
        (MANAGED, ()),
        (MANAGED, ("MANAGED_INSTANCES",)),
        (MANAGED, ("EC2", "MANAGED_INSTANCES")),
        (GROUP, ()),
        (GROUP, ("EC2",)),
        (GROUP, ("EXTERNAL", "EC2")),
        (GROUP, ("FARGATE",)),
    ],
)
def test_a_task_for_this_kind_is_silent(pool: Pool, compatibilities: tuple[str, ...]) -> None:
    assert (
        said(compatible_with_capacity, running_on(pool, task=replace(GPU_TASK, compatibilities=compatibilities))) == []
    )


def test_managed_instances_take_no_task_by_a_launch_type() -> None:
    finding = only(has_a_first_host, on_launch_type(MANAGED, task=GPU_TASK))
    assert (finding.rule, finding.severity) == ("GPU218", Severity.WARNING)
    assert "has the launch type EC2, and its cluster has only ECS Managed Instances (managed)" in (finding.message)
    assert finding.fix == "use a CapacityProviderStrategy with managed, and remove LaunchType"


@pytest.mark.parametrize(
    "fleet",
    [
        on_launch_type(MANAGED, GROUP, task=GPU_TASK),
        on_launch_type(MANAGED, task=GPU_TASK, cluster="other"),
        on_launch_type(MANAGED, task=GPU_TASK, cluster=UNKNOWN),
        on_launch_type(MANAGED, task=GPU_TASK, launch_type=UNKNOWN),
        on_launch_type(MANAGED, task=GPU_TASK, launch_type="EXTERNAL"),
        on_launch_type(GROUP, task=GPU_TASK),
        running_on(MANAGED),
    ],
)
def test_other_hosts_and_other_ways_are_silent(fleet: Fleet) -> None:
    assert said(has_a_first_host, fleet) == []


def test_managed_instances_beside_a_group_are_a_warning() -> None:
    finding = only(one_kind, running_on(MANAGED, GROUP))
    assert (finding.rule, finding.severity) == ("GPU140", Severity.WARNING)
    assert "has ECS Managed Instances (managed) and Auto Scaling groups (Hosts)" in finding.message
    assert finding.fix.startswith("a service for each kind, this one with ")


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(GROUP, a_pool(name="Spot")),
        running_on(MANAGED),
        running_on(MANAGED, strategy=(StrategyItem(provider="elsewhere"), StrategyItem(provider="m", pool=MANAGED))),
    ],
)
def test_one_kind_and_what_nobody_knows_are_silent(fleet: Fleet) -> None:
    assert said(one_kind, fleet) == []
