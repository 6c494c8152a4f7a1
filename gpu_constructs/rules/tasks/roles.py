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
    question="does ECS have a task execution role with which it reads the secrets, environment files and registry "
    "credentials of a task?",
    because="ECS reads them with the task execution role before a container starts; it refuses or cannot start a task "
    "without one, and the task role and the role of the hosts do not count; AmazonECSTaskExecutionRolePolicy lets it "
    "pull images and write logs, and read no secrets",
    softer="where a policy of the secret itself may allow it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
    unless=("GPU275",),
)
def read_with_a_role(task: Task) -> Iterator[Problem]:
    if task.scheduler is not Scheduler.ECS or not is_accelerated(task):
        return
    for container in task.containers if task.has_execution_role is False else ():
        if what := _WHAT.get(container.needs_execution_role):
            yield Problem(
                message=f"container {brief(container.name)} of {task.name} {what}, and the task definition has no task "
                "execution role",
                fix="ExecutionRoleArn, a role that ecs-tasks.amazonaws.com may assume and that may read them",
                property_name="ExecutionRoleArn",
                origin=container.origin,
            )
            return
    unreadable = [each for role in task.roles for each in role.unreadable_secrets]
    if unreadable:
        first = max(unreadable, key=lambda each: each.is_certain)
        yield Problem(
            message=f"container {brief(first.container)} of {task.name} gets the secret {brief(first.name)}, and the "
            f"task execution role does not allow {first.action}",
            fix=f"a policy of the role that allows {first.action} of the secret",
            property_name="ExecutionRoleArn",
            is_certain=first.is_certain,
        )


@error(
    "GPU275",
    question="may ECS act with the roles of the task?",
    because="ECS assumes the roles of a task as ecs-tasks.amazonaws.com, whatever starts the task; it starts no task "
    "with a role that does not trust this principal",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
)
def roles_are_assumed(task: Task) -> Iterator[Problem]:
    if task.scheduler is not Scheduler.ECS or not is_accelerated(task):
        return
    for role in task.roles:
        if role.trusts_tasks is False:
            yield Problem(
                message=f"{role.property_name} of {task.name} names a role that ecs-tasks.amazonaws.com may not assume",
                fix="Principal: {Service: ecs-tasks.amazonaws.com} in the AssumeRolePolicyDocument of the role",
                property_name=role.property_name,
            )
