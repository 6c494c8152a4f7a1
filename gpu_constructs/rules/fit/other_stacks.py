"""Tasks that fit none of the hosts here, where hosts that other files or stacks define may take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_constructs.fleet import Pool, Task
from gpu_constructs.placement import Fit, Obstacle, ObstacleKind, fit
from gpu_constructs.placement.destinations import carries_gpus, pools_by_hand, unassigned
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

__all__ = ["fitting_none"]

_MOST_NAMED = 4
_TOLD_OF_ANY = frozenset({ObstacleKind.LAUNCHER, ObstacleKind.OPERATING_SYSTEM})
_FIX = "give the files with its hosts too, and all of them are checked together"


@rule(
    "GPU075",
    Severity.WARNING,
    about=Context,
    question="does a task that other hosts may take fit some of those that are here?",
    because="a task without a capacity provider strategy goes to any host of its cluster, and one that nothing here "
    "runs may belong to another cluster: hosts of other files may have what these lack, and nobody says so",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html",
    unless=("GPU041", "GPU045", "GPU063"),
)
def fits_here(context: Context) -> Iterator[Problem]:
    for assignment in context.assignments:
        never = () if assignment.is_closed else assignment.never
        task, workload = assignment.task, assignment.workload
        told = _told((each.pool, each.fit) for each in never)
        if told:
            yield Problem(
                about=workload,
                involves=(task,),
                message=f"{task.name} fits on no host of its cluster here ({told}): it waits for ever, unless hosts of "
                "other files join the cluster",
                fix=_FIX,
            )
    for task, seen in () if context.fleet.is_whole else fitting_none(context):
        if told := _told(seen):
            yield Problem(
                about=task,
                message=f"{task.name} fits on none of the GPU hosts here ({told}), and nothing here runs it: hosts of "
                "other files may take it",
                fix=_FIX,
            )


def fitting_none(context: Context) -> Iterator[tuple[Task, list[tuple[Pool, Fit]]]]:
    """GPU tasks that no workload runs and no pool here takes, with the GPU pools and why not.

    Args:
        context: The fleet that is checked.
    """
    for task in unassigned(context.fleet):
        pools = pools_by_hand(context.fleet, task)
        if not any(map(carries_gpus, pools)) or not all(pool.types_are_known for pool in pools):
            continue
        if not any(_takes(pool, task) for pool in pools):
            yield task, [(pool, fit(task, pool)) for pool in pools if carries_gpus(pool)]


def _takes(pool: Pool, task: Task) -> bool:
    found = fit(task, pool)
    return found.answer is not False or bool(found.hosts)


def _told(seen: Iterable[tuple[Pool, Fit]]) -> str:
    """Why none of them takes it; what GPU027 and GPU029 say of hosts anywhere is left to them."""
    named = []
    for pool, each in seen:
        obstacles: list[Obstacle] = [one for one in each.obstacles if one.kind not in _TOLD_OF_ANY]
        if reasons := [*each.shortfalls, *obstacles]:
            named.append(f"{pool.name}: {'; '.join(map(str, reasons))}")
    return "; ".join(named[:_MOST_NAMED])
