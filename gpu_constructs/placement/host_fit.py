"""One task on one empty host: everything that stands between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_constructs.errors import shown
from gpu_constructs.fleet import Unknown, known
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.gpu import of_accelerators
from gpu_constructs.placement.host import cpu_units, expected_memory_mib, most_memory_mib
from gpu_constructs.placement.pool_profile import PoolProfile
from gpu_constructs.placement.query import Query, QuerySyntaxError, judge, parse
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

__all__ = ["on_host", "query_reasons"]


def on_host(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Fit:
    """Whether one copy fits on one empty host."""
    reasons = tuple(_reasons(demand, instance_type, offer))
    shortfalls = tuple(each for each in reasons if isinstance(each, Shortfall))
    obstacles = tuple(each for each in reasons if isinstance(each, Obstacle))
    if shortfalls or obstacles:
        return Fit(shortfalls=shortfalls, obstacles=obstacles)
    return Fit(doubts=tuple(each for each in reasons if isinstance(each, Doubt)), hosts=(instance_type,))


def _reasons(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Reason]:
    if demand.unknown:
        yield Doubt(
            kind=DoubtKind.DEPLOY_TIME,
            text=f"{listed(demand.unknown)} of the task {'are' if len(demand.unknown) > 1 else 'is'} only known at "
            "deploy time",
        )
    yield from of_accelerators(demand, instance_type, offer.kind)
    yield from _platform(demand, instance_type, offer)
    if demand.cpu > cpu_units(instance_type):
        yield _short(HostResource.CPU, demand.cpu, cpu_units(instance_type), instance_type)
    yield from _memory(demand.memory_mib, instance_type, offer)
    free = offer.free_interfaces(instance_type)
    if demand.interfaces > free:
        yield _short(HostResource.INTERFACES, demand.interfaces, max(0, free), instance_type)
    yield from query_reasons(demand.expressions, instance_type, offer)


def _platform(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Obstacle]:
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


def _memory(asked_mib: int, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Shortfall | Doubt]:
    most = max(0, most_memory_mib(instance_type, known(offer.reserved_mib)))
    expected = expected_memory_mib(instance_type, offer.may_reserve_mib)
    if asked_mib > most:
        kept = known(offer.reserved_mib)
        # Without it the host would have enough.
        note = f"ECS_RESERVED_MEMORY keeps {kept} MiB" if kept and asked_mib <= instance_type.memory_mib else ""
        yield _short(HostResource.MEMORY, asked_mib, most, instance_type, note)
    elif asked_mib > expected:
        yield Doubt(
            kind=DoubtKind.MEMORY,
            text=f"a {instance_type} of nominally {instance_type.memory_mib} MiB may register as little as {expected} "
            "MiB with ECS, and more is asked for",
            fix=f"ask for no more than {expected} MiB",
        )
    elif asked_mib and isinstance(offer.reserved_mib, Unknown):
        yield Doubt(
            kind=DoubtKind.MEMORY,
            text="ECS_RESERVED_MEMORY is only known at deploy time, so it is not known how much memory tasks have",
            fix="write ECS_RESERVED_MEMORY as a number",
        )


def query_reasons(
    expressions: Iterable[str], instance_type: InstanceType, offer: PoolProfile
) -> Iterator[Obstacle | Doubt]:
    """What stands between a host and the cluster queries that it must satisfy."""
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


def _read(expression: str) -> Query | str:
    try:
        return parse(expression)
    except QuerySyntaxError as error:
        return f"{shown(expression)} is not a cluster query: {error.problem}"


def _short(
    resource: HostResource, asked: int, available: int, instance_type: InstanceType, note: str = ""
) -> Shortfall:
    return Shortfall(resource=resource, asked=asked, available=available, instance_type=instance_type, note=note)
