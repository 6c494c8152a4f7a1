"""Whether everything that is to run has room at once: who shares a pool, how many hosts that takes, the answer.

`gpu_constructs.placement.prover` makes the proof of a fleet; what its answers mean is said there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Pool, PoolKind, Unknown, Workload, all_of
from gpu_constructs.placement.assumptions import Assumption, need_of, rooms_of
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.packing import UNITS, Load, Packing, Room, copies_per_host
from gpu_constructs.placement.pool_profile import PoolProfile


class Bound(NamedTuple):
    """Hosts that no packing can do without, and what they are needed for, in words."""

    hosts: int
    of: str


def least_hosts(loads: Sequence[Load], room: Room) -> Bound | None:
    """Hosts that any packing needs at least; None if no number of them is enough."""
    if any(load.copies and not copies_per_host(load.need, room) for load in loads):
        return None
    return max(_bounds([each for each in loads if each.copies], room), key=lambda bound: bound.hosts)


def _bounds(loads: Sequence[Load], room: Room) -> Iterator[Bound]:
    yield Bound(0, "nothing")
    for index, available in enumerate(room.units):
        sizes: dict[int, int] = {}
        for load in loads:
            size = load.need.units[index]
            if size:
                sizes[size] = sizes.get(size, 0) + load.copies
        if sizes:
            yield Bound(_least_of_one_resource(sizes, available), UNITS[index])
    for load in loads:
        yield Bound(-(-load.copies // copies_per_host(load.need, room, load.most)), "a host for each copy")
    memory = room.gpu_memory_mib
    if any(load.need.shared_mib for load in loads):
        asked = sum(load.copies * (load.need.units[0] * memory + load.need.shared_mib) for load in loads)
        yield Bound(-(-asked // (room.units[0] * memory + sum(room.shared))), "GPU memory")
    by_port: dict[tuple[int, str], int] = {}
    for load in loads:
        for port in load.need.ports:
            by_port[port] = by_port.get(port, 0) + load.copies
    for (number, protocol), copies in by_port.items():
        yield Bound(copies, f"host port {number}/{protocol}")


def _least_of_one_resource(sizes: Mapping[int, int], available: int) -> int:
    """Hosts that copies of these sizes need at least, were there no other resource.

    Bound L2 of Martello and Toth (Lower bounds and reduction procedures for the bin packing problem, 1990): next to a
    copy that takes more than all but `small`, nothing of `small` or more has room, and no two large ones share a host.
    Sums up to each size answer for every `small`, so the time grows with the sizes and hardly faster.

    `sizes` are what one copy takes to how many there are; none takes more than a host has.
    """
    ordered = sorted(sizes)
    copies = (0, *accumulate(sizes[size] for size in ordered))
    volume = (0, *accumulate(size * sizes[size] for size in ordered))
    half = bisect_right(ordered, available // 2)
    least = 0
    for begin, small in ((0, 0), *enumerate(ordered[:half])):
        large = bisect_right(ordered, available - small)
        beside_large = (copies[large] - copies[half]) * available - (volume[large] - volume[half])
        more = max(0, -(-(volume[half] - volume[begin] - beside_large) // available))
        least = max(least, copies[-1] - copies[half] + more)
    return least


@dataclass(slots=True)
class Tenant:
    """Copies of one workload that come to one pool.

    Attributes:
        most: Copies that come at most; None if that is not known.
        fits: Whether one copy fits on every host that the pool may launch.
        distinct: Whether no two of them may be on one host.
        is_bound: Whether a strategy names the pool, so that managed scaling launches hosts for them.
        placed: Copies that certainly have room.
    """

    workload: Workload
    demand: Demand
    pool: Pool
    least: int
    most: int | None
    fits: bool | Unknown
    distinct: bool
    is_bound: bool
    placed: int = 0

    @property
    def likeness(self) -> tuple[object, ...]:
        """What of it decides about hosts: the same demand, by its id, and the same copies."""
        return id(self.demand), self.least, self.most, self.fits, self.distinct, self.is_bound

    def load(self, room: Room, assumption: Assumption) -> Load | None:
        """What of them is to be packed; None where that is not known."""
        copies = self.most if assumption is Assumption.WORST else self.least
        need = need_of(self.demand, room, assumption)
        if need is None or copies is None:
            return None
        return Load(need=need, copies=copies, distinct=self.distinct)


@dataclass(slots=True)
class PoolLoad:
    """A pool with what comes to it.

    Attributes:
        offer: What it has beside its daemons.
        is_crowded: Whether there are workloads whose task is not known.
        is_beyond_budget: Whether no packing is looked for, because it would take too long.
    """

    pool: Pool
    offer: PoolProfile
    tenants: list[Tenant] = field(default_factory=list)
    is_crowded: bool = False
    is_beyond_budget: bool = False

    @property
    def kinds(self) -> int:
        """How many different demands come to it."""
        return len({id(each.demand) for each in self.tenants})

    @property
    def likeness(self) -> tuple[object, ...]:
        """A key that two of them have in common only if the pools are alike and the same comes to both."""
        pool = self.pool
        hosts = pool.kind, pool.min_instances, pool.hosts_at_most, pool.managed_scaling, pool.has_provider
        return (
            self.offer,
            hosts,
            self.is_crowded,
            tuple([each.likeness for each in self.tenants]),
        )

    def room(self, assumption: Assumption) -> Room | None:
        """What each host has left for others than its daemons; None where that is not known."""
        certain, possible = rooms_of(self.offer)
        return certain if assumption is Assumption.WORST else possible

    @property
    def is_made_to_measure(self) -> bool:
        """Whether hosts are chosen for the tasks that wait for them, one for each if need be.

        https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ManagedInstances.html
        """
        return self.pool.kind is PoolKind.MANAGED_INSTANCES

    @property
    def is_settled(self) -> bool:
        """Whether all that comes was certainly placed."""
        return not self.is_crowded and all(
            each.fits is True and each.placed == each.most for each in self.tenants if each.is_bound
        )


class Counts(Enum):
    """Which number of copies of each workload the proof is for."""

    DESIRED = "desired"
    MAXIMUM = "maximum"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadProof:
    """Whether the copies of one workload have room in addition to everything else.

    Attributes:
        copies: Copies that are to run; unknown for daemons, which run on every host.
        placed: Copies that certainly have room.
        unplaced: Copies that certainly have none.
        answer: Whether all of them have room.
    """

    workload: Workload
    copies: int | Unknown
    tenants: tuple[Tenant, ...]
    placed: int
    unplaced: int
    answer: bool | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranded:
    """GPUs that stay idle on hosts that are needed, because another resource of the host is used up first.

    Attributes:
        hosts: Hosts with as many idle ones.
        gpus: Idle GPUs of each.
        exhausted: What of the host is used up, in words.
    """

    hosts: int
    gpus: int
    gpus_per_host: int
    exhausted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProof:
    """What a pool's hosts have to take.

    Attributes:
        workloads: Names of the workloads that come to it, daemons not among them.
        hosts_needed: Hosts on which a packing of everything was found, however many there may be; unknown where a
            number or a size is.
        hosts_at_least: Hosts that no packing can do without, asked only where all had no certain room; None if no
            number of hosts is enough.
        decided_by: What `hosts_at_least` are needed for, such as ``GPUs``.
        stranded: GPUs that stay idle on the hosts that are needed.
        is_packed: Whether a packing was looked for: the tasks of all pools may be too many and too different.
        room: What each host certainly has for tasks besides daemons; None where that is not known.
        packing: The packing on `hosts_needed`, whose loads are `workloads` in their order; None where there is none.
    """

    pool: Pool
    offer: PoolProfile = field(compare=False, repr=False)
    workloads: tuple[str, ...]
    hosts_needed: int | Unknown
    hosts_at_least: int | None
    decided_by: str
    answer: bool | Unknown
    stranded: tuple[Stranded, ...] = ()
    is_packed: bool = True
    room: Room | None = None
    packing: Packing | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Whether a fleet has room for everything that is to run on it at once.

    Attributes:
        workloads: The workloads that need hosts, in the order of the fleet; those of Fargate and of external hosts
            need none.
        pools: The pools, in the order of the fleet.
    """

    counts: Counts
    workloads: tuple[WorkloadProof, ...]
    pools: tuple[PoolProof, ...]

    @property
    def answer(self) -> bool | Unknown:
        """Whether everything has room; unknown is never taken for a yes."""
        return all_of([*(each.answer for each in self.workloads), *(each.answer for each in self.pools)])
