"""Where the tasks of a workload may go: to the pools of its strategy, to those of its cluster, or to Fargate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.fleet import Fleet, Pool, StrategyItem, Unknown, Workload
from gpu_constructs.placement.identity import by_identity

__all__ = ["EC2_LAUNCH_TYPES", "FARGATE_PROVIDERS", "items_with_tasks", "pools_of"]

FARGATE_PROVIDERS = frozenset({"FARGATE", "FARGATE_SPOT"})
"""Capacity providers that AWS itself defines.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-capacity-providers.html
"""

EC2_LAUNCH_TYPES = frozenset({None, "EC2"})
"""Launch types, as written, with which a task goes to hosts of its cluster; EC2 is what stands for none."""


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


@by_identity(maxsize=4)
def _by_cluster(fleet: Fleet) -> Mapping[str | None, tuple[Pool, ...]]:
    """Pools whose hosts take tasks without a strategy, by the cluster that they join."""
    found: dict[str | None, list[Pool]] = {}
    for pool in fleet.pools:
        if pool.runs_launch_type_ec2 and not isinstance(pool.cluster, Unknown):
            found.setdefault(pool.cluster, []).append(pool)
    return {cluster: tuple(pools) for cluster, pools in found.items()}
