"""Which pools a workload reaches, and a task that somebody runs by hand."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.budget import work
from gpu_constructs.fleet import Fleet, Pool, PoolKind, Scheduler, Task, Unknown, Workload
from gpu_constructs.placement.memo import by_identity
from gpu_constructs.placement.strategy import items_with_tasks

STEPS_OF_PAIR = 25
"""To hold a workload against a pool, as measured."""

EC2_LAUNCH_TYPES = frozenset({None, "EC2"})
"""Launch types, as written, with which a task goes to hosts of its cluster; EC2 is what stands for none."""


@by_identity(maxsize=4)
def tasks_of(fleet: Fleet) -> tuple[Task, ...]:
    """Every task once, those that only a workload names among them."""
    found = {each.name: each for each in fleet.tasks}
    for workload in fleet.workloads:
        if workload.task is not None:
            found.setdefault(workload.task.name, workload.task)
    return tuple(found.values())


@by_identity(maxsize=4)
def run_by_none(fleet: Fleet) -> tuple[Task, ...]:
    """Tasks that no workload runs, of a job that is submitted with other sizes each of these."""
    run = {each.task.name for each in fleet.workloads if each.task is not None}
    left = [each for each in tasks_of(fleet) if each.name not in run]
    return tuple([each for task in left for each in task.submissions or (task,)])


@by_identity(maxsize=4)
def unjudged(fleet: Fleet) -> Mapping[int, Workload | Task]:
    """Workloads, and tasks that none runs, that are not compared with pools, by their id: there is no work left.

    Whether they fit is unknown. Of what is left each takes as much as it has pools.
    """
    found: dict[int, Workload | Task] = {}
    left = work()
    things: tuple[Workload | Task, ...] = (*fleet.workloads, *run_by_none(fleet))
    for each in things:
        pools = pools_by_hand(fleet, each) if isinstance(each, Task) else each.strategy or pools_of(fleet, each)
        if not left.takes(STEPS_OF_PAIR * len(pools)):
            found[id(each)] = each
    return found


def pools_of(fleet: Fleet, workload: Workload) -> tuple[Pool, ...]:
    """Pools on which a workload's tasks may be placed: those of its strategy, or with a launch type its cluster's."""
    if workload.strategy:
        items = items_with_tasks(workload.strategy)
        return tuple({item.pool.name: item.pool for item in items if item.pool is not None}.values())
    if workload.launch_type not in EC2_LAUNCH_TYPES or isinstance(workload.cluster, Unknown):
        return ()
    found = _by_cluster(fleet).get(workload.cluster, ())
    # Every region of an account has a default cluster.
    return found if workload.cluster is not None else tuple([each for each in found if _may_meet(each, workload)])


def _may_meet(pool: Pool, workload: Workload) -> bool:
    """Whether both may be in one place."""
    here, there = pool.origin, workload.origin
    return here is None or there is None or here.place.may_be(there.place)


def pools_by_hand(fleet: Fleet, task: Task) -> tuple[Pool, ...]:
    """Pools on which the scheduler of a task that no workload runs may place it.

    AWS Batch places jobs on its compute environments, where it is known on those of their queue, ECS its tasks on all
    other hosts.
    """
    pools = _by_scheduler(fleet)[task.scheduler]
    return pools if task.environments is None else tuple([each for each in pools if each.name in task.environments])


@by_identity(maxsize=4)
def _by_scheduler(fleet: Fleet) -> Mapping[Scheduler, tuple[Pool, ...]]:
    of_batch = tuple([each for each in fleet.pools if each.kind is PoolKind.BATCH])
    others = tuple([each for each in fleet.pools if each.kind is not PoolKind.BATCH])
    return {Scheduler.BATCH: of_batch, Scheduler.ECS: others}


@by_identity(maxsize=4)
def _by_cluster(fleet: Fleet) -> Mapping[str | None, tuple[Pool, ...]]:
    """Pools whose hosts take tasks without a strategy, by the cluster that they join."""
    found: dict[str | None, list[Pool]] = {}
    for pool in fleet.pools:
        if pool.runs_launch_type_ec2 and not isinstance(pool.cluster, Unknown):
            found.setdefault(pool.cluster, []).append(pool)
    return {cluster: tuple(pools) for cluster, pools in found.items()}
