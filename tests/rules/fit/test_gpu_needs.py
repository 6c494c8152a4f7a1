"""Needs that ECS does not see: memory, capability, number format, NVLink."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.facts import DeclaredInstanceType
from gpu_constructs.fleet import Container, GpuNeeds, Pool, ResourceRequirement, Task
from gpu_constructs.rules import Severity
from tests.rules.given import FIT_RULES, a_pool, found, only, running_on


def needing(gpus: str = "1", **needs: object) -> Task:
    container = Container(
        name="vllm",
        requirements=(ResourceRequirement(value=gpus),),
        needs=GpuNeeds(**needs),  # type: ignore[arg-type]
    )
    return Task(name="chat", containers=(Container(name="log"), container))


@pytest.mark.parametrize(
    ("task", "pool"),
    [
        (needing(memory_mib=22888), a_pool()),
        (needing(nvlink=True), a_pool("g6.12xlarge")),  # one GPU has nothing to be joined with
    ],
)
def test_needs_that_are_served_have_no_finding(task: Task, pool: Pool) -> None:
    assert found(running_on(pool, task=task)) == []


@pytest.mark.parametrize(
    ("task", "pool", "rule", "message", "fix"),
    [
        (
            needing("4", nvlink=True),
            a_pool("g6.12xlarge"),
            "GPU064",
            "needs NVLink between its GPUs, and g6.12xlarge of Hosts has PCIe",
            "a type such as p3dn.24xlarge",
        ),
        (
            needing(precision="bf16"),
            a_pool("g4dn.xlarge"),
            "GPU064",
            "needs bf16, which takes compute capability 8.0, of its GPUs, and g4dn.xlarge of Hosts has 7.5 (T4)",
            "a type such as g5.xlarge",
        ),
        (
            needing(compute_capability=(9, 0)),
            a_pool(),
            "GPU064",
            "needs 9.0 or higher (CUDA compute capability), and g6.xlarge of Hosts has 8.9 (L4)",
            "a type such as",
        ),
        (needing(precision="fp3"), a_pool(), "GPU064", "'fp3', which is not a known number format,", ""),
    ],
)
def test_a_need_that_is_not_served_is_a_warning_with_both_values(
    task: Task, pool: Pool, rule: str, message: str, fix: str
) -> None:
    finding = only(FIT_RULES, running_on(pool, task=task))
    assert (finding.rule, finding.severity, finding.subject) == (rule, Severity.WARNING, "chat")
    assert message in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("needs", "field"),
    [
        ({"memory_mib": 40_960}, "gpu_memory_mib"),
        ({"compute_capability": (9, 0)}, "compute_capability"),
        ({"precision": "fp8"}, "compute_capability"),
    ],
)
def test_what_a_declaration_does_not_say_is_to_be_stated_there(needs: dict[str, Any], field: str) -> None:
    new = DeclaredInstanceType("g9.xlarge", vcpus=8, memory_mib=65536, gpus=1, gpu_model="R200").instance_type
    finding = only(FIT_RULES, running_on(a_pool(instance_types=(new,)), task=needing(**needs)))
    assert "an unknown" in finding.message
    assert finding.fix == f"state {field} in the declaration of g9.xlarge"


def test_one_type_of_several_is_enough_to_be_warned_of_because_ecs_does_not_look() -> None:
    mixed = a_pool("g6.xlarge", "g6e.xlarge")
    finding = only(FIT_RULES, running_on(mixed, task=needing(memory_mib=40_960)))
    assert "g6.xlarge of Hosts, which it may be placed on, has 22.35 GiB" in finding.message


def test_a_task_that_does_not_fit_at_all_is_not_told_of_its_needs_too() -> None:
    assert [rule for rule, _, _ in found(running_on(a_pool(), task=needing("4", memory_mib=40_960)))] == ["GPU060"]
