"""The containers of a task definition among themselves: their names, which are essential, who waits for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gpu_constructs.budget import brief
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.hardware.aws_limits import MAX_CONTAINERS
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import accelerated_tasks
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule


@rule(
    "GPU127",
    Severity.ERROR,
    about=Context,
    question="does ECS take the containers of a task together?",
    because=f"a task definition has up to {MAX_CONTAINERS} containers with names of their own, of which at least one "
    "is essential, and a container waits for others of the same task, never in a circle; ECS refuses any other",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
)
def taken_together(context: Context) -> Iterator[Problem]:
    for task in accelerated_tasks(context):
        if task.scheduler is Scheduler.ECS:
            for message, fix in _problems(task):
                yield Problem(about=task, message=message, fix=fix)


def _problems(task: Task) -> Iterator[tuple[str, str]]:
    containers = task.containers
    if len(containers) > MAX_CONTAINERS:
        yield (
            f"{task.name} has {len(containers)} containers, and a task definition takes {MAX_CONTAINERS}",
            "fewer containers, or several task definitions",
        )
    for name, times in Counter(each.name for each in containers if each.name).items():
        if times > 1:
            yield (
                f"{times} containers of {task.name} are called {shown(name)}; each needs a name of its own",
                "another name",
            )
    if containers and all(each.essential is False for each in containers):
        yield (
            f"no container of {task.name} is essential, and at least one must be",
            "no Essential, or true, for the container that does the work",
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
            "no DependsOn for the one that starts first",
        )


def _has_open_name(task: Task) -> bool:
    """Whether a name may be the one that is missing: a name of the deploy has another one here.

    Those are "unknown" and "unknown-2".
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
    # Whoever is left waits for one that is left, so the way through them comes back to one that it has passed.
    passed = [next(iter(left))]
    while (following := min(left[passed[-1]])) not in passed:
        passed.append(following)
    return tuple(passed[passed.index(following) :])
