"""Where the tasks of a workload may go, certainly or possibly, and whether they fit there.

ECS gives a task to one provider of its strategy, by base and weight, and never moves it to another
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-capacity-providers.html). Without a strategy a
task goes to any host of the cluster, and hosts that other stacks launch may have joined it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_constructs.fleet import Fleet, Pool, PoolKind, Scheduler, StrategyItem, Task, Unknown, Workload, known
from gpu_constructs.hardware import InstanceType, Vendor
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.fit import fit_demand
from gpu_constructs.placement.memo import by_identity
from gpu_constructs.placement.pool_profile import PoolProfile, profile_of
from gpu_constructs.placement.reasons import DoubtKind, Fit, Obstacle, ObstacleKind

__all__ = [
    "EC2_LAUNCH_TYPES",
    "FARGATE_PROVIDERS",
    "UNSCALED",
    "Assignment",
    "Destination",
    "assignments",
    "carries_gpus",
    "gpu_workloads",
    "items_with_tasks",
    "pools_of",
    "runs_on_fargate",
    "schedules",
    "tasks_of",
    "unassigned",
]

FARGATE_PROVIDERS = frozenset({"FARGATE", "FARGATE_SPOT"})
"""Capacity providers that AWS itself defines.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-capacity-providers.html
"""

EC2_LAUNCH_TYPES = frozenset({None, "EC2"})
"""Launch types, as written, with which a task goes to hosts of its cluster; EC2 is what stands for none."""

UNSCALED = frozenset({DoubtKind.SMALLEST_TYPE, DoubtKind.SOME_TYPES})
"""Doubts about what managed scaling launches: it looks at the smallest type only."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Destination:
    """A pool that tasks of a workload may be placed on.

    Attributes:
        pool: The pool.
        is_certain: Whether some of the tasks can be placed nowhere else: they were given its capacity provider, or it
            is the only pool there is.
        fit: Whether one copy fits there.
    """

    pool: Pool
    is_certain: bool
    fit: Fit

    @property
    def types(self) -> tuple[InstanceType, ...]:
        """Types that the tasks may land on."""
        return self.fit.hosts

    @property
    def needs_larger(self) -> bool:
        """Whether only some of its types can run the task and managed scaling may launch none: GPU060 or GPU069 tells.

        Where placement constraints exclude the others, GPU071 does.
        """
        is_short = self.fit.answer is False and bool(self.fit.hosts)
        return is_short or any(each.kind in UNSCALED for each in self.fit.doubts)

    def barred_by(self, kind: ObstacleKind) -> tuple[Obstacle, ...]:
        """Obstacles of a kind that between them exclude every type of the pool; empty if one is left.

        Args:
            kind: What they are about.
        """
        found = tuple(each for each in self.fit.obstacles if each.kind is kind)
        excluded = {host.name for each in found for host in each.instance_types}
        return found if excluded.issuperset(each.name for each in self.pool.instance_types) else ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment:
    """A workload with the pools that its tasks may be placed on.

    Attributes:
        workload: What keeps the tasks running.
        task: What it runs.
        destinations: Its pools.
        in_question: Those of them on which it does not certainly fit.
        every: Whether each pool gets tasks of its own, as by a strategy; else one pool that fits is enough.
        is_closed: Whether its tasks find no hosts beside these: a strategy names them, or everything was read.
    """

    workload: Workload
    task: Task
    destinations: tuple[Destination, ...]
    in_question: tuple[Destination, ...]
    every: bool
    is_closed: bool

    @property
    def never(self) -> tuple[Destination, ...]:
        """Pools that never run what they are to run: each of them where it gets tasks of its own, else all or none."""
        never = tuple(each for each in self.in_question if each.fit.answer is False)
        return never if self.every or len(never) == len(self.destinations) else ()

    @property
    def stuck(self) -> tuple[Destination, ...]:
        """Those of them whose tasks wait for ever, because no host of another stack may take them."""
        return self.never if self.is_closed else ()


@by_identity(maxsize=4)
def assignments(fleet: Fleet) -> tuple[Assignment, ...]:
    """The workloads of a fleet that have pools, in its order.

    Args:
        fleet: What was asked for.
    """
    return tuple(_assignments(fleet))


@by_identity(maxsize=4)
def gpu_workloads(fleet: Fleet) -> Mapping[str, tuple[Workload, ...]]:
    """Workloads with a GPU task of which copies certainly go to a pool, by the name of the pool.

    A daemon runs wherever it can, so it is none of them; nor is a workload that may find its hosts elsewhere.

    Args:
        fleet: What was asked for.
    """
    found: dict[str, list[Workload]] = {}
    for assignment in assignments(fleet):
        workload = assignment.workload
        runs = workload.daemon is False and (workload.desired_count != 0 or workload.max_count is not None)
        if runs and assignment.task.wants_gpu:
            for each in assignment.destinations:
                if each.is_certain:
                    found.setdefault(each.pool.name, []).append(workload)
    return {name: tuple(workloads) for name, workloads in found.items()}


