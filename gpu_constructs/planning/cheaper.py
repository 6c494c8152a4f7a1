"""Whether other hosts would cost less for what a pool runs: what was considered, what is cheapest, and why.

Only hosts of the same accelerators are considered, so that the work is as fast: other numbers of the same GPU on one
host, and other sizes. A mix of several types is a capacity provider for each, with bases that send each as many copies
as the mix has on it. The search is exact; where it would take too long there is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from gpu_constructs.budget import MIXED, MIXED_KINDS, MIXED_OF_ONE
from gpu_constructs.fleet import LocalDiskUse, Pool, PoolKind, PurchaseOption, Unknown, Workload
from gpu_constructs.hardware import RECORDED, InstanceType, accelerated
from gpu_constructs.hardware.catalogue import is_offered
from gpu_constructs.hardware.prices import Price, dollars, on_demand_price
from gpu_constructs.placement import Assumption, Counts, Demand, PoolProof, Proof, demand_of, profile_of, unmet_needs
from gpu_constructs.placement.assumptions import need_of, rooms_of
from gpu_constructs.placement.fit import on_host
from gpu_constructs.placement.packing import Load, Need, room_beside
from gpu_constructs.placement.reasons import listed
from gpu_constructs.planning.host_mix import HostOffer, Mix, cheapest_mix
from gpu_constructs.planning.host_price import HostPrice
from gpu_constructs.rules.evidence.fixes import without_type_lists
from gpu_constructs.values import dataclass

_NOT_COMPARED: Mapping[PoolKind, str] = {
    PoolKind.MANAGED_INSTANCES: "ECS chooses its hosts",
    PoolKind.BATCH: "AWS Batch chooses its hosts",
    PoolKind.INSTANCE: "it is one EC2 instance",
}
_MILLION = 1_000_000  # prices are compared in whole millionths of a dollar


class Outcome(Enum):
    """What a search for a cheaper mix came to."""

    FOUND = "cheaper"
    NONE = "none is cheaper"
    NOT_LOOKED_FOR = "not looked for"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """An instance type that was considered.

    Attributes:
        price: What one costs.
        hosts: How many of them the cheapest mix has.
        why: Why it is in the mix or not.
    """

    price: Price
    hosts: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for hosts that cost less than those that a pool needs at the desired counts.

    Attributes:
        outcome: What it came to.
        why: Why nothing was looked for, or why the search was given up; empty otherwise.
        now_usd_per_hour: What the hosts that the copies need cost, of the cheapest type of the pool.
        usd_per_hour: What the cheapest mix costs, where that is less.
        considered: Every type that was considered, the cheapest first.
    """

    outcome: Outcome
    why: str = ""
    now_usd_per_hour: float = 0.0
    usd_per_hour: float = 0.0
    considered: tuple[Considered, ...] = ()

    @property
    def chosen(self) -> tuple[Considered, ...]:
        """The types of the cheapest mix."""
        return tuple(each for each in self.considered if each.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copies:
    """Copies of a workload that come to a pool at most."""

    workload: Workload
    number: int | None
    fits: bool | Unknown

    @property
    def is_certain(self) -> bool:
        """Whether so many certainly come and fit."""
        is_counted = self.workload.daemon is True or not isinstance(self.workload.desired_count, Unknown)
        return self.fits is True and is_counted and (self.number is not None or self.workload.daemon is True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """An instance type with its price, and what it offers to the copies; why not, where it runs none of them."""

    price: Price
    offer: HostOffer | None
    why_none: str


class Searches:
    """Searches for all pools of a proof, which share one budget of steps."""

    def __init__(self, proof: Proof) -> None:
        self._left = MIXED
        self._is_given_up = False
        self._copies: dict[str, list[_Copies]] = {}
        for of in proof.workloads:
            for place in of.places:
                if place.most != 0 and place.fits is not False:
                    found = _Copies(workload=of.workload, number=place.most, fits=place.fits)
                    self._copies.setdefault(place.pool.name, []).append(found)

    def of(self, proof: PoolProof, price: HostPrice) -> Search:
        """The search for one pool."""
        pool, hosts = proof.pool, proof.hosts_needed
        copies = self._copies.get(pool.name, [])
        if (why := _why_not(proof, price, copies)) or isinstance(hosts, Unknown):
            return Search(outcome=Outcome.NOT_LOOKED_FOR, why=why)
        if len(copies) > MIXED_KINDS:
            return Search(outcome=Outcome.GIVEN_UP, why=f"it runs more than {MIXED_KINDS} workloads")
        demands = [_demand(each.workload) for each in copies]
        if any(each.all_gpus for each in demands):
            return Search(outcome=Outcome.NOT_LOOKED_FOR, why="a task takes every GPU of its host")
        now = hosts * min(map(_millionths, price.prices))
        candidates = tuple(_candidates(pool, price.prices[0].region, copies, demands))
        able = [(each, each.offer) for each in candidates if each.offer is not None]
        best = [(each, offer) for each, offer in able if not any(_has_as_much(other, offer) for _, other in able)]
        loads = [
            Load(need=Need(units=()), copies=each.number or 0, distinct=each.workload.distinct_instances)
            for each in copies
            if each.workload.daemon is False
        ]
        mix = self._cheapest([offer for _, offer in best], loads, below=now)
        if self._is_given_up:
            return Search(outcome=Outcome.GIVEN_UP, why="there are too many ways to place its tasks")
        if mix is None:
            return Search(outcome=Outcome.NONE, now_usd_per_hour=now / _MILLION)
        chosen = {each.price.instance_type: number for (each, _), number in zip(best, mix.hosts, strict=True)}
        considered = tuple(
            Considered(
                price=each.price,
                hosts=chosen.get(each.price.instance_type, 0),
                why=self._why(each, chosen, able, loads),
            )
            for each in sorted(candidates, key=lambda each: each.price.usd_per_hour)
        )
        return Search(
            outcome=Outcome.FOUND,
            now_usd_per_hour=now / _MILLION,
            usd_per_hour=mix.price / _MILLION,
            considered=considered,
        )

    def _cheapest(self, offers: Sequence[HostOffer], loads: Sequence[Load], *, below: int | None = None) -> Mix | None:
        if not offers:
            return None
        steps = min(self._left, MIXED_OF_ONE)
        mix, left = cheapest_mix(offers, loads, below=below, steps=steps)
        self._left -= steps - max(0, left)
        self._is_given_up = left < 0
        return mix

    def _why(
        self,
        candidate: _Candidate,
        chosen: Mapping[str, int],
        able: Sequence[tuple[_Candidate, HostOffer]],
        loads: Sequence[Load],
    ) -> str:
        """Why a type is in the mix or not."""
        offer, name = candidate.offer, candidate.price.instance_type
        if offer is None:
            return f"none of the tasks fits{candidate.why_none and f' ({candidate.why_none})'}"
        if chosen.get(name):
            return "in the cheapest mix"
        for other, has in able:
            if _has_as_much(has, offer):
                return f"{other.price.instance_type} has as much for these tasks and costs no more"
        alone = self._cheapest([offer], loads)
        if alone is None:
            return "" if self._is_given_up else "it does not take all of the tasks"
        return f"{alone.hosts[0]} of them alone cost {dollars(alone.price / _MILLION)} an hour"


NO_SEARCHES = Searches(Proof(counts=Counts.DESIRED, workloads=(), pools=()))
"""Looks for nothing: no copies come to any pool."""


def _why_not(proof: PoolProof, price: HostPrice, copies: Sequence[_Copies]) -> str:
    """Why no cheaper mix is looked for; empty where one is."""
    pool = proof.pool
    reasons = (
        (not any(each.workload.daemon is False for each in copies), "no service runs on it"),
        (pool.kind in _NOT_COMPARED, _NOT_COMPARED.get(pool.kind, "")),
        (not price.prices, price.unknown),
        (pool.bought.option is not PurchaseOption.ON_DEMAND, f"{pool.bought.option} prices are not known"),
        (not any(is_offered(each, pool.region) for each in pool.instance_types), _not_offered(pool)),
        (len({each.region for each in price.prices}) > 1, "its prices are of several regions"),
        (any(each.accelerators is None for each in pool.instance_types), "its hosts have no accelerator"),
        (any(each.is_efa for each in pool.interfaces), "its hosts work together over EFA"),
        (pool.placement_group is not False, "its hosts are in a cluster placement group"),
        (not all(each.is_certain for each in copies), "how much runs there, or whether it fits, is not known"),
        (isinstance(proof.hosts_needed, Unknown), "the hosts that it needs are not known"),
        (proof.room is None, "what its hosts have is not known"),
    )
    return next((why for is_so, why in reasons if is_so), "")


def _demand(workload: Workload) -> Demand:
    """What a copy asks for, wherever it is told to run: lists of types exclude every other."""
    task, constraints = workload.task, workload.constraints
    if task is None:
        return Demand()
    kept = without_type_lists(task.constraints)
    free = task if len(kept) == len(task.constraints) else replace(task, constraints=kept)
    return demand_of(free, without_type_lists(constraints))


def _candidates(pool: Pool, region: str, copies: Sequence[_Copies], demands: Sequence[Demand]) -> Iterator[_Candidate]:
    """Types with a price on the list of a region; one that stands in from another list says nothing about this one."""
    for each in _like(pool):
        price = on_demand_price(each.name, region)
        if price is None or price.region != region:
            continue
        here = replace(pool, instance_types=(each,), requirements=None)
        why = [_why_none(demand, of.workload, each, here) for demand, of in zip(demands, copies, strict=True)]
        runs = [not reason for reason in why]
        yield _Candidate(
            price=price,
            offer=_offer(here, price, list(zip(copies, demands, runs, strict=True))),
            why_none=next(filter(None, why), ""),
        )


def _why_none(demand: Demand, workload: Workload, instance_type: InstanceType, pool: Pool) -> str:
    """What keeps a copy from a host of a type, in the words of the proof; empty if nothing does."""
    found = on_host(demand, instance_type, profile_of(pool))
    unmet = () if workload.task is None else unmet_needs(workload.task, instance_type)
    return next(iter((*found.reasons, *map(str, unmet))), "")


def _like(pool: Pool) -> Iterator[InstanceType]:
    """Types with the same accelerators, whose tasks get what they have now."""
    types = pool.instance_types
    models = {_model(each) for each in types}
    joined = {each.accelerators.interconnect for each in types if each.accelerators is not None}
    disks = min(each.local_storage_gb for each in types) if pool.user_data.local_disks is not LocalDiskUse.NONE else 0
    for each in accelerated():
        devices = each.accelerators
        is_like = devices is not None and _model(each) in models
        is_joined = devices is not None and (devices.logical_count <= 1 or devices.interconnect in joined)
        if is_like and is_joined and is_offered(each, pool.region) and each.local_storage_gb >= disks:
            yield each


def _not_offered(pool: Pool) -> str:
    where = "any region" if pool.region is None else pool.region
    return f"on {RECORDED} AWS did not offer {listed(pool.instance_types, 'or')} in {where}"


def _model(instance_type: InstanceType) -> tuple[object, ...]:
    devices = instance_type.accelerators
    if devices is None:
        return ()
    return devices.vendor, devices.model, devices.partition, devices.memory_mib, instance_type.architecture


def _offer(here: Pool, price: Price, copies: Sequence[tuple[_Copies, Demand, bool]]) -> HostOffer | None:
    room, _ = rooms_of(profile_of(here))
    for of, demand, runs in copies:
        if of.workload.daemon is True and room is not None:
            need = need_of(demand, room, Assumption.WORST) if runs else None
            room = None if need is None else room_beside(room, need)  # hosts without one of its daemons are other hosts
    if room is None:
        return None
    needs = tuple(
        need_of(demand, room, Assumption.WORST) if runs else None
        for of, demand, runs in copies
        if of.workload.daemon is False
    )
    return HostOffer(price=_millionths(price), room=room, needs=needs) if any(needs) else None


def _has_as_much(one: HostOffer, other: HostOffer) -> bool:
    """Whether whatever one kind of host takes another takes as well, at no higher a price."""
    if one is other or one.price > other.price or (one.price == other.price and one.room == other.room):
        return False
    enough = all(here >= there for here, there in zip(one.room.units, other.room.units, strict=True))
    same = all(here == there or there is None for here, there in zip(one.needs, other.needs, strict=True))
    return (
        enough and same and one.room.gpu_memory_mib >= other.room.gpu_memory_mib and one.room.ports <= other.room.ports
    )


def _millionths(price: Price) -> int:
    return round(price.usd_per_hour * _MILLION)
