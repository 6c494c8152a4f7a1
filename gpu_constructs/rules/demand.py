"""Who certainly needs a pool to hand out GPUs; what is only possible never makes an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_constructs.fleet import Fleet, Workload, known

__all__ = ["gpu_demand"]


def gpu_demand(fleet: Fleet) -> Mapping[str, tuple[Workload, ...]]:
    """Workloads with a GPU task of which copies certainly go to a pool, by the name of the pool.

    A daemon runs wherever it can, so it is none of them; nor is a workload that may find its hosts elsewhere.

    Args:
        fleet: What was asked for.
    """
    found: dict[str, list[Workload]] = {}
    for workload in fleet.workloads:
        if workload.task is not None and _runs(workload) and workload.task.wants_gpu:
            for name in dict.fromkeys(_pools(fleet, workload)):
                found.setdefault(name, []).append(workload)
    return {name: tuple(workloads) for name, workloads in found.items()}


def _runs(workload: Workload) -> bool:
    return workload.daemon is False and (workload.desired_count != 0 or workload.max_count is not None)


def _pools(fleet: Fleet, workload: Workload) -> Iterator[str]:
    for item in workload.strategy:
        taken = len(workload.strategy) == 1 or known(item.weight) > 0 or known(item.base) > 0
        if item.pool is not None and taken:
            yield item.pool.name
    # With a launch type ECS takes any host of the cluster, and hosts of other stacks may have joined it.
    if not workload.strategy and fleet.is_whole:
        pools = fleet.pools_of(workload)
        if len(pools) == 1:
            yield pools[0].name
