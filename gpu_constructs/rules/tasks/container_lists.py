"""The containers of a task definition among themselves: their names, which are essential, who waits for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from gpu_constructs.budget import brief
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.hardware.aws_limits import MAX_CONTAINERS
from gpu_constructs.rules.evidence.accelerated import where_accelerated
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error

_TO_ROUTER = "awsfirelens"


@where_accelerated
@error(
    "GPU127",
    question="can the containers be together in one task definition?",
    because=f"a task definition has up to {MAX_CONTAINERS} containers with different names, at least one of them is "
    "essential, and containers depend on other containers of the same task, never in a circle; ECS refuses other task "
    "definitions",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    changes="ContainerDefinitions",
)
def taken_together(task: Task) -> Problems:
    if task.scheduler is Scheduler.ECS:
        for message, fix in _problems(task):
            yield Problem(message=message, fix=fix)


@error(
    "GPU232",
    question="does the task definition have a container?",
    because="ECS refuses a task definition without containers (Container list cannot be empty), though "
    "CloudFormation does not require the property",
    source="https://github.com/awsdocs/aws-cloudformation-user-guide/pull/454",
    changes="ContainerDefinitions",
)
def has_a_container(task: Task) -> Problems:
    if task.is_empty and task.scheduler is Scheduler.ECS:
        yield Problem(message=f"{task.name} has no container", fix="ContainerDefinitions with one container or more")


@where_accelerated
@error(
    "GPU256",
    question="can each container reach the state that another one waits for?",
    because="an essential container ends only with the task, and the agent knows the health of a container only by the "
    "health check in the task definition",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
)
def conditions_come_true(task: Task) -> Problems:
    others = {each.name: each for each in task.containers}
    for container in task.containers:
        for each in container.relations.depends_on:
            other = others.get(each.container)
            if other is None or other is container:
                continue
            name = brief(other.name)
            waits = f"container {brief(container.name)} of {task.name} waits until container {name}"
            if each.condition in {"SUCCESS", "COMPLETE"} and other.essential is True and container.name != other.name:
                yield Problem(
                    container=other,
                    property_name="Essential",
                    value=other.essential,
                    message=f"{waits} has ended ({each.condition}), and {name} is essential, so the task would end "
                    "with it; ECS refuses that",
                    fix=f"Essential: false for {name}",
                )
            elif each.condition == "HEALTHY" and other.has_health_check is False:
                yield Problem(
                    container=other,
                    property_name="HealthCheck",
                    message=f"{waits} is HEALTHY, and {name} has no health check, so that it never starts; a health "
                    "check of the image does not count",
                    fix=f"a HealthCheck for {name}, or the condition START",
                )


@where_accelerated
@error(
    "GPU255",
    question="does the task have the containers whose volumes and log routing others use?",
    because="ECS refuses a task definition that mounts volumes of a container that it does not have, and one with the "
    "log driver awsfirelens and no log router",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
)
def referred_containers_exist(task: Task) -> Problems:
    names = {each.name for each in task.containers}
    for container in () if task.has_open_name else task.containers:
        for each in container.relations.volumes_from:
            if each not in names:
                yield Problem(
                    container=container,
                    property_name="VolumesFrom",
                    value=each,
                    message=f"container {brief(container.name)} of {task.name} mounts the volumes of "
                    f"{shown(brief(each))}, and the task has {and_list(map(brief, sorted(names)))} only",
                    fix="a container of the same task",
                )
    senders = [each for each in task.containers if each.relations.log_driver == _TO_ROUTER]
    if senders and not any(each.relations.is_log_router for each in task.containers):
        yield Problem(
            container=senders[0],
            property_name="LogConfiguration.LogDriver",
            value=_TO_ROUTER,
            message=f"container {brief(senders[0].name)} of {task.name} sends its logs to FireLens, and no container "
            "of the task routes them",
            fix="a container with a FirelensConfiguration, or another log driver",
        )


def _problems(task: Task) -> Iterator[tuple[str, str]]:
    containers = task.containers
    if len(containers) > MAX_CONTAINERS:
        yield (
            f"{task.name} has {len(containers)} containers, and a task definition has {MAX_CONTAINERS} at most",
            "fewer containers, or several task definitions",
        )
    for name, times in Counter(each.name for each in containers if each.name and not each.has_open_name).items():
        if times > 1:
            yield (
                f"{times} containers of {task.name} are called {shown(name)}; container names must differ",
                "another name",
            )
    if containers and all(each.essential is False for each in containers):
        yield (
            f"no container of {task.name} is essential, and at least one must be",
            "Essential true, the default, for the container that does the work",
        )
    yield from _of_dependencies(task)


def _of_dependencies(task: Task) -> Iterator[tuple[str, str]]:
    waits = {each.name: tuple(other.container for other in each.relations.depends_on) for each in task.containers}
    if not any(waits.values()):
        return
    for name, others in waits.items():
        missing = [each for each in others if each not in waits]
        if missing and not task.has_open_name:
            unknown = and_list(shown(brief(each)) for each in missing)
            yield (
                f"container {name} of {task.name} depends on {unknown}, and the task has {and_list(waits)} only",
                "a container of the same task",
            )
    circle = _circle(waits)
    if circle:
        yield (
            f"containers of {task.name} wait for each other in a circle: {' → '.join((*circle, circle[0]))}"
            if len(circle) > 1
            else f"container {circle[0]} of {task.name} waits for itself",
            "no DependsOn for the container that starts first",
        )


def _circle(waits: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The first circle of containers that wait for each other; empty if there is none."""
    left = {name: {each for each in others if each in waits} for name, others in waits.items()}
    waiting: dict[str, list[str]] = {}
    for name, others in left.items():
        for each in others:
            waiting.setdefault(each, []).append(name)
    free = [name for name, others in left.items() if not others]
    while free:
        name = free.pop()
        del left[name]
        for each in waiting.get(name, ()):
            left[each].discard(name)
            if not left[each]:
                free.append(each)
    if not left:
        return ()
    # Every container that is left waits for another one that is left, so following them comes back to one.
    passed = dict.fromkeys(islice(left, 1))
    while (following := min(left[next(reversed(passed))])) not in passed:
        passed[following] = None
    names = tuple(passed)
    return names[names.index(following) :]
