"""Two assumptions about what is not known before the deploy: the worst case and the best case.

They differ in values that are tokens, in memory near a host's nominal size, and in the types that a group launches. A
task that has room in the worst case has room. One that has no room in the best case has none. Between the two the
answer is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import zip_longest

from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.drivers import most_gpu_memory_mib
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import Pool, Unknown, known
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.packing import Need, Room, room_beside
from gpu_constructs.placement.pool_profile import (
    PoolProfile,
    expected_shareable_mib,
    least_memory_mib,
    most_memory_mib,
)

_BILLION = 1_000_000_000
_PLENTY = 1 << 40  # more of anything than a host has
_ANY_HOST = Room(units=(_PLENTY,) * 5, gpu_memory_mib=_PLENTY)

NEURON_TASK = (0, "neuron")
"""Stands for devices that no two tasks of one host can have, as a port does; no port has the number 0."""


class Assumption(Enum):
    """Which of the two cases is meant."""

    WORST = "certain"
    BEST = "possible"


def hosts_of(pool: Pool, assumption: Assumption) -> int | None:
    """Hosts that a pool may have for tasks that ask for them.

    Without managed scaling only `Pool.min_instances` are certain. None stands for any number.
    """
    most = pool.hosts_at_most
    if assumption is Assumption.BEST:
        return None if isinstance(most, Unknown) else max(0, most)
    if pool.is_scaled_by_ecs and not isinstance(most, Unknown):
        return max(0, most)
    return max(0, known(pool.min_instances))


def need_of(demand: Demand, room: Room, assumption: Assumption) -> Need | None:
    """What one copy of a task takes of a host, of which ``ALL`` takes what it has; None where nothing is certain."""
    if demand.all_gpus or demand.part:
        return _need(demand, room, assumption)
    certain, possible = _needs_anywhere(demand)
    return certain if assumption is Assumption.WORST else possible


@by_identity(maxsize=1 << 16)
def _needs_anywhere(demand: Demand) -> tuple[Need | None, Need | None]:
    """Both readings of a demand that does not depend on the host."""
    return _need(demand, _ANY_HOST, Assumption.WORST), _need(demand, _ANY_HOST, Assumption.BEST)


def _need(demand: Demand, room: Room, assumption: Assumption) -> Need | None:
    certain = assumption is Assumption.WORST
    if certain and demand.unknown:
        return None
    gpus = demand.gpus + (demand.summed_gpus if certain else 0)
    whole, part, shared = gpus, int(demand.part * _BILLION), 0
    if demand.all_gpus:
        whole, part = _all_of(room, gpus, part)
    elif demand.shared_memory_mib is not None:
        # Its containers share one GPU, which `Demand.gpus` counts as one more than the whole ones.
        whole, shared = gpus - 1, max(1, demand.shared_memory_mib)
        if whole:  # the API refuses a task with both
            whole, shared = whole + int(certain), 0
    if part and certain:
        part = max(part, room.units[1])  # whether two tasks share one part is written nowhere
    interfaces = int(certain) if demand.is_network_unknown else demand.interfaces
    ports = demand.host_ports if certain else demand.certain_ports
    if demand.neuron or (certain and demand.neuron_devices):
        ports |= {NEURON_TASK}
    # The API refuses negative numbers; here they take nothing.
    units = (max(0, whole), max(0, part), max(0, demand.cpu), max(0, demand.memory_mib), interfaces)
    return Need(units=units, shared_mib=shared, ports=ports)


def _all_of(room: Room, gpus: int, part: int) -> tuple[int, int]:
    """Every GPU of the host, and those of other containers on top: one GPU is associated with one container only."""
    if not room.gpus and room.units[1] and gpus == 1:  # what ALL is on a host with a part of a GPU is not written
        return 0, max(part, room.units[1])
    return gpus - 1 + max(1, room.gpus), part


@by_identity(maxsize=1 << 16)
def rooms_of(offer: PoolProfile) -> tuple[Room | None, Room]:
    """What each host has for tasks in the worst case, None where nothing about it is certain, and in the best case.

    Of several types the worst case takes the least of each, because any of them may come, and the best case the most.
    What its daemons take is not there for others.
    """
    if offer.unknown_types:
        return None, _ANY_HOST
    if not offer.daemons:
        return _rooms(offer, offer.instance_types)
    worst, best = zip(*[rooms_on(offer, each) for each in offer.instance_types], strict=True)
    certain = [each for each in worst if each is not None]
    return _one_for(certain, min) if len(certain) == len(worst) else None, _one_for(best, max)


def rooms_on(offer: PoolProfile, instance_type: InstanceType) -> tuple[Room | None, Room]:
    """The same of the hosts of one type.

    Which daemons start where not all of them have room is written nowhere: one of those that certainly run where they
    are alone, or what comes before it.
    """
    worst, best = _rooms(offer, (instance_type,))
    with_all = worst
    name = instance_type.name
    for daemon in offer.daemons:
        if worst is not None and name not in daemon.hardly_on:
            worst = _beside(worst, daemon.demand, Assumption.WORST)
        if with_all is not None and name not in daemon.never_on:
            with_all = _beside(with_all, daemon.demand, Assumption.WORST)
    if not any(name in each.runs_on for each in offer.daemons):
        return worst, best
    if with_all is None:
        first = [each.demand for each in offer.daemons if name not in each.never_on]
        return worst, _one_for([_beside(best, each, Assumption.BEST) or best for each in first], max)
    for daemon in offer.daemons:
        if name in daemon.runs_on:
            best = _beside(best, daemon.demand, Assumption.BEST) or best
    return worst, best


def _beside(room: Room, demand: Demand | None, assumption: Assumption) -> Room | None:
    need = None if demand is None else need_of(demand, room, assumption)
    return None if need is None else room_beside(room, need)


def _one_for(rooms: Sequence[Room], pick: Callable[..., int]) -> Room:
    """A room with the least or the most of each that hosts have; ``ALL`` asks for its GPUs and those of daemons."""
    of_daemons = [each.gpus - each.units[0] for each in rooms]
    units = tuple(map(pick, zip(*[each.units for each in rooms], strict=True)))
    shared = zip_longest(*[sorted(each.shared, reverse=True) for each in rooms], fillvalue=0)
    ports = [each.ports for each in rooms]
    return Room(
        units=units,
        gpu_memory_mib=pick(each.gpu_memory_mib for each in rooms),
        gpus=units[0] + (max(of_daemons) if pick is min else min(of_daemons)),
        ports=frozenset.union(*ports) if pick is min else frozenset.intersection(*ports),
        shared=tuple(map(pick, shared)),
    )


def _rooms(offer: PoolProfile, types: Sequence[InstanceType]) -> tuple[Room | None, Room]:
    """Both without daemons."""
    is_certain = not isinstance(offer.reserved_mib, Unknown)
    return _room(offer, types, Assumption.WORST) if is_certain else None, _room(offer, types, Assumption.BEST)


def _room(offer: PoolProfile, types: Sequence[InstanceType], assumption: Assumption) -> Room:
    certain = assumption is Assumption.WORST
    pick: Callable[[Iterable[int]], int] = min if certain else max
    reserved = known(offer.reserved_mib)
    memory = (
        least_memory_mib(each, offer.may_reserve_mib) if certain else most_memory_mib(each, reserved) for each in types
    )
    # No page says whether a host with a part of a GPU takes a task that asks for a whole one.
    gpus = pick(max(each.gpus, int(not certain and _part(each) > 0)) for each in types)
    return Room(
        units=(
            gpus,
            pick(map(_part, types)),
            pick(offer.cpu(each, certain=certain) for each in types),
            max(0, pick(memory)),
            pick(offer.free_interfaces(each, certain=certain) for each in types),
        ),
        gpu_memory_mib=pick(_shareable_mib(each, certain=certain) for each in types),
        gpus=gpus,
        ports=offer.may_reserve_ports if certain else frozenset(),
    )


def _part(instance_type: InstanceType) -> int:
    devices = instance_type.accelerators
    if devices is None or not devices.is_fractional:
        return 0
    return int(devices.partition * _BILLION) * devices.logical_count


def _shareable_mib(instance_type: InstanceType, *, certain: bool) -> int:
    """Memory of one GPU that containers can share; a part of a GPU cannot be shared."""
    if not instance_type.gpus or instance_type.is_fractional:
        return 0
    if instance_type.gpu_memory_mib is None:
        return 0 if certain else _PLENTY
    memory = instance_type.gpu_memory_mib
    return expected_shareable_mib(memory) if certain else most_gpu_memory_mib(instance_type) or memory
