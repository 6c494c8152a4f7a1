"""The containers of a task definition among themselves: their names, which are essential, who waits for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gpu_constructs.budget import brief
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.hardware.aws_limits import MAX_CONTAINERS
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import is_accelerated, tasks_on_accelerated_hosts
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error


def _of_other_tasks(context: Context) -> Problems:
    for task in tasks_on_accelerated_hosts(context):
        yield from _of_task(task)


@error(
    "GPU127",
    question="can the containers be together in one task definition?",
    because=f"a task definition has up to {MAX_CONTAINERS} containers with different names, at least one of them is "
    "essential, and containers depend on other containers of the same task, never in a circle; ECS refuses other task "
    "definitions",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    in_fleet=_of_other_tasks,
)
def taken_together(task: Task) -> Problems:
    if is_accelerated(task):
        yield from _of_task(task)


def _of_task(task: Task) -> Problems:
    if task.scheduler is Scheduler.ECS:
        for message, fix in _problems(task):
            yield Problem(about=task, message=message, fix=fix)


def _problems(task: Task) -> Iterator[tuple[str, str]]:
    containers = task.containers
    if len(containers) > MAX_CONTAINERS:
        yield (
            f"{task.name} has {len(containers)} containers, and a task definition has {MAX_CONTAINERS} at most",
            "fewer containers, or several task definitions",
        )
    for name, times in Counter(each.name for each in containers if each.name).items():
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
    waits = {each.name: each.depends_on for each in task.containers}
    if not any(waits.values()):
        return
    for name, others in waits.items():
        missing = [each for each in others if each not in waits]
        if missing and not _has_open_name(task):
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


def _has_open_name(task: Task) -> bool:
    """Whether a container has a name that is only known at deploy time, so that it may be the missing one.

    Such a name is read as "unknown" or "unknown-2".
    """
    return any(each.name == "unknown" or each.name.startswith("unknown-") for each in task.containers)


def _circle(waits: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The first circle of containers that wait for each other; empty if there is none."""
    left = {name: {each for each in others if each in waits} for name, others in waits.items()}
    while free := [name for name, others in left.items() if not others]:
        for name in free:
            del left[name]
        for others in left.values():
            others.difference_update(free)
    if not left:
        return ()
    # Every container that is left waits for another one that is left, so following them comes back to one.
    passed = [next(iter(left))]
    while (following := min(left[passed[-1]])) not in passed:
        passed.append(following)
    return tuple(passed[passed.index(following) :])
