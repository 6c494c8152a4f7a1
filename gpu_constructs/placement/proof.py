"""Whether everything that is to run has room at once: the values that the proof of a fleet is made of.

`gpu_constructs.placement.prover` makes them; what its answers mean is said there.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from gpu_constructs.fleet import UNKNOWN, Pool, Unknown, Workload
from gpu_constructs.placement.packing import Packing, Room
from gpu_constructs.placement.pool_profile import PoolProfile
from gpu_constructs.values import dataclass


class Counts(Enum):
    """Which number of copies of each workload the proof is for."""

    DESIRED = "desired"
    MAXIMUM = "maximum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A pool that copies of a workload go to.

    Attributes:
        pool: The pool.
        most: Copies that go there at most; None if that is not known.
        fits: Whether one copy fits on every host that the pool may launch.
    """

    pool: Pool
    most: int | None
    fits: bool | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadProof:
    """Whether the copies of one workload have room in addition to everything else.

    Attributes:
        workload: The workload.
        copies: Copies that are to run; unknown for daemons, which run on every host.
        places: Where they go.
        placed: Copies that certainly have room.
        unplaced: Copies that certainly have none.
        answer: Whether all of them have room.
    """

    workload: Workload
    copies: int | Unknown
    places: tuple[Place, ...]
    placed: int
    unplaced: int
    answer: bool | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranded:
    """GPUs that stay idle on hosts that are needed, because another resource of the host is used up first.

    Attributes:
        hosts: Hosts with as many idle ones.
        gpus: Idle GPUs of each.
        gpus_per_host: GPUs of each.
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
        pool: The pool.
        offer: What it has beside its daemons.
        workloads: Names of the workloads that come to it, daemons not among them.
        hosts_needed: Hosts on which a packing of everything was found, whatever `hosts_at_most` is; unknown where a
            number or a size is.
        hosts_at_least: Hosts that no packing can do without, asked only where all had no certain room; None if no
            number of hosts is enough.
        decided_by: What `hosts_at_least` are needed for, such as ``GPUs``.
        hosts_at_most: Hosts that the pool may have; unknown where that is only known at deploy time.
        answer: Whether all that comes to it has room together.
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
    hosts_at_most: int | Unknown
    answer: bool | Unknown
    stranded: tuple[Stranded, ...] = ()
    is_packed: bool = True
    room: Room | None = None
    packing: Packing | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Whether a fleet has room for everything that is to run on it at once.

    Attributes:
        counts: Which number of copies it is for.
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
        answers = [each.answer for each in self.workloads] + [each.answer for each in self.pools]
        if any(each is False for each in answers):
            return False
        return True if all(each is True for each in answers) else UNKNOWN
