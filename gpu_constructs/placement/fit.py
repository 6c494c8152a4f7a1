"""One task on one host, and on a pool: whether it fits, and everything that keeps it from it.

What ECS and AWS Batch count is here. What a container needs of its GPUs beside that (memory, precision, NVLink) they
do not see and place without regard to it, so it is no part of this answer; see `gpu_constructs.placement.needs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpu_constructs.errors import shown
from gpu_constructs.fleet import UNKNOWN, PlacementConstraint, Pool, Task, Unknown, known
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.gpu import of_accelerators
from gpu_constructs.placement.host import cpu_units, expected_memory_mib, most_memory_mib
from gpu_constructs.placement.offer import Offer, offer_of
from gpu_constructs.placement.query import Query, QuerySyntaxError, judge, parse
from gpu_constructs.placement.shortfall import (
    Doubt,
    DoubtKind,
    Obstacle,
    ObstacleKind,
    Resource,
    Shortfall,
    listed,
    near_nominal,
)

__all__ = ["Fit", "fit", "fit_on", "held_against", "on_host"]

_SCALED_BY = frozenset({Resource.GPU, Resource.CPU, Resource.MEMORY, Resource.INTERFACES})
"""What managed scaling sorts instance types by: vCPU, memory, ENIs, ports, and GPUs.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html
"""

Reason = Shortfall | Obstacle | Doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether one copy of a task fits, and why not.

    Attributes:
        shortfalls: Resources of which there is certainly too little.
        obstacles: What else certainly excludes it.
        doubts: Why nobody can say; empty where something excludes it.
        hosts: Instance types that nothing excludes. On a pool there may be some though the answer is no, where managed
            scaling looks at a smaller type and launches none of them.
    """

    shortfalls: tuple[Shortfall, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    hosts: tuple[InstanceType, ...] = ()

    @property
    def answer(self) -> bool | Unknown:
        """Whether it fits; unknown where nobody can say, which is never taken for a fit."""
        if self.shortfalls or self.obstacles:
            return False
        return UNKNOWN if self.doubts else True

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that keeps it from a clear yes, in words."""
        return tuple(map(str, (*self.shortfalls, *self.obstacles, *self.doubts)))


def fit_on(
    task: Task, instance_type: InstanceType, pool: Pool, *, constraints: Sequence[PlacementConstraint] = ()
) -> Fit:
    """Whether one copy of a task fits on one empty host of a pool.

    Args:
        task: What is to run.
        instance_type: What the host is.
        pool: What launches it: its agents' settings and its kind count.
        constraints: Placement constraints besides the task's own, such as those of its service.
    """
    return on_host(demand_of(task, constraints), instance_type, offer_of(pool))


def fit(task: Task, pool: Pool, *, constraints: Sequence[PlacementConstraint] = ()) -> Fit:
    """Whether one copy of a task fits on a pool.

    With managed scaling the smallest type decides for each resource, because "if a group of tasks have resource
    requirements that are greater than the smallest instance type in the Auto Scaling group, then that group of tasks
    can't run with this capacity provider"
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html). Where the pool always
    has hosts, one of a larger type may be among them, so that is a doubt. Everywhere else one type that fits is enough.

    Args:
        task: What is to run.
        pool: Where.
        constraints: Placement constraints besides the task's own, such as those of its service.
    """
    return held_against(demand_of(task, constraints), offer_of(pool))


def held_against(demand: Demand, offer: Offer) -> Fit:
    """`fit` of a demand that was taken together before.

    Args:
        demand: What one copy asks for.
        offer: What the pool has.
    """
    return _everywhere(offer) if _is_within_floor(demand, offer) else _looked_at(demand, offer)


@lru_cache(maxsize=1024)
def _everywhere(offer: Offer) -> Fit:
    return Fit(hosts=offer.instance_types)


def _is_within_floor(demand: Demand, offer: Offer) -> bool:
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
def _holds_everywhere(expressions: tuple[str, ...], offer: Offer) -> bool:
    return not any(True for each in offer.instance_types for _ in _constraints(expressions, each, offer))


@lru_cache(maxsize=8192)
def _looked_at(demand: Demand, offer: Offer) -> Fit:
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
    if offer.unknown_types and (decided.answer is not True or offer.smallest_decides is not False):
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


def _smallest_of(each_type: tuple[Fit, ...], offer: Offer) -> Fit:
    """The smallest type decides for each resource, whatever the others have."""
    hosts = _hosts(each_type)
    if not hosts:
        return _excluded(each_type)
    short = _smallest(short for each in each_type for short in each.shortfalls if short.resource in _SCALED_BY)
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
    shortfalls = _smallest(short for each in each_type for short in each.shortfalls)
    return Fit(shortfalls=shortfalls, obstacles=_merged_obstacles(each_type))


def _smallest(shortfalls: Iterable[Shortfall]) -> tuple[Shortfall, ...]:
    """Of each resource the worst shortfall."""
    worst: dict[Resource, Shortfall] = {}
    for short in shortfalls:
        before = worst.get(short.resource)
        if before is None or (short.available or 0) < (before.available or 0):
            worst[short.resource] = short
    return tuple(sorted(worst.values(), key=lambda short: _ORDER[short.resource]))


_ORDER = {resource: place for place, resource in enumerate(Resource)}


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


def on_host(demand: Demand, instance_type: InstanceType, offer: Offer) -> Fit:
    """`fit_on` of a demand that was taken together before.

    Args:
        demand: What one copy asks for.
        instance_type: What the host is.
        offer: What launches it.
    """
    reasons = tuple(_reasons(demand, instance_type, offer))
    shortfalls = tuple(each for each in reasons if isinstance(each, Shortfall))
    obstacles = tuple(each for each in reasons if isinstance(each, Obstacle))
    if shortfalls or obstacles:
        return Fit(shortfalls=shortfalls, obstacles=obstacles)
    return Fit(doubts=tuple(each for each in reasons if isinstance(each, Doubt)), hosts=(instance_type,))


def _reasons(demand: Demand, instance_type: InstanceType, offer: Offer) -> Iterator[Reason]:
    if demand.unknown:
        yield Doubt(
            kind=DoubtKind.DEPLOY_TIME,
            text=f"{listed(demand.unknown)} of the task {'are' if len(demand.unknown) > 1 else 'is'} only known at "
            "deploy time",
        )
    yield from of_accelerators(demand, instance_type, offer.kind)
    yield from _platform(demand, instance_type, offer)
    if demand.cpu > cpu_units(instance_type):
        yield _short(Resource.CPU, demand.cpu, cpu_units(instance_type), instance_type)
    yield from _memory(demand.memory_mib, instance_type, offer)
    free = offer.free_interfaces(instance_type)
    if demand.interfaces > free:
        yield _short(Resource.INTERFACES, demand.interfaces, max(0, free), instance_type)
    yield from _constraints(demand.expressions, instance_type, offer)


def _platform(demand: Demand, instance_type: InstanceType, offer: Offer) -> Iterator[Obstacle]:
    if demand.architecture is not None and demand.architecture is not instance_type.architecture:
        yield Obstacle(
            kind=ObstacleKind.ARCHITECTURE,
            text=f"is {instance_type.architecture}, and the task is built for {demand.architecture}",
            instance_types=(instance_type,),
        )
    if demand.windows and (demand.wants_accelerator or offer.is_linux):
        why = "containers on Windows get no GPU" if demand.wants_accelerator else "the task is for Windows"
        yield Obstacle(
            kind=ObstacleKind.OPERATING_SYSTEM,
            text=f"runs Linux, and {why}" if offer.is_linux else f"cannot run it: {why}",
            instance_types=(instance_type,),
        )


def _memory(asked_mib: int, instance_type: InstanceType, offer: Offer) -> Iterator[Shortfall | Doubt]:
    most = max(0, most_memory_mib(instance_type, known(offer.reserved_mib)))
    expected = expected_memory_mib(instance_type, offer.may_reserve_mib)
    if asked_mib > most:
        yield _short(Resource.MEMORY, asked_mib, most, instance_type)
    elif asked_mib > expected:
        yield Doubt(kind=DoubtKind.MEMORY, text=near_nominal(instance_type, expected))
    elif asked_mib and isinstance(offer.reserved_mib, Unknown):
        yield Doubt(
            kind=DoubtKind.MEMORY,
            text="ECS_RESERVED_MEMORY is only known at deploy time, so nobody can say how much memory tasks have",
        )


def _constraints(expressions: Iterable[str], instance_type: InstanceType, offer: Offer) -> Iterator[Obstacle | Doubt]:
    for expression in expressions:
        query = _read(expression)
        if isinstance(query, str):
            yield Doubt(kind=DoubtKind.CONSTRAINT, text=query)
            continue
        verdict = judge(query, offer.host(instance_type))
        if verdict.holds is False:
            text = f"does not satisfy {shown(expression)}"
            yield Obstacle(kind=ObstacleKind.CONSTRAINT, text=text, instance_types=(instance_type,))
        elif verdict.holds is not True:
            why = "; ".join(verdict.reasons)
            yield Doubt(kind=DoubtKind.CONSTRAINT, text=f"whether {instance_type} satisfies {shown(expression)}: {why}")


@lru_cache(maxsize=2048)
def _read(expression: str) -> Query | str:
    try:
        return parse(expression)
    except QuerySyntaxError as error:
        return f"{shown(expression)} is no cluster query: {error.problem}"


def _short(resource: Resource, asked: int, available: int, instance_type: InstanceType) -> Shortfall:
    return Shortfall(resource=resource, asked=asked, available=available, instance_type=instance_type)
