"""Who shares a pool while a fleet is proved: copies of workloads, daemons, and what has no known size."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_constructs.fleet import Pool, PoolKind, Unknown, Workload
from gpu_constructs.placement.assumptions import Assumption, need_of, rooms_of
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.packing import Load, Need, Room, copies_per_host
from gpu_constructs.placement.pool_profile import PoolProfile


@dataclass(slots=True)
class Tenant:
    """Copies of one workload that come to one pool.

    Attributes:
        workload: The workload.
        demand: What one copy asks for.
        pool: The pool.
        least: Copies that come at least.
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
        need = self.need(room, assumption)
        if need is None or copies is None:
            return None
        return Load(need=need, copies=copies, distinct=self.distinct)

    def need(self, room: Room, assumption: Assumption) -> Need | None:
        """What one copy takes; None where that is not known."""
        return need_of(self.demand, room, assumption)

    def slots_on(self, need: Need, room: Room, hosts: int | None) -> int | None:
        """Copies that so many hosts take without others, None for as many as it takes; None where there is no limit."""
        each = copies_per_host(need, room)
        if self.distinct:
            each = min(each, 1)
        return hosts * each if hosts is not None else None if each else 0


@dataclass(slots=True)
class PoolLoad:
    """A pool with what comes to it.

    Attributes:
        pool: The pool.
        offer: What it has beside its daemons.
        tenants: Workloads that it may take.
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
    def has_only_this(self) -> bool:
        """Whether tasks without a strategy come that no other pool can run."""
        return any(each.least and not each.is_bound for each in self.tenants)

    @property
    def is_settled(self) -> bool:
        """Whether all that comes was certainly placed."""
        return not self.is_crowded and all(
            each.fits is True and each.placed == each.most for each in self.tenants if each.is_bound
        )
