"""How many hosts of one kind some tasks need together: first fit, the largest first.

Hosts that are in the same state are one group, so that a thousand copies of one task take as long as one. A packing
that was found is a proof that there is room; one that was not found is none that there is not, see `proof`.

What a host has and when a task may be placed on it:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from operator import itemgetter
from typing import TypeAlias

from gpu_constructs.facts.values import dataclass, grouped

Units: TypeAlias = tuple[int, ...]

_FEW = 500  # different tasks for which other orders are tried
MANY = 1 << 60  # copies of a task that asks for nothing that a host could run out of
UNITS = ("GPUs", "parts of a GPU", "CPU", "memory", "network interfaces")
"""What a host has of each, in the words of a message, in the order of `Room.units`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one host has for tasks.

    Attributes:
        units: Whole GPUs, parts of a GPU in billionths, CPU units, memory in MiB, network interfaces.
        gpu_memory_mib: Memory of each whole GPU that containers can share through MPS.
        gpus: Whole GPUs that it has in all, those of daemons among them.
        ports: Ports of the host that are taken.
        shared: What daemons leave of the memory of each GPU that they share.
    """

    units: Units
    gpu_memory_mib: int = 0
    gpus: int = 0
    ports: frozenset[tuple[int, str]] = frozenset()
    shared: Units = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one copy of a task takes of its host.

    Attributes:
        units: In the order of `Room.units`.
        shared_mib: Memory of one GPU in sharing mode, which other tasks may share; 0 if none.
        ports: Ports of the host; no two tasks on one host have the same.
        asked: Place and amount of the units that it asks for at all.
    """

    units: Units
    shared_mib: int = 0
    ports: frozenset[tuple[int, str]] = frozenset()
    asked: tuple[tuple[int, int], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Asked for so often that it is worked out once.
        asked = tuple([(index, amount) for index, amount in enumerate(self.units) if amount])
        object.__setattr__(self, "asked", asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Copies of one task that go to these hosts; no two `distinct` ones may be on one host."""

    need: Need
    copies: int
    distinct: bool = False

    @property
    def most(self) -> int:
        """Copies on one host at most, whatever it has."""
        return 1 if self.distinct else MANY


@dataclass(slots=True)
class HostGroup:
    """Hosts in the same state.

    Attributes:
        free: What is left of each, in the order of `Room.units`.
        shared: What is left of the memory of each GPU in sharing mode.
        taken: What is on each, in the order in which it came, with the copies on one host.
    """

    hosts: int
    free: Units
    shared: tuple[int, ...] = ()
    ports: frozenset[tuple[int, str]] = frozenset()
    taken: tuple[tuple[Load, int], ...] = ()


@dataclass(slots=True)
class Packing:
    """Hosts with tasks on them; `place` puts more on them.

    Attributes:
        most_hosts: Hosts that there may be; None for as many as it takes.
        loads: What was to be placed by `pack`.
        placed: Copies that were placed, for each of them.
        hosts: Hosts with a task on them.
        groups: These, by their state, in the order of first fit.
    """

    room: Room
    most_hosts: int | None = None
    loads: Sequence[Load] = ()
    placed: list[int] = field(default_factory=list)
    hosts: int = 0
    groups: list[HostGroup] = field(default_factory=list)

    def place(self, load: Load) -> int:
        """Puts copies on the first hosts that take them; how many were placed."""
        asked, left, index, groups = load.need.asked, load.copies, 0, self.groups
        # Most hosts of a large pool lack the scarcest unit: they are passed over without a call.
        unit, amount = max(asked, key=lambda each: each[1] / (self.room.units[each[0]] or 1), default=(0, 0))
        while left and index < len(groups):
            group, step = groups[index], 1
            if group.free[unit] >= amount and (most := _most(group, load.need, asked, self.room, load.most)):
                after, left = _filled(group, load, most, left, self.room)
                groups[index : index + 1] = after
                step = len(after)
            index += step
        if left:
            left = self._open(load, left)
        return load.copies - left

    def _open(self, load: Load, left: int) -> int:
        may_open = MANY if self.most_hosts is None else self.most_hosts - self.hosts
        if may_open <= 0:
            return left
        empty = _empty(self.room)
        most = _most(empty, load.need, load.need.asked, self.room, load.most)
        if not most:
            return left
        empty.hosts = min(-(-left // most), may_open)
        self.hosts += empty.hosts
        opened, left = _filled(empty, load, most, left, self.room)
        self.groups += opened
        return left


def pack(loads: Sequence[Load], room: Room, *, most_hosts: int | None = None) -> Packing:
    """Packs copies of tasks onto hosts that are alike: first fit, the copies with the largest share of a host first.

    What is largest depends on what counts. Where one order does not place everything, others are tried, but for so many
    different tasks that the order hardly matters. Tasks that are alike are packed as one.
    """
    # Copies that may not be on one host stay apart from those of other loads.
    kinds = [*grouped((at if load.distinct else load.need, at) for at, load in enumerate(loads)).values()]
    merged = [replace(loads[of[0]], copies=sum([loads[index].copies for index in of])) for of in kinds]
    copies = sum([load.copies for load in merged])
    shares = [_shares(load.need, room) for load in merged]
    best: Packing | None = None
    for size in _SIZES if len(merged) <= _FEW else _SIZES[:1]:
        packing = Packing(room=room, most_hosts=most_hosts, loads=loads, placed=[0] * len(merged))
        for index in sorted(range(len(merged)), key=[size(each) for each in shares].__getitem__, reverse=True):
            packing.placed[index] = packing.place(merged[index])
        if best is None or sum(packing.placed) > sum(best.placed):
            best = packing
        if sum(packing.placed) == copies or most_hosts is None:
            break
    assert best is not None  # noqa: S101 - there are sizes
    best.placed = _dealt_out(best.placed, kinds, loads)
    return best


def _dealt_out(placed: Sequence[int], kinds: Sequence[Sequence[int]], loads: Sequence[Load]) -> list[int]:
    """What was placed of each kind, given to its loads in their order."""
    dealt = [0] * len(loads)
    for of_kind, of in zip(placed, kinds, strict=True):
        left = of_kind
        for index in of:
            dealt[index] = min(left, loads[index].copies)
            left -= dealt[index]
    return dealt


def copies_per_host(need: Need, room: Room, most: int = MANY) -> int:
    """How many copies of a task one host without others takes, `most` at most."""
    return _most(_empty(room), need, need.asked, room, most)


def more_copies(need: Need, packing: Packing, most_hosts: int) -> int:
    """How many copies of a task hosts take besides those that are packed on them, all that there may be of them."""
    empty = HostGroup(max(0, most_hosts - packing.hosts), packing.room.units, (), packing.room.ports)
    return sum(each.hosts * _most(each, need, need.asked, packing.room) for each in (*packing.groups, empty))


def more_fit(need: Need, group: HostGroup, room: Room) -> bool:
    """Whether a host with tasks on it takes another."""
    return _most(group, need, need.asked, room) > 0


def room_beside(room: Room, need: Need) -> Room | None:
    """What a host has left after one copy of a task; None if it does not take that."""
    if not copies_per_host(need, room):
        return None
    left = _taken(_empty(room), Load(need=need, copies=1), 1, 1, room)
    return replace(room, units=left.free, ports=left.ports, shared=left.shared)


def _shares(need: Need, room: Room) -> list[float]:
    """The part of a host that one copy takes of everything that hosts have."""
    shares = [asked / (available or 1) for asked, available in zip(need.units, room.units, strict=True)]
    if need.shared_mib:
        shares.append(need.shared_mib / max(1, room.units[0] * room.gpu_memory_mib))
    return shares


_SIZES: tuple[Callable[[list[float]], float], ...] = (
    max,
    sum,
    lambda shares: sum(share * share for share in shares),
    *(itemgetter(index) for index in (0, 2, 3)),
)
"""What makes a task large: the share that is largest, all of them together, GPUs, CPU, or memory."""


def _empty(room: Room) -> HostGroup:
    return HostGroup(1, room.units, room.shared, room.ports)


def _most(group: HostGroup, need: Need, asked: Iterable[tuple[int, int]], room: Room, most: int = MANY) -> int:
    """How many copies a host in this state takes, `most` at most."""
    free = group.free
    for index, amount in asked:
        fits = free[index] // amount
        if fits < most:
            if fits <= 0:
                return 0
            most = fits
    if need.ports:
        if need.ports & group.ports:
            return 0
        most = 1
    if need.shared_mib:
        shared = sum(left // need.shared_mib for left in group.shared)
        most = min(most, shared + free[0] * (room.gpu_memory_mib // need.shared_mib))
    return most


def _filled(group: HostGroup, load: Load, most: int, left: int, room: Room) -> tuple[list[HostGroup], int]:
    """What becomes of a group of which each host takes so many copies, and how many copies are left."""
    full = min(left // most, group.hosts)
    left -= full * most
    after = [_taken(group, load, most, full, room)] if full else []
    if full < group.hosts and left:  # fewer copies are left than one more host takes
        after.append(_taken(group, load, left, 1, room))
        full, left = full + 1, 0
    if full < group.hosts:
        after.append(HostGroup(group.hosts - full, group.free, group.shared, group.ports, group.taken))
    return after, left


def _taken(group: HostGroup, load: Load, copies: int, hosts: int, room: Room) -> HostGroup:
    need = load.need
    free = tuple([left - copies * asked for left, asked in zip(group.free, need.units, strict=True)])
    shared = group.shared
    if need.shared_mib:
        here = copies_on_gpus(need, copies, shared, room)
        before = (*shared, *[room.gpu_memory_mib] * (len(here) - len(shared)))
        shared = tuple([left - number * need.shared_mib for left, number in zip(before, here, strict=True)])
        free = (free[0] - (len(shared) - len(group.shared)), *free[1:])
    return HostGroup(hosts, free, shared, group.ports | need.ports, (*group.taken, (load, copies)))


def copies_on_gpus(need: Need, copies: int, shared: Sequence[int], room: Room) -> list[int]:
    """How many copies each GPU in sharing mode takes, whose memory is left in `shared`: those first, then others."""
    here = []
    for left in shared:
        here.append(min(copies, left // need.shared_mib))
        copies -= here[-1]
    while copies:
        here.append(min(copies, room.gpu_memory_mib // need.shared_mib))
        copies -= here[-1]
    return here
