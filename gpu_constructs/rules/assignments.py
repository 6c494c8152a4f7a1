"""Which tasks may be placed on which pools, and whether they fit there: worked out once for all rules that ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_constructs.fleet import Fleet, Pool, PoolKind, Scheduler, Task, Unknown, Workload
from gpu_constructs.hardware import InstanceType, Vendor
from gpu_constructs.placement import Demand, Fit, Offer, demand_of, held_against, offer_of
from gpu_constructs.placement.identity import by_identity
from gpu_constructs.rules.parts import tasks

__all__ = ["Assignment", "Placing", "alone", "assignments", "carries_gpus", "schedules", "stuck"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placing:
    """One pool of a workload.

    Attributes:
        pool: Where tasks may be placed.
        fit: Whether one copy fits there.
    """

    pool: Pool
    fit: Fit

    @property
    def types(self) -> tuple[InstanceType, ...]:
        """Types that its tasks may land on."""
        return self.fit.hosts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment:
    """The pools of one workload.

    Attributes:
        workload: What keeps the tasks running.
        task: What it runs.
        placings: Its pools.
        in_question: Those of them on which it does not certainly fit.
        every: Whether each pool gets tasks of its own, as by a strategy: ECS gives a task to one provider and never
            moves it. Else one pool that fits is enough.
    """

    workload: Workload
    task: Task
    placings: tuple[Placing, ...]
    in_question: tuple[Placing, ...]
    every: bool


@by_identity(maxsize=4)
def assignments(fleet: Fleet) -> tuple[Assignment, ...]:
    """The workloads of a fleet that have pools, in its order.

    An item of a strategy with neither weight nor base gets no tasks, beside others that have one.

    Args:
        fleet: What was asked for.
    """
    clusters: dict[str | None, list[Pool]] = {}
    for pool in fleet.pools:
        if pool.runs_launch_type_ec2 and not isinstance(pool.cluster, Unknown):
            clusters.setdefault(pool.cluster, []).append(pool)
    return tuple(_assignments(fleet, clusters))


def stuck(assignment: Assignment) -> tuple[Placing, ...]:
    """Pools on which tasks of a workload wait for ever: each that never runs one, where it gets tasks of its own.

    Args:
        assignment: A workload with its pools.
    """
    never = tuple(each for each in assignment.in_question if each.fit.answer is False)
    return never if assignment.every or len(never) == len(assignment.placings) else ()


def carries_gpus(pool: Pool) -> bool:
    """Whether a pool has hosts with NVIDIA GPUs, or a part of one.

    Args:
        pool: One of a fleet.
    """
    devices = (each.accelerators for each in pool.instance_types)
    return any(each is not None and each.vendor is Vendor.NVIDIA for each in devices)


def schedules(scheduler: Scheduler, pool: Pool) -> bool:
    """Whether a scheduler places tasks on a pool: AWS Batch on its own, ECS on all others.

    Args:
        scheduler: Who places.
        pool: One of a fleet.
    """
    return (pool.kind is PoolKind.BATCH) is (scheduler is Scheduler.BATCH)


def alone(fleet: Fleet) -> Iterator[Task]:
    """GPU tasks that no workload runs; where one with hosts elsewhere does, nothing here says whether they fit.

    Args:
        fleet: What was asked for.
    """
    run = {each.task.name for each in fleet.workloads if each.task is not None}
    return (
        each
        for each in tasks(fleet)
        if each.name not in run and each.wants_gpu and "FARGATE" not in each.compatibilities
    )


def _assignments(fleet: Fleet, clusters: dict[str | None, list[Pool]]) -> Iterator[Assignment]:
    for workload in fleet.workloads:
        task = workload.task
        if task is None:
            continue
        pools = _of_strategy(workload) if workload.strategy else _of_cluster(workload, clusters)
        if not pools:
            continue
        placings = _placings(demand_of(task, workload.constraints), pools)
        yield Assignment(
            workload=workload,
            task=task,
            placings=placings,
            in_question=tuple(each for each in placings if each.fit.answer is not True),
            every=bool(workload.strategy) and workload.daemon is not True,
        )


def _placings(demand: Demand, pools: tuple[Pool, ...]) -> tuple[Placing, ...]:
    fits: dict[Offer, Fit] = {}
    found = []
    for pool in pools:
        offer = offer_of(pool)
        fit = fits.get(offer)
        if fit is None:
            fit = fits[offer] = held_against(demand, offer)
        found.append(Placing(pool=pool, fit=fit))
    return tuple(found)


def _of_strategy(workload: Workload) -> tuple[Pool, ...]:
    items = workload.strategy
    weighted = any(item.weight != 0 for item in items)
    pools = {
        id(item.pool): item.pool
        for item in items
        if item.pool is not None and (not weighted or item.weight != 0 or item.base != 0)
    }
    return tuple(pools.values())


def _of_cluster(workload: Workload, clusters: dict[str | None, list[Pool]]) -> tuple[Pool, ...]:
    if workload.launch_type not in {None, "EC2"} or isinstance(workload.cluster, Unknown):
        return ()
    return tuple(clusters.get(workload.cluster, ()))
