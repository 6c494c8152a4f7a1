"""Which tasks and services have to do with accelerators at all: what is wrong with the others is for other linters."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Fleet, Task, Workload
from gpu_constructs.placement import demand_of
from gpu_constructs.placement.destinations import pools_of
from gpu_constructs.placement.memo import by_identity
from gpu_constructs.rules.evidence.walk import asks_for_accelerator, tasks

__all__ = ["accelerated_tasks", "accelerated_workloads"]


@by_identity(maxsize=4)
def accelerated_workloads(fleet: Fleet) -> tuple[Workload, ...]:
    """Workloads whose task asks for an accelerator, or may be placed on hosts that have some.

    Args:
        fleet: What was asked for.
    """
    return tuple(
        each
        for each in fleet.workloads
        if (each.task is not None and _asks(each.task))
        or any(host.accelerators for pool in pools_of(fleet, each) for host in pool.instance_types)
    )


def accelerated_tasks(fleet: Fleet) -> Iterator[Task]:
    """Tasks that ask for an accelerator, and those of such workloads.

    Args:
        fleet: What was asked for.
    """
    run = {each.task.name for each in accelerated_workloads(fleet) if each.task is not None}
    return (each for each in tasks(fleet) if each.name in run or _asks(each))


def _asks(task: Task) -> bool:
    return any(map(asks_for_accelerator, task.containers)) or demand_of(task).wants_accelerator
