"""What is on each host of a pool at the desired counts: the packing of the proof, as slots with the tasks in them.

Which of its GPUs a task gets, and on which of the hosts it starts, ECS decides. What is drawn is one way in which all
of it has room, and the one that the numbers of the plan are counted from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from gpu_constructs.fleet import Pool, PoolKind, Unknown, Workload
from gpu_constructs.hardware import Vendor
from gpu_constructs.placement import Assumption, Demand, PoolProof, Proof, cpu_units, demand_of
from gpu_constructs.placement.assumptions import NEURON_TASK, need_of
from gpu_constructs.placement.packed_hosts import Copies, PackedHosts, packed_hosts
from gpu_constructs.placement.packing import Need, Room
from gpu_constructs.placement.proof import Place
from gpu_constructs.planning.fleet_plan import FleetPlan, PoolPlan
from gpu_constructs.values import dataclass


class Devices(Enum):
    """What the slots of a host are."""

    GPU = "GPU"
    GPU_PART = "part of a GPU"
    NEURON = "Neuron device"
    OTHER = "device that ECS does not hand out"


class SlotUse(Enum):
    """What becomes of a slot."""

    HELD = "held"
    SHARED = "shared"
    FREE = "free"
    STRANDED = "stranded"
    DAEMONS = "of daemons"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidTask:
    """A workload of which copies come to a pool.

    Attributes:
        name: Its name.
        copies: Copies that come at most, all of which are on the hosts that are drawn; None where that is not known.
        need: What one copy takes of its host; None where that is not known.
        fits: Whether one copy certainly fits on every host that the pool may launch.
    """

    name: str
    copies: int | None
    need: Need | None
    fits: bool | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One accelerator of a host.

    Attributes:
        use: What becomes of it.
        copies: The copies that it is for; the loads are places in `PoolLayout.tasks`.
        copy: Which of the copies of its task on this host holds it, counted from 1; 0 where it is shared or not held.
        free_mib: What is left of the memory of a GPU that is shared, in MiB.
    """

    use: SlotUse
    copies: tuple[Copies, ...] = ()
    copy: int = 0
    free_mib: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What of a resource is taken on one host.

    Attributes:
        total: What the host has: CPU units, MiB, or network interfaces.
        kept: What is not there for these tasks, in the same unit: daemons, the ECS agent, and what the system may keep.
        parts: What the copies of each task take, in the same unit; the loads are places in `PoolLayout.tasks`.
    """

    total: int
    kept: int
    parts: tuple[Copies, ...]

    @property
    def taken(self) -> int:
        """What the tasks take."""
        return sum(each.number for each in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLayout:
    """Hosts that look the same.

    Attributes:
        hosts: How many.
        slots: The accelerators of each.
        copies: The tasks on each; the loads are places in `PoolLayout.tasks`.
        vcpus: CPU units of each.
        memory: Memory of each in MiB.
        interfaces: Network interfaces for tasks of each; None where no task asks for one.
        lacking: What it has too little of, in words, so that GPUs are stranded.
    """

    hosts: int
    slots: tuple[Slot, ...]
    copies: tuple[Copies, ...]
    vcpus: Bar
    memory: Bar
    interfaces: Bar | None
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLayout:
    """The hosts of one pool.

    Attributes:
        plan: The plan of the pool.
        devices: What the slots are; None for hosts without accelerators, and where types differ in that.
        tasks: The workloads whose copies come to it, daemons not among them.
        daemons: Names of the daemons on every host.
        hosts: Its hosts, empty ones last.
        missing: How many of the hosts that are drawn the pool does not have.
        why_unknown: Why what is on its hosts is not known, in words; empty where it is drawn.
    """

    plan: PoolPlan
    devices: Devices | None
    tasks: tuple[LaidTask, ...]
    daemons: tuple[str, ...]
    hosts: tuple[HostLayout, ...]
    missing: int = 0
    why_unknown: str = ""

    def slots(self, *uses: SlotUse) -> int:
        """How many slots of all hosts have one of these uses."""
        return sum(each.hosts * sum(slot.use in uses for slot in each.slots) for each in self.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """What every host of a pool has.

    Attributes:
        room: What it has for tasks besides daemons.
        devices: What its slots are.
        slots: How many there are.
        cpu: CPU units in all.
        memory_mib: Memory in all.
    """

    room: Room
    devices: Devices | None
    slots: int
    cpu: int
    memory_mib: int


def layouts_of(plan: FleetPlan) -> Iterator[PoolLayout]:
    """The hosts of each pool of a plan, in the order of the plan."""
    tasks, daemons = _comers(plan.proof)
    for each, proof in zip(plan.pools, plan.proof.pools, strict=True):
        name = each.pool.name
        yield _layout(each, proof, tasks.get(name, ()), tuple(daemons.get(name, ())))


@dataclass(frozen=True, slots=True)
class _Comer:
    """A workload that comes to a pool."""

    workload: Workload
    place: Place

    def laid(self, room: Room | None) -> LaidTask:
        """Its row among the tasks of the pool."""
        demand = Demand() if self.workload.task is None else demand_of(self.workload.task, self.workload.constraints)
        takes_of_host = demand.all_gpus or demand.part
        need = None if room is None and takes_of_host else need_of(demand, room or _NO_ROOM, Assumption.WORST)
        return LaidTask(name=self.workload.name, copies=self.place.most, need=need, fits=self.place.fits)


_NO_ROOM = Room(units=(0,) * 5)


def _comers(proof: Proof) -> tuple[Mapping[str, Sequence[_Comer]], Mapping[str, Sequence[str]]]:
    """Workloads that come to each pool, in the order of `PoolProof.workloads`, and the names of its daemons."""
    tasks: dict[str, list[_Comer]] = {}
    daemons: dict[str, list[str]] = {}
    for of in proof.workloads:
        workload = of.workload
        if workload.task is None or isinstance(workload.daemon, Unknown):
            continue
        for place in of.places:
            if place.fits is False:
                continue
            if workload.daemon:
                daemons.setdefault(place.pool.name, []).append(workload.name)
            else:
                tasks.setdefault(place.pool.name, []).append(_Comer(workload, place))
    return tasks, daemons


def _layout(plan: PoolPlan, proof: PoolProof, comers: Sequence[_Comer], daemons: tuple[str, ...]) -> PoolLayout:
    packing, wanted = proof.packing, plan.in_service
    devices, number = _devices(plan.pool)
    why = _why_unknown(plan, proof)
    tasks = tuple(each.laid(proof.room) for each in comers)
    if why or packing is None or proof.room is None or isinstance(wanted, Unknown):
        return PoolLayout(plan=plan, devices=devices, tasks=tasks, daemons=daemons, hosts=(), why_unknown=why)
    types = plan.pool.instance_types
    host = _Host(
        room=proof.room,
        devices=devices,
        slots=number,
        cpu=min(map(cpu_units, types)),
        memory_mib=min(each.memory_mib for each in types),
    )
    needs = [each.need for each in packing.loads]
    found: dict[HostLayout, int] = {}
    for each in packed_hosts(packing):
        drawn = _drawn(host, each, needs, is_stranded=bool(proof.stranded))
        found[drawn] = found.get(drawn, 0) + each.hosts
    if wanted > packing.hosts:
        shared = host.room.shared
        empty = PackedHosts(
            hosts=1, copies=(), free=host.room.units, shared=((),) * len(shared), shared_free=shared, lacking=()
        )
        found[_drawn(host, empty, needs, is_stranded=False)] = wanted - packing.hosts
    return PoolLayout(
        plan=plan,
        devices=devices,
        tasks=tasks,
        daemons=daemons,
        hosts=tuple(replace(each, hosts=hosts) for each, hosts in found.items()),
        missing=max(0, packing.hosts - wanted),
    )


def _devices(pool: Pool) -> tuple[Devices | None, int]:
    """What the slots of a pool's hosts are, and how many the host with the fewest has."""
    found = {each.accelerators for each in pool.instance_types}
    if not found or None in found:
        return None, 0
    kinds = {
        (Devices.GPU_PART if each.is_fractional else Devices.GPU)
        if each.vendor is Vendor.NVIDIA
        else Devices.NEURON
        if each.vendor is Vendor.NEURON
        else Devices.OTHER
        for each in found
        if each is not None
    }
    if len(kinds) > 1:
        return None, 0
    return kinds.pop(), min(each.count or each.logical_count for each in found if each is not None)


