"""Warnings about a task on the pools that it may run on."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_constructs.fleet import Pool, Task
from gpu_constructs.placement import uncertainties
from gpu_constructs.rules.finding import Finding

__all__ = ["task_findings"]


def task_findings(task: Task, pools: Sequence[Pool]) -> tuple[Finding, ...]:
    """Every warning about one task, a line for each cause and pool."""
    if not task.containers:
        return ()
    return tuple(
        Finding(rule="GPU006", message=f"{task.name} may not fit on {pool.name}: {reason}")
        for pool in pools
        for reason in (*_unknown_hosts(pool), *uncertainties(task, pool.instance_types))
    )


def _unknown_hosts(pool: Pool) -> tuple[str, ...]:
    return ("its instance types are only known at deploy time",) if pool.has_unknown_types else ()
