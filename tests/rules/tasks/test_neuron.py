"""NeuronDevice: ALL of them, for one container, on ECS Managed Instances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    ResourceRequirement,
    StrategyItem,
    Task,
    Workload,
)
from gpu_constructs.rules.tasks.devices import apart, neuron
from tests.rules.given import a_pool, container, fleet_of, managed_pool, of_image, only, said, service, task_of

ALL = ResourceRequirement(type="NeuronDevice", value="ALL")
TASK = replace(task_of(container(ALL)), compatibilities=("MANAGED_INSTANCES",))


@pytest.mark.parametrize(("value", "words"), [("1", "'1'"), ("all", "'all'"), (None, "no value")])
def test_another_value_than_all_is_an_error(value: str | None, words: str) -> None:
    finding = only(neuron, fleet_of(task_of(container(ResourceRequirement(type="NeuronDevice", value=value)))))
    assert finding.rule == "GPU027"
    assert words in finding.message
    assert "must be ALL" in finding.message


def test_two_containers_cannot_both_have_them() -> None:
    finding = only(neuron, fleet_of(task_of(container(ALL, name="a"), container(ALL, name="b"))))
    assert "a and b ask for NeuronDevice; only one container" in finding.message


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (service(TASK, a_pool("inf2.xlarge", name="Inf", image=of_image("al2023-neuron"))), "Inf (Auto Scaling group)"),
        (Workload(name="s", task=TASK, launch_type="EC2"), "launch type EC2"),
        (Workload(name="s", task=TASK, strategy=(StrategyItem(provider="FARGATE"),)), "capacity provider FARGATE"),
    ],
)
def test_hosts_that_are_not_managed_instances_cannot_give_them(workload: Workload, words: str) -> None:
    finding = only(neuron, fleet_of(TASK, workloads=(workload,)))
    assert finding.subject == workload.name
    assert words in finding.message


@pytest.mark.parametrize(
    "workload",
    [service(TASK, managed_pool("inf2.xlarge")), Workload(name="s", task=TASK, launch_type="MANAGED_INSTANCES")],
)
def test_managed_instances_and_what_is_not_known_are_silent(workload: Workload) -> None:
    assert said(neuron, fleet_of(TASK, workloads=(workload,))) == []


@pytest.mark.parametrize(
    "task",
    [
        task_of(container(ALL), container(name="logs")),
        task_of(container(ResourceRequirement(type="NeuronDevice", value=UNKNOWN))),
    ],
)
def test_what_ecs_takes_is_silent(task: Task) -> None:
    assert said(neuron, fleet_of(task)) == []


INF = a_pool("inf2.xlarge", name="Inf", image=of_image("al2023-neuron"))
SMALL = Container(name="infer", devices=("/dev/neuron0",), cpu=512, memory_limit_mib=1024)


def given_devices(container: Container = SMALL) -> Task:
    return replace(task_of(container), compatibilities=("EC2",))


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        (given_devices(), {"desired_count": 1}),
        (given_devices(), {"desired_count": 2, "daemon": True}),
        (given_devices(replace(SMALL, cpu=2049)), {"desired_count": 2}),
    ],
)
def test_copies_that_cannot_meet_are_silent(task: Task, changes: dict[str, Any]) -> None:
    assert said(apart, fleet_of(task, workloads=(service(task, INF, **changes),))) == []