def _why_unknown(plan: PoolPlan, proof: PoolProof) -> str:
    """Why what is on the hosts of a pool is not known; empty where it is."""
    reasons = (
        (plan.pool.kind is PoolKind.MANAGED_INSTANCES, "ECS chooses the hosts for the tasks that wait"),
        (proof.room is None, "what its hosts have is not known before the deploy"),
        (not proof.is_packed, "its tasks are too many and too different to be packed"),
        (proof.hosts_at_least is None, "no number of its hosts takes all of its tasks"),
        (proof.packing is None, "how many copies run on it, or what they take, is not known before the deploy"),
        (isinstance(plan.in_service, Unknown), plan.why_no_hosts),
    )
    return next((why for is_so, why in reasons if is_so), "")


def _drawn(host: _Host, found: PackedHosts, needs: Sequence[Need], *, is_stranded: bool) -> HostLayout:
    copies = tuple(sorted(found.copies, key=lambda each: each.load))
    room, lacking = host.room, found.lacking if is_stranded else ()
    has_interfaces = any(each.units[4] for each in needs)
    return HostLayout(
        hosts=1,
        slots=tuple(_slots(host, found, copies, needs, lacking)),
        copies=copies,
        vcpus=_bar(2, host.cpu, room, copies, needs),
        memory=_bar(3, host.memory_mib, room, copies, needs),
        interfaces=_bar(4, room.units[4], room, copies, needs) if has_interfaces else None,
        lacking=lacking,
    )


