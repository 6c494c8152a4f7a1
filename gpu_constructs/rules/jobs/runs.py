"""Runs of GPU tasks that end: does each state end, does each override fit its task, and do checkpoints survive?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_constructs.errors import brief
from gpu_constructs.fleet import PARTLY_SPOT, Container, Workload
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.evidence.accelerated import asks_for_accelerator
from gpu_constructs.rules.finding import and_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_MANY_RETRIES: Final = 100
"""More than a failure that goes away by itself takes; each of them takes a GPU host."""


@warning(
    "GPU321",
    question="does something end a state of a state machine that runs a GPU task?",
    because="the definition of a state machine has no time limit unless it sets one: while no host comes, or the task "
    "hangs, the execution waits; Step Functions follows the way from a failure back to the state as long as nothing "
    "counts how often, and retries up to 99,999,999 times; each time a host with GPUs is paid for",
    source="https://docs.aws.amazon.com/step-functions/latest/dg/sfn-stuck-execution.html",
)
def ends_at_some_time(context: Context) -> Problems:
    for step in context.fleet.steps:
        task = step.task
        if not step.waits or task is None or not asks_for_accelerator(task):
            continue
        if step.is_limited is False:
            yield Problem(
                about=step,
                involves=(task,),
                property_name="TimeoutSeconds",
                message=f"{brief(step.name)} waits until {task.name} ends, and neither the state nor its state machine "
                "has TimeoutSeconds",
                fix="TimeoutSeconds of the state, with the time that a host needs to start",
            )
        if step.way_back is not None:
            by_way = f" by way of {', '.join(map(brief, step.way_back))}" if step.way_back else ""
            yield Problem(
                about=step,
                involves=(task,),
                property_name="Catch",
                message=f"each time that {task.name} fails, {brief(step.name)} starts it again{by_way}, and nothing "
                "counts how often",
                fix="a Retry with MaxAttempts in place of the way back, a Choice that counts, or TimeoutSeconds of the "
                "whole state machine",
            )
        if isinstance(step.attempts, int) and step.attempts - 1 > _MANY_RETRIES:
            yield Problem(
                about=step,
                involves=(task,),
                property_name="Retry.MaxAttempts",
                value=step.attempts - 1,
                message=f"{brief(step.name)} starts {task.name} again up to {step.attempts - 1:,} times when it fails, "
                "whatever the reason is",
                allowed=f"up to {_MANY_RETRIES}",
                fix="a smaller MaxAttempts, and more only for errors that go away by themselves, such as "
                "ECS.AmazonECSException",
            )


@error(
    "GPU359",
    question="does each override name a container of the task?",
    because="RunTask refuses an override for a container that is not in the task definition, and starts nothing",
    source="https://github.com/azavea/django-ecsmanage/issues/21",
)
def overrides_its_containers(workload: Workload) -> Problems:
    task = workload.task
    if task is None or not asks_for_accelerator(task):
        return
    names = and_list(brief(each.name) for each in task.containers)
    for name, origin in workload.overrides_others:
        yield Problem(
            origin=origin,
            property_name="ContainerOverrides.Name",
            value=name,
            message=f"{workload.name} overrides container {brief(name)}, and {task.name} has {names}",
            allowed=names,
            fix="the name of a container of the task",
        )


@warning(
    "GPU370",
    question="does a GPU task on Spot hosts mount a volume where it keeps its checkpoints?",
    because="what a container writes outside of its volumes is deleted with it, so that nothing is left to resume from "
    "after an interruption",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_data_volumes.html",
)
def mounts_its_checkpoints(context: Context) -> Problems:
    said: set[tuple[int, str]] = set()
    for route in context.routed(lambda task: task.wants_gpu):
        spot = [each.pool for each in route.destinations if each.pool.bought.option in PARTLY_SPOT]
        for container, name, path in _directories(route) if spot else ():
            if container.relations.may_mount(path) or (id(route.task), path) in said:
                continue
            said.add((id(route.task), path))
            directory = brief(path.rstrip("/"))
            yield Problem(
                about=route.task,
                container=container,
                involves=(route.sender, spot[0]),
                property_name="MountPoints",
                message=f"container {brief(container.name)} of {route.task.name} keeps checkpoints in {directory} "
                f"({brief(name)}), where it mounts no volume, and {spot[0].name} has Spot hosts",
                fix=f"MountPoints with ContainerPath {directory} and a volume of EFS or FSx for Lustre (in CDK "
                f'container.add_mount_points(ecs.MountPoint(container_path="{directory}", source_volume=…, '
                "read_only=False))), or a bucket",
            )


def _directories(route: Route) -> Iterator[tuple[Container, str, str]]:
    """Containers with the variables that name a directory for checkpoints, and that directory."""
    overrides = route.workload.variables if route.workload is not None else ()
    for container in route.task.containers:
        own = {name: value for name, value in container.environment if isinstance(value, str)}
        own.update({name: value for of, name, value in overrides if of == container.name})
        for name, value in own.items():
            if "CHECKPOINT" in name.upper() and value.startswith("/") and value.strip("/"):
                yield container, name, value
