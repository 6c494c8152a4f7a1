"""One copy of a task on one host: whether it fits on it empty, on its accelerators, and beside its daemons.

ECS knows NVIDIA GPUs by number, by a part of one, and by memory that containers share; Neuron devices by path, and on
Managed Instances as a resource. Daemons come first:
"Amazon ECS reserves container instance compute resources including CPU, memory, and network interfaces for the daemon
tasks", and they are the first to start
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html).

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html,
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from gpu_constructs.errors import brief, shown
from gpu_constructs.facts import Accelerators, InstanceType, Vendor
from gpu_constructs.facts.drivers import most_gpu_memory_mib
from gpu_constructs.fleet import RESERVED_TCP, TASK_INTERFACES, UNKNOWN, PoolKind, Unknown, known
from gpu_constructs.placement.assumptions import NEURON_TASK, Assumption, need_of, rooms_on
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.packing import Need, Room, copies_per_host
from gpu_constructs.placement.pool_profile import (
    Daemon,
    HostPlace,
    PoolProfile,
    expected_shareable_mib,
    least_memory_mib,
    left_out,
    most_memory_mib,
)
from gpu_constructs.placement.query.ast import Query, conditions
from gpu_constructs.placement.query.evaluate import SUBNET, ZONE, judge
from gpu_constructs.placement.query.parser import QuerySyntaxError, parse
from gpu_constructs.placement.query.subjects import Attribute
from gpu_constructs.placement.reasons import (
    Doubt,
    DoubtKind,
    Fit,
    HostResource,
    Obstacle,
    ObstacleKind,
    Reason,
    Shortfall,
    beside_daemons,
    listed,
)


def on_host(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Fit:
    """Whether one copy fits on one empty host."""
    reasons = tuple(_on_host(demand, instance_type, offer))
    shortfalls = tuple(each for each in reasons if isinstance(each, Shortfall))
    obstacles = tuple(
        Obstacle(each.kind, each.text, (instance_type,)) for each in reasons if isinstance(each, Obstacle)
    )
    if shortfalls or obstacles:
        return Fit(shortfalls=shortfalls, obstacles=obstacles)
    doubts = tuple(each for each in reasons if isinstance(each, Doubt))
    alone = Fit(doubts=doubts, hosts=(instance_type,))
    return fit_beside(demand, instance_type, offer, alone) if offer.daemons else alone


def _on_host(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Reason]:
    if demand.node_type not in {None, instance_type.name}:
        yield Obstacle(ObstacleKind.NODES, f"is no {brief(demand.node_type)}, which the nodes of the job are to be")
        return
    if demand.unknown:
        yield Doubt(
            DoubtKind.DEPLOY_TIME,
            f"{listed(demand.unknown)} of the task {'are' if len(demand.unknown) > 1 else 'is'} only known at "
            "deploy time",
        )
    yield from of_accelerators(demand, instance_type, offer.kind)
    yield from _platform(demand, instance_type, offer)
    cpu = offer.cpu(instance_type, certain=False)
    if demand.cpu > cpu:
        note = "" if offer.vcpus is None else "CpuOptions of its launch template"
        yield Shortfall(HostResource.CPU, demand.cpu, cpu, instance_type, note)
    elif demand.cpu > offer.cpu(instance_type):
        yield Doubt(DoubtKind.HOSTS, "how many vCPUs CpuOptions leave a host is only known at deploy time")
    yield from _memory(demand.memory_mib, instance_type, offer)
    most = offer.free_interfaces(instance_type, certain=False)
    if demand.interfaces > most:
        note = "" if offer.gives_interfaces else f"{TASK_INTERFACES} is off"
        yield Shortfall(HostResource.INTERFACES, demand.interfaces, most, instance_type, note)
    elif demand.interfaces > offer.free_interfaces(instance_type):
        yield Doubt(DoubtKind.HOSTS, f"no source says how many network interfaces {instance_type} takes")
    if demand.interfaces and offer.apart:
        yield Obstacle(ObstacleKind.ZONE, offer.apart)
    yield from _ports(demand, offer)
    for capability, why, is_certain in left_out(demand.capabilities, offer.capability_settings):
        if is_certain:
            yield Obstacle(ObstacleKind.AGENT, f"has an agent without {capability} ({why})")
        else:
            yield Doubt(DoubtKind.AGENT, f"whether a host has an agent with {capability} is not known: {why}")
    yield from query_reasons(demand.expressions, instance_type, offer)


def _ports(demand: Demand, offer: PoolProfile) -> Iterator[Obstacle | Doubt]:
    if isinstance(offer.reserved_ports, Unknown):
        if demand.host_ports:
            text = f"{RESERVED_TCP} is only known at deploy time, so it is not known whether a host has its ports free"
            yield Doubt(DoubtKind.HOSTS, text)
        return
    for number, protocol in sorted(demand.certain_ports & offer.reserved_ports):
        yield Obstacle(ObstacleKind.PORT, f"keeps port {number}/{protocol} from tasks")


def _platform(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Obstacle]:
    if demand.architecture is not None and demand.architecture is not instance_type.architecture:
        text = f"is {instance_type.architecture}, and the task is built for {demand.architecture}"
        yield Obstacle(ObstacleKind.ARCHITECTURE, text)
    if demand.windows and (demand.gets_accelerator or offer.is_linux):
        why = "containers on Windows get no GPU" if demand.gets_accelerator else "the task is for Windows"
        text = f"runs Linux, and {why}" if offer.is_linux else f"cannot run it: {why}"
        yield Obstacle(ObstacleKind.OPERATING_SYSTEM, text)


def _memory(asked_mib: int, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Shortfall | Doubt]:
    most = max(0, most_memory_mib(instance_type, known(offer.reserved_mib)))
    expected = least_memory_mib(instance_type, offer.may_reserve_mib)
    if asked_mib > most:
        kept = known(offer.reserved_mib)
        nominal = max(0, instance_type.memory_mib - kept)
        # Without what the agent keeps the host would have enough.
        notes = [f"ECS_RESERVED_MEMORY keeps {kept} MiB"] if kept and asked_mib <= instance_type.memory_mib else []
        notes += ["firmware and the kernel keep some of it"] if asked_mib == nominal else []
        yield Shortfall(HostResource.MEMORY, asked_mib, nominal, instance_type, ", and ".join(notes))
    elif asked_mib > expected:
        yield Doubt(
            DoubtKind.MEMORY,
            f"a {instance_type} of nominally {instance_type.memory_mib} MiB may register as little as {expected} "
            "MiB with ECS, and more is asked for",
            fix=f"ask for no more than {expected} MiB",
            most_mib=expected,
        )
    elif asked_mib and isinstance(offer.reserved_mib, Unknown):
        yield Doubt(
            DoubtKind.MEMORY,
            "ECS_RESERVED_MEMORY is only known at deploy time, so it is not known how much memory tasks have",
            fix="write ECS_RESERVED_MEMORY as a number",
        )


def query_reasons(
    expressions: Iterable[str], instance_type: InstanceType, offer: PoolProfile
) -> Iterator[Obstacle | Doubt]:
    """What stands between a host and the cluster queries that it must satisfy, wherever it may be."""
    queries = {each: _read(each) for each in expressions}
    yield from (Doubt(DoubtKind.CONSTRAINT, each) for each in queries.values() if isinstance(each, str))
    read = {text: query for text, query in queries.items() if not isinstance(query, str)}
    places = offer.places if any(map(_asked_of_place, read)) else ((),)
    found = [{text: judge(query, offer.host(instance_type, place)) for text, query in read.items()} for place in places]
    is_nowhere = all(any(each.holds is False for each in there.values()) for there in found)
    for text in read:
        verdicts = [there[text] for there in found]
        where = _where(text, places)
        if any(each.holds is False for each in verdicts):
            if is_nowhere:
                yield Obstacle(ObstacleKind.CONSTRAINT, f"does not satisfy {shown(text)}{where}")
            else:
                yield Doubt(DoubtKind.CONSTRAINED_PLACES, f"not every host of it satisfies {shown(text)}{where}")
        elif any(each.holds is not True for each in verdicts):
            why = "; ".join(dict.fromkeys(reason for each in verdicts for reason in each.reasons))
            yield Doubt(DoubtKind.CONSTRAINT, f"whether {instance_type} satisfies {shown(text)}: {why}")


@lru_cache(maxsize=4096)
def _asked_of_place(expression: str) -> tuple[str, ...]:
    """Attributes that an expression asks for and that tell hosts of one pool apart by where they are."""
    query = _read(expression)
    subjects = set() if isinstance(query, str) else {str(each.subject) for each in conditions(query)}
    return tuple([each for each in (ZONE, SUBNET) if str(Attribute(each)) in subjects])


def _where(expression: str, places: Iterable[HostPlace]) -> str:
    """What the attributes of its place are that an expression asks for, in words."""
    values = {
        name: dict.fromkeys(dict(each).get(name, UNKNOWN) for each in places) for name in _asked_of_place(expression)
    }
    return "".join(f", and {name} is {listed(each, 'or')}" for name, each in values.items())


def _read(expression: str) -> Query | str:
    try:
        return parse(expression)
    except QuerySyntaxError as error:
        return f"{shown(expression)} is not a cluster query: {error.problem}"


_EQUAL = 1e-9  # parts are written as decimals


def of_accelerators(
    demand: Demand, instance_type: InstanceType, kind: PoolKind
) -> Iterator[Shortfall | Obstacle | Doubt]:
    """What stands between a task and the accelerators of a host."""
    devices = instance_type.accelerators
    part = devices.partition if devices is not None and devices.vendor is Vendor.NVIDIA and devices.is_fractional else 0
    if demand.gpus:
        yield from _whole_on_part(demand, instance_type, part, kind) if part else _whole(demand, instance_type)
    if demand.part:
        yield from _part(demand.part, instance_type, part)
    if demand.shared_memory_mib is not None and instance_type.gpus:
        yield from _shared(demand.shared_memory_mib, instance_type)
    if demand.neuron or demand.neuron_devices:
        yield from _neuron(demand, instance_type, kind)


def _whole(demand: Demand, instance_type: InstanceType) -> Iterator[Shortfall | Doubt]:
    available = instance_type.gpus
    # One GPU serves one container, so if one takes them all, there is none for another.
    asked = demand.gpus - 1 + available if demand.all_gpus and available else demand.gpus
    if asked > available:
        yield Shortfall(HostResource.GPU, asked, available, instance_type)
    elif asked + demand.summed_gpus > available:
        yield Doubt(
            DoubtKind.ENTRIES,
            f"{instance_type} has {available} GPUs, and whether the entries of one container add up to "
            f"{asked + demand.summed_gpus} is not documented",
        )


def _whole_on_part(
    demand: Demand, instance_type: InstanceType, part: float, kind: PoolKind
) -> Iterator[Obstacle | Doubt]:
    """What keeps a task that asks for whole GPUs off a host with a part of one, or may do so.

    No page refuses one: ecs-init registers a vGPU as any other device (``GetGPUDeviceIDs``, read on 2026-11-30).
    """
    if demand.shared_memory_mib is not None:
        yield Obstacle(ObstacleKind.SHARING, f"has {part:g} of a GPU, and only whole GPUs are shared through MPS")
    elif demand.gpus > 1 and not demand.may_be_part:
        yield Obstacle(ObstacleKind.GPU_PART, f"has {part:g} of a GPU, and {demand.gpus} whole GPUs are asked")
    elif not demand.may_be_part:
        yield Doubt(
            DoubtKind.UNDOCUMENTED,
            f"{instance_type} has {part:g} of a GPU, and AWS does not document whether a task that asks for "
            f"{'ALL' if demand.all_gpus else 'a whole GPU'} starts there",
            fix="hosts with whole GPUs" if kind is PoolKind.BATCH else f"ask for {part:g}",
        )


def _part(asked: float, instance_type: InstanceType, part: float) -> Iterator[Obstacle | Doubt]:
    if not part:
        has = "whole GPUs" if instance_type.gpus else "no GPU"
        yield Obstacle(
            ObstacleKind.GPU_PART,
            f"has {has}, and {asked:g} of one is placed on fractional hosts only (G6f, Gr6f)",
        )
    elif asked > part + _EQUAL:
        yield Obstacle(ObstacleKind.GPU_PART, f"has {part:g} of a GPU, and {asked:g} of one is asked")
    elif asked < part - _EQUAL:
        yield Doubt(
            DoubtKind.UNDOCUMENTED,
            f"{instance_type} has {part:g} of a GPU, and whether it takes a task that asks for less, here "
            f"{asked:g}, is not documented",
            fix=f"ask for {part:g}",
        )


def _shared(asked_mib: int, instance_type: InstanceType) -> Iterator[Shortfall | Doubt]:
    memory = instance_type.gpu_memory_mib
    if memory is None:
        yield Doubt(DoubtKind.HOSTS, f"no source says how much memory a GPU of {instance_type} has to share")
    elif asked_mib > (most_gpu_memory_mib(instance_type) or memory):
        yield Shortfall(HostResource.SHARED_GPU_MEMORY, asked_mib, memory, instance_type)
    elif asked_mib > (least := expected_shareable_mib(memory)):
        yield Doubt(
            DoubtKind.MEMORY,
            f"a GPU of {instance_type} with nominally {memory} MiB may have less to share through MPS, and "
            f"{asked_mib} MiB are asked",
            fix=f"ask for no more than {least} MiB",
        )


def _neuron(demand: Demand, instance_type: InstanceType, kind: PoolKind) -> Iterator[Obstacle | Shortfall]:
    devices: Accelerators | None = instance_type.accelerators
    chips = devices.count if devices is not None and devices.vendor is Vendor.NEURON else 0
    if not chips:
        yield Obstacle(ObstacleKind.NEURON, "has no Neuron device")
    if demand.neuron and kind is not PoolKind.MANAGED_INSTANCES:
        text = "is not of ECS Managed Instances, which alone have the resource NeuronDevice"
        yield Obstacle(ObstacleKind.LAUNCHER, text)
    if chips and demand.neuron_devices > chips:
        yield Shortfall(HostResource.NEURON_DEVICES, demand.neuron_devices, chips, instance_type)


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
        return Doubt(DoubtKind.MEMORY, text, fix=f"ask for no more than {most} MiB", most_mib=most)
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
            yield Shortfall(resource, need.units[unit], left.units[unit], instance_type, beside=names)


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
    return Obstacle(ObstacleKind.DAEMONS, text, (instance_type,))
