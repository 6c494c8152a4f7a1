"""Names: does ECS accept those of capacity providers, families, containers and services?"""

from __future__ import annotations

import re

from gpu_constructs.errors import shown
from gpu_constructs.facts.aws_limits import ECS_NAME_FORM, is_ecs_name, reserved_prefix
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.fleet import Container, Scheduler, Task
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error

_NONE = "no name, and CloudFormation makes one"


@error(
    "GPU046",
    question="does ECS accept the names of capacity providers, families and containers?",
    because="a name has up to 255 letters, digits, hyphens and underscores, and that of a capacity provider does not "
    "begin with aws, ecs or fargate; ECS refuses any other",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html",
)
def accepted(context: Context) -> Problems:
    for pool in context.fleet.pools:
        name = pool.provider
        if isinstance(name, str) and pool.has_provider and (reserved_prefix(name) or not is_ecs_name(name)):
            prefix = reserved_prefix(name)
            yield Problem(
                about=pool,
                property_name="CapacityProvider.Name",
                value=name,
                message=f"the capacity provider is called {shown(name)}; "
                f"{'its name does not begin with aws, ecs or fargate' if prefix else f'a name has {ECS_NAME_FORM}'}",
                fix=_another(f"gpu-{name}" if prefix else name, _NONE),
                one_value=True,
            )
    for task in (each for each in context.tasks if each.scheduler is Scheduler.ECS):
        if isinstance(task.family, str):
            yield from _of_task(task, task.family, f"the family of {task.name} is")
        for container in task.containers:
            yield from _of_task(task, container.name, f"a container of {task.name} is called", container)


def _of_task(task: Task, name: str, what: str, container: Container | None = None) -> Problems:
    if not is_ecs_name(name):
        yield Problem(
            about=task,
            container=container,
            property_name="Family" if container is None else "Name",
            value=name,
            message=f"{what} {shown(name)}; a {'family' if container is None else 'name'} has {ECS_NAME_FORM}",
            fix=_another(name, "another name"),
            one_value=True,
        )


def _another(name: str, otherwise: str) -> str:
    """The nearest name that ECS accepts, or something else where none is left of it."""
    better = re.sub(r"[^A-Za-z0-9_-]+", "-", name[:LABEL]).strip("-")
    return f"such as {better}" if better else otherwise
