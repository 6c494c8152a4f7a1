"""What the daemons of a host leave for one copy of a task.

"Amazon ECS reserves container instance compute resources including CPU, memory, and network interfaces for the daemon
tasks", and they are the first to start
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.assumptions import NEURON_TASK, Assumption, need_of, rooms_on
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.packing import Need, Room, copies_per_host
from gpu_constructs.placement.pool_profile import Daemon, PoolProfile
from gpu_constructs.placement.reasons import (
    Doubt,
    DoubtKind,
    Fit,
    HostResource,
    Obstacle,
    ObstacleKind,
    Shortfall,
    beside_daemons,
    listed,
)

_UNITS = {0: HostResource.GPU, 2: HostResource.CPU, 3: HostResource.MEMORY, 4: HostResource.INTERFACES}
"""What a host is short of, by its place in `Room.units`."""
_MEMORY = 3


def fit_beside(demand: Demand, instance_type: InstanceType, offer: PoolProfile, alone: Fit) -> Fit:
    """Whether a copy that fits on an empty host fits on it beside its daemons."""
    worst, best = rooms_on(offer, instance_type)
    need = need_of(demand, best, Assumption.BEST)
    if need is not None and not copies_per_host(need, best):
        there = [each for each in offer.daemons if instance_type.name in each.runs_on]
        short = tuple(_short_beside(need, best, instance_type, there))
        return Fit(shortfalls=short, obstacles=() if short else (_taken(need, best, instance_type, there),))
    certain = None if worst is None else need_of(demand, worst, Assumption.WORST)
    if alone.doubts or (worst is not None and certain is not None and copies_per_host(certain, worst)):
        return alone
    return Fit(doubts=(_doubt_beside(certain, worst, instance_type, offer),), hosts=alone.hosts)


def _doubt_beside(need: Need | None, left: Room | None, instance_type: InstanceType, offer: PoolProfile) -> Doubt:
    daemons = [each for each in offer.daemons if instance_type.name not in each.hardly_on]
    names = beside_daemons([each.name for each in daemons])
    if need is not None and left is not None and need.units[_MEMORY] > left.units[_MEMORY]:
        most = left.units[_MEMORY]
        text = f"a {instance_type} may have as little as {most} MiB{names}, and more is asked for"
        return Doubt(kind=DoubtKind.MEMORY, text=text, fix=f"ask for no more than {most} MiB", most_mib=most)
    is_known = not any(each.demand is None or each.demand.unknown for each in daemons)
    return Doubt(
        kind=DoubtKind.DAEMONS if is_known else DoubtKind.DEPLOY_TIME,
        text=f"a {instance_type} may have too little left{names}"
        + ("" if is_known else ", and what they ask for is only known at deploy time"),
    )


def _short_beside(
    need: Need, left: Room, instance_type: InstanceType, daemons: Sequence[Daemon]
) -> Iterator[Shortfall]:
    for unit, resource in _UNITS.items():
        if need.units[unit] > left.units[unit]:
            names = tuple(each.name for each in daemons if _takes(each, unit, left))
            yield Shortfall(
                resource=resource,
                asked=need.units[unit],
                available=left.units[unit],
                instance_type=instance_type,
                beside=names,
            )


def _takes(daemon: Daemon, unit: int, room: Room) -> bool:
    need = None if daemon.demand is None else need_of(daemon.demand, room, Assumption.BEST)
    return need is not None and bool(need.units[unit] or (need.shared_mib and not unit))


def _taken(need: Need, left: Room, instance_type: InstanceType, daemons: Sequence[Daemon]) -> Obstacle:
    """What no amount of anything else makes up for."""
    taken = need.ports & left.ports
    holders = [each for each in daemons if each.demand is not None and each.demand.certain_ports & taken]
    ports = [f"{number}/{protocol}" for number, protocol in sorted(taken - {NEURON_TASK})]
    what = f"host port {listed(ports, 'or')}" if ports else "Neuron device" if taken else "GPU"
    text = f"has no {what} left{beside_daemons([each.name for each in holders or daemons])}"
    return Obstacle.of(instance_type, ObstacleKind.DAEMONS, text)
