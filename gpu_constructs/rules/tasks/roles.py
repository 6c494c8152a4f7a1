"""Roles of a task: does ECS get one where it acts for the task?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.rules.evidence.accelerated import is_accelerated
from gpu_constructs.rules.rule import Problem, error

_WHAT = {
    "Secrets": "gets secrets",
    "EnvironmentFiles": "gets environment files from S3",
    "RepositoryCredentials": "has an image of a private registry",
}


@error(
    "GPU257",
    question="does a task with secrets, environment files or a private registry name a task execution role?",
    because="ECS reads secrets, environment files and credentials of a registry with the task execution role; "
    "it refuses or cannot start a task without one, and the task role and the role of the hosts do not count",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
)
def execution_role_named(task: Task) -> Iterator[Problem]:
    if task.has_execution_role is not False or task.scheduler is not Scheduler.ECS or not is_accelerated(task):
        return
    for container in task.containers:
        if what := _WHAT.get(container.needs_execution_role):
            yield Problem(
                message=f"container {brief(container.name)} of {task.name} {what}, and the task definition has no task "
                "execution role",
                fix="ExecutionRoleArn, a role that ecs-tasks.amazonaws.com may assume and that may read them",
                property_name="ExecutionRoleArn",
                origin=container.origin,
            )
            return
