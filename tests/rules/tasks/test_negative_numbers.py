"""Numbers below zero are said so, and nothing is worked out with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import Fleet, Pool, ServiceScaling, UserData, WarmPool
from gpu_constructs.rules import Severity, check
from tests.rules.given import a_pool, container, gpu, running_on, task_of

MAIN = container(gpu())
TASK = task_of(MAIN)


def main(**changes: Any) -> Fleet:
    return running_on(a_pool(), task=task_of(replace(MAIN, **changes)))


def warm(pool: WarmPool) -> Pool:
    return a_pool(warm_pool=pool, user_data=UserData(agent=(("ECS_WARM_POOLS_CHECK", "true"),)))


@pytest.mark.parametrize(
    ("fleet", "words"),
    [
        (running_on(a_pool(), task=TASK, desired_count=-3), "DesiredCount of chat-service is -3"),
        (running_on(a_pool(), task=TASK, scaling=ServiceScaling(most=-1)), "MaxCapacity of chat-service is -1"),
        (running_on(a_pool(), task=TASK, min_healthy_percent=-50), "MinimumHealthyPercent of chat-service is -50"),
        (running_on(a_pool(min_instances=-5), task=TASK), "MinSize of Hosts is -5"),
        (running_on(a_pool(max_instances=-5), task=TASK), "MaxSize of Hosts is -5"),
        (running_on(warm(WarmPool(min_size=-3)), task=TASK), "MinSize of the warm pool of Hosts is -3"),
        (
            running_on(warm(WarmPool(max_prepared=-7)), task=TASK),
            "MaxGroupPreparedCapacity of the warm pool of Hosts is -7",
        ),
        (running_on(a_pool(), task=replace(TASK, memory_limit_mib=-1)), "Memory of train is -1"),
        (main(cpu=-5), "Cpu of container main is -5"),
        (main(memory_limit_mib=-5), "Memory of container main is -5"),
        (main(shared_memory_mib=-5), "SharedMemorySize of container main is -5"),
    ],
)
def test_a_number_below_zero_is_one_error(fleet: Fleet, words: str) -> None:
    found = [each for each in check(fleet) if each.rule not in {"GPU110", "GPU036"}]
    assert [(each.rule, each.severity) for each in found] == [("GPU119", Severity.ERROR)]
    assert words in found[0].message
    assert found[0].fix.endswith("of 0 or more")


def test_zero_is_a_count() -> None:
    assert check(running_on(a_pool(), task=TASK, desired_count=0, min_healthy_percent=0)) == ()
