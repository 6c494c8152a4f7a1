"""GPU tasks run on Linux hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, ResourceRequirement, StrategyItem, Task, Workload
from gpu_constructs.rules.tasks.platform import on_hosts, on_linux
from tests.rules.given import a_pool, container, fleet_of, gpu, mps, only, said, service, task_of

TASK = task_of(container(gpu("1"), name="cuda"), container(name="logs"))


@pytest.mark.parametrize("requirement", [gpu("1"), gpu("ALL"), mps(), ResourceRequirement(type="gpu")])
def test_a_gpu_task_for_fargate_is_an_error_that_names_the_container(requirement: ResourceRequirement) -> None:
    task = replace(task_of(container(requirement, name="cuda")), compatibilities=("EC2", "FARGATE"))
    finding = only(on_hosts, fleet_of(task))
    assert finding.rule == "GPU028"
    assert "(cuda) and is for EC2 and FARGATE; Fargate has no GPUs" in finding.message
    assert finding.fix.startswith("RequiresCompatibilities without FARGATE, and hosts with GPUs")


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (Workload(name="web", task=TASK, launch_type="FARGATE"), "launch type FARGATE"),
        (Workload(name="web", task=TASK, strategy=(StrategyItem(provider="FARGATE"),)), "capacity provider FARGATE;"),
        (
            Workload(name="web", task=TASK, strategy=(StrategyItem(provider="FARGATE_SPOT", weight=1),)),
            "capacity provider FARGATE_SPOT",
        ),
    ],
)
def test_a_service_that_sends_gpus_to_fargate_is_an_error(workload: Workload, words: str) -> None:
    finding = only(on_hosts, fleet_of(TASK, workloads=(workload,)))
    assert finding.subject == "web"
    assert words in finding.message


def test_one_mistake_is_said_once() -> None:
    task = replace(TASK, compatibilities=("FARGATE",))
    workload = Workload(name="web", task=task, launch_type="FARGATE")
    assert only(on_hosts, fleet_of(task, workloads=(workload,))).subject == "train"


@pytest.mark.parametrize(
    "workload",
    [
        service(TASK, a_pool()),
        Workload(name="web", task=TASK, launch_type=UNKNOWN),
        Workload(name="web", task=TASK, strategy=(StrategyItem(provider=UNKNOWN),)),
        Workload(name="web", task=task_of(container(), name="cpu"), launch_type="FARGATE"),
        Workload(name="web", task=None, launch_type="FARGATE"),
    ],
)
def test_hosts_and_cpu_tasks_on_fargate_are_silent(workload: Workload) -> None:
    assert said(on_hosts, fleet_of(workloads=(workload,))) == []


@pytest.mark.parametrize("system", ["WINDOWS_SERVER_2022_CORE", "WINDOWS_SERVER_2019_FULL"])
def test_a_gpu_task_on_windows_is_an_error(system: str) -> None:
    finding = only(on_linux, fleet_of(replace(TASK, operating_system=system)))
    assert finding.rule == "GPU029"
    assert system in finding.message
    assert "Linux" in finding.message


@pytest.mark.parametrize(
    "task",
    [
        TASK,
        replace(TASK, operating_system="LINUX"),
        replace(TASK, operating_system=UNKNOWN),
        replace(task_of(container()), operating_system="WINDOWS_SERVER_2022_CORE"),
    ],
)
def test_linux_and_windows_without_gpus_are_silent(task: Task) -> None:
    assert said(on_linux, fleet_of(task)) == []
