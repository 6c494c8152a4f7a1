"""The placement constraints of a fleet, as far as judging them ends within a minute."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from gpu_constructs.budget import work
from gpu_constructs.fleet import UNKNOWN, Fleet, PlacementConstraint, Remark, RemarkKind, Task, Workload

STEPS_OF_CONSTRAINT, STEPS_OF_PATTERN = 1_800, 60
"""To ask a constraint for every instance type, and to compare each of its patterns, as measured."""

_Holder = TypeVar("_Holder", Task, Workload)
_MARK = "~"  # of `=~` and `!~`


def within_patterns(fleet: Fleet) -> Fleet:
    """The same fleet; with more patterns than there is work left for, expressions with some are unknown, as noted."""
    asked = [each.task for each in fleet.workloads if each.task is not None]
    written: list[Task | Workload] = [*fleet.tasks, *fleet.workloads]
    counts = [count for holder in written for each in holder.constraints if (count := _patterns(each))]
    count = sum(counts)
    if work().takes(STEPS_OF_CONSTRAINT * len(counts) + STEPS_OF_PATTERN * count):
        return fleet
    origin = next(each.origin for each in written if each.origin and any(map(_patterns, each.constraints)))
    text = f"{count} patterns in placement constraints are more than are judged: none of them is"
    tasks = {id(each): _unknown(each) for each in (*fleet.tasks, *asked)}
    return replace(
        fleet,
        tasks=tuple(tasks[id(each)] for each in fleet.tasks),
        workloads=tuple(replace(_unknown(each), task=tasks.get(id(each.task))) for each in fleet.workloads),
        remarks=(*fleet.remarks, Remark(kind=RemarkKind.NOT_READ, text=text, origin=origin)),
    )


def _patterns(constraint: PlacementConstraint) -> int:
    return constraint.expression.count(_MARK) if isinstance(constraint.expression, str) else 0


def _unknown(holder: _Holder) -> _Holder:
    known = (replace(each, expression=UNKNOWN) if _patterns(each) else each for each in holder.constraints)
    return replace(holder, constraints=tuple(known))
