"""Tasks that fit none of these hosts, but may fit hosts that other files or stacks define."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_constructs.fleet import Pool, Task
from gpu_constructs.placement import Fit, Obstacle, ObstacleKind, fit
from gpu_constructs.placement.destinations import carries_gpus, pools_by_hand, unassigned
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, warning

__all__ = ["fitting_none"]

_MOST_NAMED = 4
_REPORTED_FOR_ANY_HOST = frozenset({ObstacleKind.LAUNCHER, ObstacleKind.OPERATING_SYSTEM})
_FIX = "check the files that define its hosts together with these"


@warning(
    "GPU075",
    question="does a task fit some of these hosts, even if hosts of other files may run it?",
    because="a task without a capacity provider strategy may go to any host of its cluster, and a task that no service "
    "runs may belong to another cluster: only hosts of other files can have what these lack",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html",
    unless=("GPU041", "GPU045", "GPU063"),
)
def fits_here(context: Context) -> Iterator[Problem]:
    for assignment in context.assignments:
        never = () if assignment.is_closed else assignment.never
        task, workload = assignment.task, assignment.workload
        reasons = _reasons((each.pool, each.fit) for each in never)
        if reasons:
            yield Problem(
                about=workload,
                involves=(task,),
                message=f"{task.name} fits on no host of its cluster here ({reasons}): it only starts if hosts of "
                "other files join the cluster",
                fix=_FIX,
            )
    for task, seen in () if context.fleet.is_whole else fitting_none(context):
        if reasons := _reasons(seen):
            yield Problem(
                about=task,
                message=f"{task.name} fits on none of the GPU hosts here ({reasons}), and no service here runs it: it "
                "needs hosts of other files",
                fix=_FIX,
            )


def fitting_none(context: Context) -> Iterator[tuple[Task, list[tuple[Pool, Fit]]]]:
    """GPU tasks that no workload runs and that fit no pool here, with the GPU pools and why they do not fit.

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


def _reasons(seen: Iterable[tuple[Pool, Fit]]) -> str:
    """Why it fits none of them, without what GPU027 and GPU029 report for every host there is."""
    named = []
    for pool, each in seen:
        obstacles: list[Obstacle] = [one for one in each.obstacles if one.kind not in _REPORTED_FOR_ANY_HOST]
        if reasons := [*each.shortfalls, *obstacles]:
            named.append(f"{pool.name}: {'; '.join(map(str, reasons))}")
    return "; ".join(named[:_MOST_NAMED])
