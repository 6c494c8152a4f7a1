"""Warnings about a service on the capacity that its task may run on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_constructs.fleet import Pool, Task, Unknown, total
from gpu_constructs.placement import Rollout, can_go_on, task_slots
from gpu_constructs.rules.finding import Finding

__all__ = ["service_findings"]


def service_findings(
    task: Task, pools: Sequence[Pool], desired_count: int | Unknown, percent: Rollout | None
) -> tuple[Finding, ...]:
    """Every warning about one service.

    Args:
        task: What it runs.
        pools: Where it may run.
        desired_count: Tasks that it keeps running.
        percent: The percentages of its deployments; None where one is only known at deploy time.
    """
    return tuple(_findings(task, pools, desired_count, percent))


def _findings(
    task: Task, pools: Sequence[Pool], desired_count: int | Unknown, percent: Rollout | None
) -> Iterator[Finding]:
    slots = total(task_slots(task, pool) for pool in pools)
    if isinstance(desired_count, Unknown) or isinstance(slots, Unknown):
        yield Finding(
            rule="GPU012",
            message="whether the hosts have room is not known: a number only exists at deploy time, or a host may "
            "register too little memory",
        )
    elif desired_count > slots:
        yield Finding(
            rule="GPU009",
            message=f"{desired_count} tasks are wanted, and {' and '.join(pool.name for pool in pools)} hold {slots} "
            "at max_instances: the others wait for ever; raise max_instances",
        )
    elif percent is not None and not can_go_on(desired_count, slots, percent):
        yield Finding(
            rule="GPU010",
            message=f"a deployment could not take its first step: {desired_count} tasks run, {slots} fit at "
            f"max_instances, at least {percent.min_healthy_percent} % must keep running and at most "
            f"{percent.max_healthy_percent} % may run; raise max_instances or lower min_healthy_percent",
        )
