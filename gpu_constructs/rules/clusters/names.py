"""Names: does ECS accept those of capacity providers, families and containers?"""

from __future__ import annotations

import re

from gpu_constructs.budget import LABEL
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Pool, Scheduler, Task
from gpu_constructs.hardware.aws_limits import ECS_NAME_FORM, is_ecs_name, reserved_prefix
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error


@error(
    "GPU046",
    question="does ECS accept the names of capacity providers, families and containers?",
    because="a name has up to 255 letters, digits, hyphens and underscores, and that of a capacity provider does not "
    "begin with aws, ecs or fargate; ECS refuses any other",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html",
)
def accepted(context: Context) -> Problems:
    for pool in context.fleet.pools:
        yield from _of_provider(pool)
    for task in context.tasks:
        if task.scheduler is Scheduler.ECS:
            yield from _of_task(task)


def _of_provider(pool: Pool) -> Problems:
    name = pool.provider
    if not isinstance(name, str) or not pool.has_provider:
        return
    prefix = reserved_prefix(name)
    if prefix or not is_ecs_name(name):
        allowed = "its name does not begin with aws, ecs or fargate" if prefix else _form("name")
        fix = f"gpu-{name[:200]}" if prefix else _fixed(name)
        yield Problem(
            about=pool,
            property_name="CapacityProvider.Name",
            value=name,
            message=f"the capacity provider is called {shown(name)}; {allowed}",
            fix=f"{fix}, or no name, and CloudFormation makes one",
            one_value=True,
        )


def _of_task(task: Task) -> Problems:
    if isinstance(task.family, str) and not is_ecs_name(task.family):
        yield Problem(
            about=task,
            property_name="Family",
            value=task.family,
            message=f"the family of {task.name} is {shown(task.family)}; {_form('family')}",
            fix=_fixed(task.family),
            one_value=True,
        )
    for container in task.containers:
        if not is_ecs_name(container.name):
            yield Problem(
                about=task,
                container=container,
                property_name="Name",
                value=container.name,
                message=f"a container of {task.name} is called {shown(container.name)}; {_form('name')}",
                fix=_fixed(container.name),
                one_value=True,
            )


def _form(what: str) -> str:
    return f"a {what} has {ECS_NAME_FORM}"


def _fixed(name: str) -> str:
    better = re.sub(r"[^A-Za-z0-9_-]+", "-", name[:LABEL]).strip("-")
    return f"such as {better}" if better and better != name else "a shorter one" if name else "any name"
