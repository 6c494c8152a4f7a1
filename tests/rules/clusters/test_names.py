"""Names that ECS accepts, and names that it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, Scheduler, Task
from gpu_constructs.rules.clusters.cluster_membership import accepted
from tests.rules.given import a_pool, container, fleet_of, only, said, task_of


@pytest.mark.parametrize(
    ("name", "words", "fix"),
    [
        ("FARGATE", "does not begin with aws, ecs or fargate", "gpu-FARGATE"),
        ("my gpu", "letters, digits, hyphens and underscores", "my-gpu"),
        ("", "1 to 255", "no name"),
    ],
)
def test_a_name_of_a_provider_that_ecs_refuses_is_an_error(name: str, words: str, fix: str) -> None:
    finding = only(accepted, Fleet(pools=(a_pool(provider=name),)))
    assert finding.rule == "GPU046"
    assert words in finding.message
    assert fix in finding.fix
    assert len(finding.message) < 400


@pytest.mark.parametrize(
    "pool",
    [a_pool(), a_pool(provider="gpu-L4_1"), a_pool(provider="aws", has_provider=False)],
)
def test_a_name_of_a_provider_that_ecs_takes_is_silent(pool: Pool) -> None:
    assert said(accepted, Fleet(pools=(pool,))) == []


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (replace(task_of(container()), family="my family"), "the family of train is 'my family'"),
        (replace(task_of(container()), family="x" * 256), "1 to 255"),
        (task_of(container(name="gpu.0")), "a container of train is called 'gpu.0'"),
    ],
)
def test_a_family_or_container_that_ecs_refuses_is_an_error(task: Task, words: str) -> None:
    assert words in only(accepted, fleet_of(task)).message


@pytest.mark.parametrize(
    "task",
    [
        replace(task_of(container(name="a-B_9")), family="Train_1"),
        replace(task_of(container()), family=UNKNOWN),
        replace(task_of(container(name="a b")), family="a b", scheduler=Scheduler.BATCH),
    ],
)
def test_a_family_or_container_that_ecs_takes_is_silent(task: Task) -> None:
    assert said(accepted, fleet_of(task)) == []
