"""What AWS Batch asks of the containers of a GPU job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Origin, ResourceRequirement, Scheduler, Task
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.batch import jobs_and_environments
from gpu_constructs.rules.batch.jobs_and_environments import has_sizes, whole_gpus
from tests.rules.given import container, fleet_of, gpu, mps, only, said, task_of

RULES = rules_of(jobs_and_environments)


def job(*requirements: ResourceRequirement, **changes: Any) -> Task:
    return replace(task_of(replace(container(*requirements), **changes)), scheduler=Scheduler.BATCH)


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        (gpu("ALL"), "asks AWS Batch for ALL GPUs of its host"),
        (gpu("0.5"), "asks AWS Batch for '0.5' of a GPU"),
        (replace(mps(), value=None), "asks AWS Batch for a share of a GPU (SharingStrategy)"),
    ],
)
def test_anything_but_whole_gpus_is_an_error(requirement: ResourceRequirement, words: str) -> None:
    finding = only(RULES, fleet_of(job(requirement)))
    assert (finding.rule, finding.severity) == ("GPU133", Severity.ERROR)
    assert words in finding.message
    assert finding.fix == '{"Type": "GPU", "Value": "1"}'


@pytest.mark.parametrize(
    "task",
    [
        job(gpu("8")),
        job(gpu(UNKNOWN)),
        job(ResourceRequirement(type="NeuronDevice", value="ALL")),
        task_of(container(gpu("ALL"))),
        replace(job(gpu("ALL")), compatibilities=("FARGATE",)),
    ],
)
def test_whole_gpus_and_tasks_of_ecs_are_silent(task: Task) -> None:
    assert said(whole_gpus, fleet_of(task)) == []


@pytest.mark.parametrize(
    ("changes", "words", "fix"),
    [
        ({"memory_limit_mib": None}, "without MEMORY,", '{"Type": "MEMORY", "Value": "15000"} in MiB'),
        ({"cpu": 0}, "without VCPU,", '{"Type": "VCPU", "Value": "4"}'),
        ({"cpu": 0, "memory_limit_mib": None}, "without VCPU and MEMORY,", '"VCPU", "Value": "4"}, {"Type": "MEMORY"'),
    ],
)
def test_a_job_without_sizes_is_refused(changes: dict[str, Any], words: str, fix: str) -> None:
    finding = only(RULES, fleet_of(job(gpu(), **changes)))
    assert (finding.rule, finding.severity) == ("GPU134", Severity.ERROR)
    assert words in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    "task",
    [
        job(gpu()),
        job(gpu(), cpu=UNKNOWN, memory_limit_mib=UNKNOWN),
        job(gpu(), ResourceRequirement(type=UNKNOWN, value="4"), cpu=0),
        job(cpu=0),
        replace(job(gpu(), cpu=0), scheduler=Scheduler.ECS),
        replace(job(gpu(), cpu=0), origin=Origin(resource="Job", path=("NodeProperties", "NodeRangeProperties", 1))),
        replace(job(gpu()), containers=(container(gpu(), name="a"), replace(container(name="b"), cpu=0))),
    ],
)
def test_sizes_that_are_there_or_may_be_are_silent(task: Task) -> None:
    assert said(has_sizes, fleet_of(task)) == []