@by_identity(maxsize=4)
def tasks_of(fleet: Fleet) -> tuple[Task, ...]:
    """Every task once, those that only a workload names among them.

    Args:
        fleet: What was asked for.
    """
    found = {each.name: each for each in fleet.tasks}
    for workload in fleet.workloads:
        if workload.task is not None:
            found.setdefault(workload.task.name, workload.task)
    return tuple(found.values())


def unassigned(fleet: Fleet) -> Iterator[Task]:
    """GPU tasks that no workload runs; where one with hosts elsewhere does, nothing here says whether they fit.

    Args:
        fleet: What was asked for.
    """
    run = {each.task.name for each in fleet.workloads if each.task is not None}
    return (
        each
        for each in tasks_of(fleet)
        if each.name not in run and each.wants_gpu and "FARGATE" not in each.compatibilities
    )


def items_with_tasks(strategy: Sequence[StrategyItem]) -> tuple[StrategyItem, ...]:
    """Items of a strategy that may get tasks: all but those with neither weight nor base beside others that have one.

    Args:
        strategy: Of a workload.
    """
    weighted = any(item.weight != 0 for item in strategy)
    return tuple(item for item in strategy if not weighted or item.weight != 0 or item.base != 0)


def pools_of(fleet: Fleet, workload: Workload) -> tuple[Pool, ...]:
    """Pools on which a workload's tasks may be placed: those of its strategy, or with a launch type its cluster's.

    Args:
        fleet: What was asked for.
        workload: One of it.
    """
    if workload.strategy:
        return tuple({item.pool.name: item.pool for item in workload.strategy if item.pool is not None}.values())
    if workload.launch_type not in EC2_LAUNCH_TYPES or isinstance(workload.cluster, Unknown):
        return ()
    return _by_cluster(fleet).get(workload.cluster, ())


def runs_on_fargate(workload: Workload) -> str | None:
    """The words that send tasks of a workload to Fargate; None if none do.

    Args:
        workload: One of a fleet.
    """
    if workload.launch_type == "FARGATE":
        return "launch type FARGATE"
    named = [item.provider for item in workload.strategy if item.provider in FARGATE_PROVIDERS]
    return f"capacity provider {named[0]}" if named else None


def schedules(scheduler: Scheduler, pool: Pool) -> bool:
    """Whether a scheduler places tasks on a pool: AWS Batch on its own, ECS on all others.

    Args:
        scheduler: Who places.
        pool: One of a fleet.
    """
    return (pool.kind is PoolKind.BATCH) is (scheduler is Scheduler.BATCH)


def carries_gpus(pool: Pool) -> bool:
    """Whether a pool has hosts with NVIDIA GPUs, or a part of one.

    Args:
        pool: One of a fleet.
    """
    devices = (each.accelerators for each in pool.instance_types)
    return any(each is not None and each.vendor is Vendor.NVIDIA for each in devices)


@by_identity(maxsize=4)
def _by_cluster(fleet: Fleet) -> Mapping[str | None, tuple[Pool, ...]]:
    """Pools whose hosts take tasks without a strategy, by the cluster that they join."""
    found: dict[str | None, list[Pool]] = {}
    for pool in fleet.pools:
        if pool.runs_launch_type_ec2 and not isinstance(pool.cluster, Unknown):
            found.setdefault(pool.cluster, []).append(pool)
    return {cluster: tuple(pools) for cluster, pools in found.items()}


def _assignments(fleet: Fleet) -> Iterator[Assignment]:
    for workload in fleet.workloads:
        task = workload.task
        pools = () if task is None else _pools(fleet, workload)
        if task is not None and pools:
            destinations = tuple(_destinations(demand_of(task, workload.constraints), pools))
            yield Assignment(
                workload=workload,
                task=task,
                destinations=destinations,
                in_question=tuple([each for each in destinations if each.fit.answer is not True]),
                every=bool(workload.strategy) and workload.daemon is not True,
                is_closed=bool(workload.strategy) or fleet.is_whole,
            )


def _pools(fleet: Fleet, workload: Workload) -> tuple[tuple[Pool, bool], ...]:
    """The pools that may get tasks of a workload, each with whether it certainly does."""
    if not workload.strategy:
        pools = pools_of(fleet, workload)
        return tuple([(each, fleet.is_whole and len(pools) == 1) for each in pools])
    alone = len(workload.strategy) == 1
    found: dict[str, tuple[Pool, bool]] = {}
    for item in items_with_tasks(workload.strategy):
        if item.pool is not None:
            _, before = found.get(item.pool.name, (item.pool, alone))
            found[item.pool.name] = item.pool, before or known(item.weight) > 0 or known(item.base) > 0
    return tuple(found.values())


def _destinations(demand: Demand, pools: tuple[tuple[Pool, bool], ...]) -> Iterator[Destination]:
    fits: dict[PoolProfile, Fit] = {}
    for pool, is_certain in pools:
        offer = profile_of(pool)
        fit = fits.get(offer)
        if fit is None:
            fit = fits[offer] = fit_demand(demand, offer)
        yield Destination(pool=pool, is_certain=is_certain, fit=fit)
