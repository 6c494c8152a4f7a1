"""Where the tasks of a workload go: which pools certainly get some, and which words stand for Fargate."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.fleet import Fleet, Pool, Workload

__all__ = ["FARGATE_PROVIDERS", "Destination", "destinations", "runs_on_fargate"]

FARGATE_PROVIDERS = frozenset({"FARGATE", "FARGATE_SPOT"})
"""Capacity providers that AWS itself defines.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-capacity-providers.html
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A pool that tasks of a workload may be placed on.

    Attributes:
        pool: The pool.
        is_certain: Whether some of the tasks can be placed nowhere else: they were given its capacity provider, or it
            is the only pool there is.
    """

    pool: Pool
    is_certain: bool


def destinations(fleet: Fleet, workload: Workload) -> tuple[Destination, ...]:
    """The pools of a workload, each with whether it certainly gets tasks.

    ECS gives a task to one provider of its strategy, by base and weight, and never moves it to another
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-capacity-providers.html). With a launch type a
    task goes to any host of the cluster, so only the sole pool of a fleet that is known whole is certain.

    Args:
        fleet: What was asked for.
        workload: One of it.
    """
    if workload.strategy:
        alone = len(workload.strategy) == 1
        found: dict[str, Destination] = {}
        for item in workload.strategy:
            if item.pool is None:
                continue
            is_certain = alone or _some(item.weight) or _some(item.base)
            found.setdefault(item.pool.name, Destination(pool=item.pool, is_certain=is_certain))
        return tuple(found.values())
    pools = fleet.pools_of(workload)
    return tuple(Destination(pool=each, is_certain=fleet.is_whole and len(pools) == 1) for each in pools)


def runs_on_fargate(workload: Workload) -> str | None:
    """The word that sends tasks of a workload to Fargate; None if none does.

    Args:
        workload: One of a fleet.
    """
    if workload.launch_type == "FARGATE":
        return "launch type FARGATE"
    named = [item.provider for item in workload.strategy if item.provider in FARGATE_PROVIDERS]
    return f"capacity provider {named[0]}" if named else None


def _some(number: object) -> bool:
    return isinstance(number, int) and number > 0
