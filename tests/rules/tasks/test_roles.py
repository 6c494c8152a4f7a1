"""Roles that a task must name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Container, Scheduler, Task
from gpu_constructs.rules.tasks.roles import read_with_a_role
from tests.rules.given import container, fleet_of, gpu, only, said, task_of

_MAIN = replace(container(gpu()), needs_execution_role="Secrets")
_TASK = replace(task_of(_MAIN), has_execution_role=False)


@pytest.mark.parametrize(
    ("needs", "words"),
    [("Secrets", "gets secrets"), ("EnvironmentFiles", "from S3"), ("RepositoryCredentials", "a private registry")],
)
def test_ecs_needs_a_role_to_read_what_the_container_gets(needs: str, words: str) -> None:
    task = replace(_TASK, containers=(replace(_MAIN, needs_execution_role=needs),))
    finding = only(read_with_a_role, fleet_of(task))
    assert words in finding.message
    assert finding.property_name == "ExecutionRoleArn"


@pytest.mark.parametrize(
    "task",
    [
        replace(_TASK, has_execution_role=True),
        replace(_TASK, has_execution_role=UNKNOWN),
        replace(_TASK, scheduler=Scheduler.BATCH),
        replace(_TASK, containers=(container(gpu()),)),
        replace(_TASK, containers=(Container(name="cpu", needs_execution_role="Secrets"),)),
    ],
)
def test_other_tasks_are_silent(task: Task) -> None:
    assert not said(read_with_a_role, fleet_of(task))
