"""Names that the ECS API refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_constructs.budget import LABEL
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Scheduler
from gpu_constructs.hardware.aws_limits import ECS_NAME_FORM, is_ecs_name, reserved_prefix
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule


@rule(
    "GPU046",
    Severity.ERROR,
    about=Context,
    question="are the names of capacity providers, families and containers ones that ECS takes?",
    because="they have up to 255 letters, digits, hyphens and underscores, and a capacity provider's does not begin "
    "with aws, ecs or fargate; ECS refuses any other",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html",
)
def accepted(context: Context) -> Iterator[Problem]:
    for pool in context.fleet.pools:
        name = pool.provider
        if not isinstance(name, str) or not pool.has_provider:
            continue
        prefix = reserved_prefix(name)
        if prefix:
            yield Problem(
                about=pool,
                message=f"the capacity provider is called {shown(name)}, and no name may begin with {prefix}",
                fix=f"gpu-{name[:200]}, or no name, and CloudFormation makes one",
            )
        elif not is_ecs_name(name):
            yield Problem(
                about=pool,
                message=f"the capacity provider is called {shown(name)}; a name has {ECS_NAME_FORM}",
                fix=_fixed(name),
            )
    for task in context.tasks:
        if task.scheduler is not Scheduler.ECS:
            continue
        if isinstance(task.family, str) and not is_ecs_name(task.family):
            yield Problem(
                about=task,
                message=f"the family of {task.name} is {shown(task.family)}; a family has {ECS_NAME_FORM}",
                fix=_fixed(task.family),
            )
        for container in task.containers:
            if not is_ecs_name(container.name):
                yield Problem(
                    about=task,
                    container=container,
                    message=f"a container of {task.name} is called {shown(container.name)}; a name has {ECS_NAME_FORM}",
                    fix=_fixed(container.name),
                )


def _fixed(name: str) -> str:
    better = re.sub(r"[^A-Za-z0-9_-]+", "-", name[:LABEL]).strip("-")
    return f"such as {better}" if better and better != name else "a shorter one" if name else "any name"
