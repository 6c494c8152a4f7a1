"""Kinds of capacity against each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool
from gpu_constructs.rules import Severity
from gpu_constructs.rules.clusters.services import compatible_with_capacity
from gpu_constructs.rules.scaling.managed_scaling import has_a_first_host
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
        (GROUP, ("MANAGED_INSTANCES",), "runs it on Hosts (Auto Scaling group)", "EC2 in RequiresCompatibilities"),
    ],
)
def test_a_task_for_another_kind_is_an_error_on_managed_instances_alone(
    pool: Pool, compatibilities: tuple[str, ...], words: str, fix: str
) -> None:
    finding = only(compatible_with_capacity, running_on(pool, task=replace(GPU_TASK, compatibilities=compatibilities)))
    assert (finding.rule, finding.severity) == ("GPU125", Severity.ERROR if pool is MANAGED else Severity.WARNING)
    assert words in finding.message
    assert fix in finding.fix


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
        on_launch_type(MANAGED, task=GPU_TASK, launch_type="EXTERNAL"),
    ],
)
def test_other_hosts_and_other_ways_are_silent(fleet: Fleet) -> None:
    assert said(has_a_first_host, fleet) == []
