"""The containers of a task definition among themselves: what they name, who waits for whom and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from gpu_constructs.errors import brief, shown
from gpu_constructs.facts.aws_limits import HEALTH_CHECK_LIMITS, MAX_CONTAINERS
from gpu_constructs.fleet import Scheduler, Task, Unknown
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES, where_accelerated
from gpu_constructs.rules.rule import Problem, Problems, error
from gpu_constructs.rules.words import and_list

_TO_ROUTER = "awsfirelens"


@where_accelerated
@error(
    "GPU127",
    question="do the containers of a task definition find in it what they name, and can ECS start and stop them "
    "together?",
    because=f"a task definition has up to {MAX_CONTAINERS} containers with different names, at least one of them is "
    "essential, and each finds the containers, volumes and log router that it names in the same task; ECS refuses "
    "another task definition, or never starts a container that waits for a state which does not come",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
)
def taken_together(task: Task) -> Problems:
    if task.scheduler is Scheduler.ECS:
        for message, fix in _problems(task):
            yield Problem(message=message, fix=fix, changes="ContainerDefinitions")
        yield from _of_conditions(task)
        yield from _of_volumes(task)
        yield from _of_log_routing(task)
        yield from _of_links(task)


@error(
    "GPU290",
    question="are the numbers of a health check within the limits of ECS?",
    because="ECS takes an interval of 5 to 300 seconds, a timeout of 2 to 60, a start period of 0 to 300 and 1 to 10 "
    "retries, and refuses the task definition otherwise",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html",
)
def health_check(task: Task) -> Problems:
    for container in task.containers:
        for key, number in container.health_check:
            low, high = HEALTH_CHECK_LIMITS[key]
            if not low <= number <= high:
                yield Problem(
                    container=container,
                    property_name=f"HealthCheck.{key}",
                    value=number,
                    message=f"the health check of container {brief(container.name)} has a {key} of {number}, and ECS "
                    f"takes {low} to {high}",
                    allowed=f"{low} to {high}",
                    one_value=True,
                    fix=_longer(key, high) if number > high else f"a {key} of {low} or more",
                )


def _longer(key: str, high: int) -> str:
    more = "; with more Retries or a longer Interval a slow container has more time" if key == "StartPeriod" else ""
    return f"a {key} of {high} or less{more}"


def _of_conditions(task: Task) -> Problems:
    """States that another container waits for and that never come.

    An essential container ends only with the task, and the agent knows the health of a container only by the health
    check in the task definition.
    """
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


def _of_volumes(task: Task) -> Problems:
    names = {each.name for each in task.containers}
    for container in task.containers:
        for each in () if task.has_open_name else container.relations.volumes_from:
            if each not in names:
                yield Problem(
                    container=container,
                    property_name="VolumesFrom",
                    value=each,
                    message=f"container {brief(container.name)} of {task.name} mounts the volumes of "
                    f"{shown(brief(each))}, and the task has {and_list(map(brief, sorted(names)))} only",
                    fix="a container of the same task",
                )
        volumes = task.volumes
        for name in dict.fromkeys(container.relations.mounts):
            if not isinstance(volumes, Unknown) and name not in volumes:
                has = and_list(map(brief, volumes)) if volumes else "no volumes"
                yield Problem(
                    container=container,
                    message=f"container {brief(container.name)} of {task.name} mounts volume {brief(name)}, and the "
                    f"task has {has}",
                    fix="the name of one of its Volumes" if volumes else f"Volumes with the name {brief(name)}",
                    changes="MountPoints.SourceVolume",
                    value=name,
                )


def _of_log_routing(task: Task) -> Problems:
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


def _of_links(task: Task) -> Problems:
    mode = task.network_mode
    if not isinstance(mode, str) or mode == "bridge" or MANAGED_INSTANCES in task.compatibilities:
        return  # Managed Instances take links in no network mode
    for container in task.containers:
        if "Links" in container.used_keys:
            yield Problem(
                container=container,
                message=f"container {brief(container.name)} has links, which ECS supports in network mode bridge "
                f"only, and {task.name} has {mode}",
                fix="leave Links out; in network modes awsvpc and host, containers of a task reach each other at "
                "localhost",
                changes="Links",
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