def _bar(unit: int, total: int, room: Room, copies: Sequence[Copies], needs: Sequence[Need]) -> Bar:
    taken = (Copies(each.load, each.number * needs[each.load].units[unit]) for each in copies)
    return Bar(total=total, kept=max(0, total - room.units[unit]), parts=tuple(each for each in taken if each.number))


def _slots(
    host: _Host, found: PackedHosts, copies: Sequence[Copies], needs: Sequence[Need], lacking: Sequence[str]
) -> Iterator[Slot]:
    if host.devices is Devices.GPU:
        yield from _held(copies, [need.units[0] for need in needs])
        for on_gpu, free_mib in zip(found.shared, found.shared_free, strict=True):
            yield Slot(use=SlotUse.SHARED, copies=on_gpu, free_mib=free_mib)
        left = SlotUse.STRANDED if lacking else SlotUse.FREE
        yield from [Slot(use=left)] * found.free[0]
        yield from [Slot(use=SlotUse.DAEMONS)] * (host.room.gpus - host.room.units[0] - len(host.room.shared))
    elif host.devices is not None:
        holds = {
            Devices.GPU_PART: [int(need.units[1] > 0) for need in needs],
            Devices.NEURON: [host.slots * (NEURON_TASK in need.ports) for need in needs],
        }.get(host.devices, [0] * len(needs))
        held = tuple(_held(copies, holds))
        free = SlotUse.NOT_KNOWN if host.devices is Devices.OTHER else SlotUse.FREE
        yield from held
        yield from [Slot(use=free)] * (host.slots - len(held))


def _held(copies: Sequence[Copies], holds: Sequence[int]) -> Iterator[Slot]:
    """Slots of copies that take so many each."""
    for each in copies:
        if number := holds[each.load]:  # others may have more copies here than anyone could count
            for copy in range(1, each.number + 1):
                yield from [Slot(use=SlotUse.HELD, copies=(Copies(each.load, 1),), copy=copy)] * number
