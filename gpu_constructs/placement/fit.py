"""One task on a pool: whether it fits on what the pool launches, and everything that keeps it from it.

What ECS and AWS Batch count is here. What else a container needs of its GPUs (memory, precision, NVLink) they
do not see and place without regard to it, so it is not part of this answer; see `gpu_constructs.placement.needs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from gpu_constructs.fleet import PlacementConstraint, Pool, Task, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.host_fit import on_host, query_reasons
from gpu_constructs.placement.pool_profile import PoolProfile, profile_of
from gpu_constructs.placement.reasons import (
    Doubt,
    DoubtKind,
    Fit,
    HostResource,
    Obstacle,
    ObstacleKind,
    Reason,
    Shortfall,
    listed,
)

__all__ = ["fit", "fit_demand", "fit_on", "refusals", "smallest"]

_SCALED_BY = frozenset({HostResource.GPU, HostResource.CPU, HostResource.MEMORY, HostResource.INTERFACES})
"""What managed scaling sorts instance types by: vCPU, memory, ENIs, ports, and GPUs.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html
"""


def fit_on(
    task: Task, instance_type: InstanceType, pool: Pool, *, constraints: Sequence[PlacementConstraint] = ()
) -> Fit:
    """Whether one copy of a task fits on one empty host of a pool."""
    return on_host(demand_of(task, constraints), instance_type, profile_of(pool))


def refusals(task: Task, instance_type: InstanceType, pool: Pool) -> tuple[Shortfall | Obstacle, ...]:
    """What certainly keeps one copy of a task from one empty host of a pool, the memory of its GPUs included."""
    placed = fit_on(task, instance_type, pool)
    asked, has = task.gpu_memory_mib, instance_type.gpu_memory_mib
    short = asked is not None and asked > (has or 0)
    memory = Shortfall(resource=HostResource.GPU_MEMORY, asked=asked or 0, available=has, instance_type=instance_type)
    return (*placed.shortfalls, *([memory] if short else []), *placed.obstacles)


def smallest(shortfalls: Iterable[Shortfall]) -> tuple[Shortfall, ...]:
    """Of each resource the worst shortfall, in the order of the resources."""
    worst: dict[HostResource, Shortfall] = {}
    for short in shortfalls:
        before = worst.get(short.resource)
        if before is None or (short.available or 0) < (before.available or 0):
            worst[short.resource] = short
    return tuple(sorted(worst.values(), key=lambda short: _ORDER[short.resource]))


def fit(task: Task, pool: Pool, *, constraints: Sequence[PlacementConstraint] = ()) -> Fit:
    """Whether one copy of a task fits on a pool.

    With managed scaling the smallest type decides for each resource, because "if a group of tasks have resource
    requirements that are greater than the smallest instance type in the Auto Scaling group, then that group of tasks
    can't run with this capacity provider"
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html). Where the pool always
    has hosts, one of a larger type may be among them, so that is a doubt. Everywhere else one type that fits is enough.
    """
    return fit_demand(demand_of(task, constraints), profile_of(pool))


def fit_demand(demand: Demand, offer: PoolProfile) -> Fit:
    """`fit` of a demand that was taken together before."""
    return _everywhere(offer) if _is_within_floor(demand, offer) else _looked_at(demand, offer)


@lru_cache(maxsize=1024)
def _everywhere(offer: PoolProfile) -> Fit:
    return Fit(hosts=offer.instance_types)


def _is_within_floor(demand: Demand, offer: PoolProfile) -> bool:
    """Whether the task fits on every host for the numbers alone, which most tasks do."""
    floor = offer.floor
    return (
        floor is not None
        and demand.gpus <= floor.gpus
        and demand.memory_mib <= floor.memory_mib
        and demand.cpu <= floor.cpu
        and demand.interfaces <= floor.interfaces
        and (demand.architecture is None or demand.architecture is floor.architecture)
        and demand.has_numbers_only
        and (not demand.expressions or _holds_everywhere(demand.expressions, offer))
    )


@lru_cache(maxsize=4096)
def _holds_everywhere(expressions: tuple[str, ...], offer: PoolProfile) -> bool:
    return not any(True for each in offer.instance_types for _ in query_reasons(expressions, each, offer))


@lru_cache(maxsize=8192)
def _looked_at(demand: Demand, offer: PoolProfile) -> Fit:
    each_type = tuple(on_host(demand, each, offer) for each in offer.instance_types)
    smallest, any_type = _smallest_of(each_type, offer), _any_of(each_type)
    decided = smallest if offer.smallest_decides is True else any_type
    if isinstance(offer.smallest_decides, Unknown) and smallest.answer is not any_type.answer:
        unsure = Doubt(
            kind=DoubtKind.SMALLEST_TYPE,
            text=f"it fits on {listed(any_type.hosts)} only, and whether managed scaling looks at the smallest type is "
            "only known at deploy time",
        )
        decided = Fit(doubts=(unsure, *smallest.doubts), hosts=any_type.hosts)
    if offer.unknown_types and (decided.answer is not True or not decided.hosts or offer.smallest_decides is not False):
        hosts = Doubt(kind=DoubtKind.HOSTS, text=offer.unknown_types)
        return Fit(doubts=(hosts, *decided.doubts), hosts=decided.hosts)
    return decided


def _any_of(each_type: Iterable[Fit]) -> Fit:
    """One type that fits is enough."""
    each_type = tuple(each_type)
    hosts = _hosts(each_type)
    if not hosts:
        return _excluded(each_type)
    sure = any(each.answer is True for each in each_type)
    return Fit(doubts=() if sure else _merged_doubts(each_type), hosts=hosts)


def _smallest_of(each_type: tuple[Fit, ...], offer: PoolProfile) -> Fit:
    """The smallest type decides for each resource, whatever the others have."""
    hosts = _hosts(each_type)
    if not hosts:
        return _excluded(each_type)
    short = smallest(short for each in each_type for short in each.shortfalls if short.resource in _SCALED_BY)
    if short and not offer.may_have_hosts:
        return Fit(shortfalls=short, hosts=hosts)
    doubts = list(_merged_doubts(each_type))
    if short:
        text = f"only {listed(hosts)} can run it, and managed scaling looks at the smallest type ({_joined(short)})"
        doubts.insert(0, Doubt(kind=DoubtKind.SMALLEST_TYPE, text=text))
    elif len(hosts) < len(each_type):
        excluded = _excluded(each for each in each_type if each.answer is False)
        text = (
            f"{_joined((*excluded.shortfalls, *excluded.obstacles))}; managed scaling may look at that type, find that "
            f"the task cannot run on it, and never launch {listed(hosts)}"
        )
        constrained = any(each.kind is ObstacleKind.CONSTRAINT for each in excluded.obstacles)
        kind = DoubtKind.CONSTRAINED_TYPES if constrained else DoubtKind.SOME_TYPES
        doubts.insert(0, Doubt(kind=kind, text=text))
    return Fit(doubts=tuple(doubts), hosts=hosts)


def _hosts(each_type: Iterable[Fit]) -> tuple[InstanceType, ...]:
    return tuple(host for each in each_type for host in each.hosts)


def _excluded(each_type: Iterable[Fit]) -> Fit:
    each_type = tuple(each_type)
    shortfalls = smallest(short for each in each_type for short in each.shortfalls)
    return Fit(shortfalls=shortfalls, obstacles=_merged_obstacles(each_type))


_ORDER = {resource: place for place, resource in enumerate(HostResource)}


def _merged_obstacles(each_type: Iterable[Fit]) -> tuple[Obstacle, ...]:
    types: dict[tuple[ObstacleKind, str], list[InstanceType]] = {}
    for each in each_type:
        for obstacle in each.obstacles:
            types.setdefault((obstacle.kind, obstacle.text), []).extend(obstacle.instance_types)
    return tuple(Obstacle(kind=kind, text=text, instance_types=tuple(of)) for (kind, text), of in types.items())


def _merged_doubts(each_type: Iterable[Fit]) -> tuple[Doubt, ...]:
    """Of each kind the first; types differ in the numbers of a doubt, seldom in the doubt."""
    first: dict[DoubtKind, Doubt] = {}
    for each in each_type:
        for doubt in each.doubts:
            first.setdefault(doubt.kind, doubt)
    return tuple(first.values())


def _joined(reasons: Iterable[Reason]) -> str:
    return "; ".join(map(str, reasons))
