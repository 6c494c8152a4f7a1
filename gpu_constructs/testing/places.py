"""Where the tasks of a fleet may run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_constructs.fleet import Fleet, Pool, Task, Unknown, Workload
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement import Fit, fit
from gpu_constructs.placement.destinations import assignments, items_with_tasks, schedules

__all__ = ["Place", "Route", "gpu_pools", "gpu_tasks", "instance_types_of", "routes_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A pool that a task may be sent to.

    Attributes:
        pool: The pool.
        fit: Whether the task fits there.
    """

    pool: Pool
    fit: Fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The pools to which one service, or whoever runs the task by hand, sends it.

    Attributes:
        places: Pools that are known.
        every: Whether each of them gets tasks of its own; else one that fits is enough.
        elsewhere: What gets tasks as well and was not read, in words.
    """

    places: tuple[Place, ...]
    every: bool
    elsewhere: tuple[str, ...] = ()

    @property
    def in_question(self) -> tuple[Place, ...]:
        """Places on which tasks may wait for ever."""
        open_ = tuple(each for each in self.places if each.fit.answer is not True)
        return open_ if self.every or len(open_) == len(self.places) else ()


def gpu_tasks(fleet: Fleet) -> tuple[Task, ...]:
    """Tasks that ask for GPUs.

    Args:
        fleet: Everything there is.
    """
    return tuple(task for task in fleet.tasks if task.wants_gpu)


def gpu_pools(fleet: Fleet) -> tuple[Pool, ...]:
    """Pools that may launch a type with accelerators; one whose types are not known is among them.

    Args:
        fleet: Everything there is.
    """
    return tuple(
        pool
        for pool in fleet.pools
        if not pool.types_are_known or any(each.accelerators is not None for each in pool.instance_types)
    )


def routes_of(fleet: Fleet, task: Task) -> tuple[Route, ...]:
    """How a task gets to its hosts: one route for each service, or one to all pools if nothing says where it runs.

    Args:
        fleet: Everything there is.
        task: One of its tasks.
    """
    workloads = fleet.workloads_of(task)
    if not workloads:
        pools = (pool for pool in fleet.pools if schedules(task.scheduler, pool))
        return (Route(places=tuple(Place(pool=pool, fit=fit(task, pool)) for pool in pools), every=False),)
    known = {id(each.workload): each for each in assignments(fleet)}
    routes = []
    for workload in workloads:
        found = known.get(id(workload))
        destinations = () if found is None else found.destinations
        routes.append(
            Route(
                places=tuple(Place(pool=each.pool, fit=each.fit) for each in destinations),
                every=found is not None and found.every,
                elsewhere=_elsewhere(workload),
            )
        )
    return tuple(routes)


def instance_types_of(routes: Iterable[Route]) -> tuple[InstanceType, ...]:
    """Types on which a task may come to run, each once; those that may or may not fit are among them.

    Args:
        routes: How the task gets to its hosts.
    """
    places = (place for route in routes for place in route.places)
    return tuple(dict.fromkeys(host for place in places if place.fit.answer is not False for host in place.fit.hosts))


def _elsewhere(workload: Workload) -> tuple[str, ...]:
    return tuple(
        "a capacity provider" if isinstance(item.provider, Unknown) else f"capacity provider {item.provider}"
        for item in items_with_tasks(workload.strategy)
        if item.pool is None
    )
