from __future__ import annotations

from dataclasses import replace

import pytest
from ecs_emulator.agent import AgentConfig
from ecs_emulator.hosts import empty_host
from ecs_emulator.images import Image
from ecs_emulator.instance_types import instance_type
from ecs_emulator.managed_scaling import hosts_needed
from ecs_emulator.placement import Demand, GpuDemand, Host
from ecs_emulator.strategy import Share, distribute


def host(name: str) -> Host:
    return empty_host(
        instance_type(name), image_id="ami-1", zone="us-east-1a", ami=Image(), config=AgentConfig("cluster")
    )


def task(gpus: int) -> Demand:
    return Demand(gpus=(GpuDemand("training", gpus),))


@pytest.mark.parametrize(
    ("demands", "types", "needed"),
    [
        ([], ["g6.xlarge"], 0),
        ([task(1)], ["g6.xlarge"], 1),
        ([task(1)] * 3, ["g6.xlarge"], 3),
        ([task(1)] * 9, ["g6.48xlarge"], 2),
        ([task(3)] * 2, ["g6.12xlarge"], 2),
        ([replace(task(1), memory=13_000)] * 2, ["g6.12xlarge"], 1),
    ],
)
def test_hosts_are_added_for_the_tasks_that_wait(demands: list[Demand], types: list[str], needed: int) -> None:
    assert hosts_needed(demands, [host(name) for name in types]) == needed


@pytest.mark.parametrize(
    ("demand", "types"),
    [
        (task(8), ["g6.xlarge"]),
        (task(4), ["g6.12xlarge", "g6.xlarge"]),
        (replace(task(1), memory=16_384), ["g6.xlarge"]),
        (replace(task(1), constraints=("attribute:ecs.instance-type in [g6.2xlarge]",)), ["g6.xlarge", "g6.2xlarge"]),
        (replace(task(1), attributes={"ecs.cpu-architecture": "arm64"}), ["g6.xlarge"]),
        (task(1), []),
    ],
)
def test_no_host_is_added_for_a_task_that_the_smallest_type_cannot_take(demand: Demand, types: list[str]) -> None:
    assert hosts_needed([demand], [host(name) for name in types]) == 0


@pytest.mark.parametrize(
    ("count", "strategy", "providers"),
    [
        (2, [Share("a", weight=1)], ("a", "a")),
        (4, [Share("a", weight=1), Share("b", weight=1)], ("a", "b", "a", "b")),
        (4, [Share("a", weight=3), Share("b", weight=1)], ("a", "a", "a", "b")),
        (4, [Share("a", weight=0, base=2), Share("b", weight=1)], ("a", "a", "b", "b")),
        (1, [Share("a", weight=0, base=2), Share("b", weight=1)], ("a",)),
    ],
)
def test_a_strategy_splits_tasks_by_base_and_weight(
    count: int, strategy: list[Share], providers: tuple[str, ...]
) -> None:
    assert distribute(count, strategy) == providers


@pytest.mark.parametrize("strategy", [[], [Share("a")], [Share("a", 1, 1), Share("b", 1, 1)]])
def test_a_strategy_that_ecs_refuses_is_an_error(strategy: list[Share]) -> None:
    with pytest.raises(ValueError, match="capacity provider"):
        distribute(1, strategy)
