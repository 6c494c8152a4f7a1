"""Tasks that no service runs are judged like the others, by the hosts that they may be run on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import Fleet, GpuNeeds, Pool, Task
from gpu_constructs.rules import RULES, Severity, check
from tests.rules.given import a_pool, container, gpu, mps, of_image, task_of

FOR_EC2 = ("EC2",)


def rules_about(task: Task, *pools: Pool) -> set[str]:
    findings = check(Fleet(pools=pools, tasks=(task,), is_whole=True), rules=RULES)
    return {each.rule for each in findings if each.severity is not Severity.INFO}


@pytest.mark.parametrize(
    ("task", "pool", "rule"),
    [
        pytest.param(task_of(container(mps(4096))), a_pool("g5.xlarge", image=of_image("al2-gpu")), "GPU033", id="MPS"),
        pytest.param(
            task_of(replace(container(gpu()), needs=GpuNeeds(memory_mib=40_000))),
            a_pool("g6.xlarge"),
            "GPU064",
            id="memory",
        ),
        pytest.param(
            replace(task_of(replace(container(), memory_limit_mib=500_000)), compatibilities=FOR_EC2),
            a_pool("g6.xlarge"),
            "GPU061",
            id="a task without GPUs",
        ),
    ],
)
def test_it_is_judged_by_the_only_hosts(task: Task, pool: Pool, rule: str) -> None:
    assert rule in rules_about(task, pool)


def test_hosts_that_serve_it_are_enough() -> None:
    large = task_of(replace(container(gpu()), needs=GpuNeeds(memory_mib=40_000)))
    assert "GPU064" not in rules_about(large, a_pool("g6.xlarge"), a_pool("g6e.xlarge", name="Larger"))
