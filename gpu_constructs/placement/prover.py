"""Proves that everything that is to run has room at once, or that it has none.

A workload's copies are split over the pools of its strategy (`reach`), each pool packs what comes to it (`packing`)
with what is certain (`assumptions`), and where that does not settle it, what is possible is asked whether there can be
room at all. The answer is yes where a packing was found with what is certain, no where no packing exists with what is
possible, and unknown between the two.

Daemons come first on every host: "Amazon ECS reserves container instance compute resources including CPU, memory, and
network interfaces for the daemon tasks", and they are the first to start
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html). Tasks without a strategy go to any
host of the cluster, and no capacity provider launches one for them
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.facts.budget import work
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, Unknown, Workload
from gpu_constructs.placement.assumptions import Assumption, hosts_of
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.destinations import is_complete, started_by_strategies
from gpu_constructs.placement.fit import fit_demand
from gpu_constructs.placement.packing import UNITS, HostGroup, Load, Packing, Room, copies_per_host, more_fit, pack
from gpu_constructs.placement.pool_profile import PoolProfile
from gpu_constructs.placement.proof import (
    Bound,
    Counts,
    PoolLoad,
    PoolProof,
    Proof,
    Stranded,
    Tenant,
    WorkloadProof,
    least_hosts,
)
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES, offer_of, pools_of, split, unjudged

SQUARES_OF_STEP = 10
"""Time to pack different tasks grows with the square of their number: so many squares are a step, as measured."""

_NO_HOSTS = Bound(0, "nothing")


def prove(fleet: Fleet, *, counts: Counts = Counts.DESIRED) -> Proof:
    """Proves that every workload has room for its copies in addition to everything else, as far as that is known.

    It is a proof for ECS as it is documented: the ENI trunking of an account is not known and not counted, and what
    does not belong to the fleet takes no room.
    """
    pools = {pool.name: PoolLoad(pool, offer_of(fleet, pool)) for pool in fleet.pools}
    tenancies = [(each, tuple(_tenants_of(fleet, each, counts))) for each in fleet.workloads if _needs_hosts(each)]
    for pool in _of_unjudged(fleet):
        pools[pool.name].is_crowded = True
    for workload, tenants in tenancies:
        for tenant in tenants:
            pool = tenant.pool
            shared = pools.get(pool.name) or pools.setdefault(pool.name, PoolLoad(pool, offer_of(fleet, pool)))
            if workload.task is None or isinstance(workload.daemon, Unknown):
                shared.is_crowded = True
            elif tenant.fits is not False and not workload.daemon:
                shared.tenants.append(tenant)
    return Proof(
        counts=counts,
        pools=tuple(_prove_pools(pools.values())),
        workloads=tuple(_prove_workload(workload, tenants, counts, pools) for workload, tenants in tenancies),
    )


def _needs_hosts(workload: Workload) -> bool:
    if not workload.is_service:
        return False  # its copies end, and whatever waits takes their place
    if workload.strategy:
        return any(item.pool is not None or item.provider not in FARGATE_PROVIDERS for item in workload.strategy)
    return isinstance(workload.launch_type, Unknown) or workload.launch_type in EC2_LAUNCH_TYPES


def _copies(workload: Workload, counts: Counts) -> tuple[int, int | None]:
    """Copies at least and at most; what scales a workload may ask for none."""
    most = workload.max_count
    wanted = most if counts is Counts.MAXIMUM and most is not None else workload.desired_count
    if not isinstance(wanted, Unknown):
        return max(0, wanted), max(0, wanted)
    return 0, None if most is None or isinstance(most, Unknown) else max(0, most)


def _of_unjudged(fleet: Fleet) -> Iterator[Pool]:
    """Pools that take copies of workloads that were not looked at."""
    of_clusters: dict[int, tuple[Pool, ...]] = {}
    for workload in unjudged(fleet).values():
        if isinstance(workload, Workload):
            pools = pools_of(fleet, workload)
            of_clusters[id(pools)] = pools
    return chain.from_iterable(of_clusters.values())


def _tenants_of(fleet: Fleet, workload: Workload, counts: Counts) -> Iterator[Tenant]:
    if id(workload) in unjudged(fleet):
        return
    least, most = _copies(workload, counts)
    demand = Demand() if workload.task is None else demand_of(workload.task, workload.constraints)
    if not workload.strategy:
        yield from _unbound(fleet, workload, demand, least, most)
    for share in split(workload.strategy, least, most):
        pool = share.item.pool
        if pool is not None:
            answer = _answer(demand, pool, offer_of(fleet, pool, workload))
            bound = (share.least, share.most, answer, workload.distinct_instances, True)
            yield Tenant(workload, demand, pool, *bound)


def _unbound(fleet: Fleet, workload: Workload, demand: Demand, least: int, most: int | None) -> Iterator[Tenant]:
    """Tasks without a strategy, which may come to every pool of their cluster."""
    answers: dict[PoolProfile, bool | Unknown] = {}
    found: list[tuple[Pool, PoolProfile, bool | Unknown]] = []
    for pool in pools_of(fleet, workload):
        offer = offer_of(fleet, pool, workload)
        if offer not in answers:
            answers[offer] = _answer(demand, pool, offer)
        found.append((pool, offer, answers[offer]))
    # Tasks with a strategy may start a host of a larger type, which managed scaling does not for this one.
    may = sum(answer is not False or bool(fit_demand(demand, offer).hosts) for _, offer, answer in found)
    is_only = may == 1 and is_complete(fleet, workload.cluster)
    started = started_by_strategies(fleet)
    for pool, offer, answer in found:
        certain = least if is_only and answer is not False else 0
        is_larger = answer is False and pool.name in started and bool(fit_demand(demand, offer).hosts)
        fits = UNKNOWN if is_larger else answer
        yield Tenant(workload, demand, pool, certain, most, fits, workload.distinct_instances, is_bound=False)


def _answer(demand: Demand, pool: Pool, offer: PoolProfile) -> bool | Unknown:
    """Whether one copy fits on every host that the pool may launch."""
    fit = fit_demand(demand, offer)
    answer = fit.answer
    if answer is True and len(fit.hosts) < len(pool.instance_types) and pool.kind is not PoolKind.MANAGED_INSTANCES:
        return UNKNOWN  # it fits some of the types, and another may come
    return answer


def _prove_pools(loads: Iterable[PoolLoad]) -> Iterator[PoolProof]:
    """Pools that are alike and to which the same comes are packed once."""
    seen: dict[tuple[object, ...], tuple[PoolLoad, PoolProof]] = {}
    left = work()
    for shared in loads:
        alike = shared.likeness
        if alike not in seen:
            shared.is_beyond_budget = not left.takes(shared.kinds**2 // SQUARES_OF_STEP)
            seen[alike] = shared, _prove_pool(shared)
            yield seen[alike][1]
            continue
        first, proof = seen[alike]
        for tenant, same in zip(shared.tenants, first.tenants, strict=True):
            tenant.placed = same.placed
        yield replace(proof, pool=shared.pool, workloads=tuple([each.workload.name for each in shared.tenants]))


def _prove_pool(shared: PoolLoad) -> PoolProof:
    room = None if shared.is_made_to_measure else shared.room(Assumption.WORST)
    loads = None if room is None else _certain_loads(shared, room)
    packing = None if loads is None or room is None or shared.is_beyond_budget else _pack_certain(shared, loads, room)
    if shared.is_made_to_measure:
        for tenant in shared.tenants:
            tenant.placed = (tenant.most or 0) if tenant.fits is True else 0
    answer: bool | Unknown = True if shared.is_settled else UNKNOWN
    at_least: Bound | None = _NO_HOSTS
    # Tasks without a strategy that no other pool can run.
    has_only_this = any(each.least and not each.is_bound for each in shared.tenants)
    if not shared.is_made_to_measure and (answer is not True or has_only_this):
        at_least = _hosts_at_least(shared)
        most = hosts_of(shared.pool, Assumption.BEST)
        if at_least is None or (most is not None and at_least.hosts > most):
            answer = False
    return PoolProof(
        pool=shared.pool,
        offer=shared.offer,
        workloads=tuple([each.workload.name for each in shared.tenants]),
        hosts_needed=UNKNOWN if packing is None else packing.hosts,
        hosts_at_least=None if at_least is None else at_least.hosts,
        decided_by="" if at_least is None else at_least.of,
        answer=answer,
        stranded=() if packing is None or loads is None else _stranded(shared, packing, loads),
        is_packed=not shared.is_beyond_budget,
        room=room,
        packing=packing,
    )


def _hosts_at_least(shared: PoolLoad) -> Bound | None:
    """Hosts that what is certain to come needs at least, if all goes well; None if no number of them is enough."""
    room = shared.room(Assumption.BEST)
    if room is None:
        return _NO_HOSTS
    loads = (each.load(room, Assumption.BEST) for each in shared.tenants if each.least)
    return least_hosts([each for each in loads if each is not None], room)


def _certain_loads(shared: PoolLoad, room: Room) -> list[Load] | None:
    """What comes to a pool at most; None where a size or number is not known."""
    found = [each.load(room, Assumption.WORST) for each in shared.tenants]
    loads = [each for each in found if each is not None]
    return loads if len(loads) == len(found) and not shared.is_crowded else None


def _pack_certain(shared: PoolLoad, loads: Sequence[Load], room: Room) -> Packing | None:
    """Packs what is certain on the hosts it takes, None if no number is enough, and notes what each tenant placed."""
    most = hosts_of(shared.pool, Assumption.WORST)
    is_bound = any(tenant.is_bound for tenant in shared.tenants)
    # Nothing launches hosts for tasks without a strategy: what all hosts take is asked only where it may be everything.
    packing = pack(loads, room, most_hosts=most) if is_bound or _may_do(loads, room, most) else Packing(room=room)
    for tenant, placed in zip(shared.tenants, packing.placed, strict=False):
        tenant.placed = placed if tenant.fits is True else 0
    if any(not tenant.is_bound for tenant in shared.tenants):
        _place_unbound(shared, loads, room)
    copies = sum([load.copies for load in loads])
    if sum(packing.placed) < copies:
        packing = pack(loads, room)
    return packing if sum(packing.placed) == copies else None


def _may_do(loads: Sequence[Load], room: Room, most_hosts: int | None) -> bool:
    bound = least_hosts(loads, room)
    return bound is not None and (most_hosts is None or bound.hosts <= most_hosts)


def _place_unbound(shared: PoolLoad, loads: Sequence[Load], room: Room) -> None:
    """Tasks without a strategy: on hosts that are there anyway, together with those that have one."""
    pairs = list(zip(shared.tenants, loads, strict=True))
    bound = [load for tenant, load in pairs if tenant.is_bound]
    packing = pack(bound, room, most_hosts=hosts_of(shared.pool, Assumption.WORST))
    always = shared.pool.min_instances
    packing.most_hosts = max(packing.hosts, 0 if isinstance(always, Unknown) else always)
    for tenant, load in pairs:
        if not tenant.is_bound:
            placed = packing.place(load)
            tenant.placed = placed if tenant.fits is True else 0


def _stranded(shared: PoolLoad, packing: Packing, loads: Sequence[Load]) -> tuple[Stranded, ...]:
    if not packing.groups or not _stranded_in(packing):
        return ()
    # Only what even hosts with as much as they can have do not use.
    possible = shared.room(Assumption.BEST)
    return () if possible is None else _stranded_in(pack(loads, possible))


def _stranded_in(packing: Packing) -> tuple[Stranded, ...]:
    """GPUs that stay idle on hosts with tasks, though one of these tasks would take them if the host had more else."""
    missing_on = _lacking_for_gpus(packing)
    found: dict[tuple[int, tuple[str, ...]], int] = {}
    for group in packing.groups:
        if missing := missing_on(group):
            idle = group.free[0]
            found[idle, missing] = found.get((idle, missing), 0) + group.hosts
    return tuple(
        Stranded(hosts=hosts, gpus=idle, gpus_per_host=packing.room.units[0], exhausted=missing)
        for (idle, missing), hosts in found.items()
    )


def _lacking_for_gpus(packing: Packing) -> Callable[[HostGroup], tuple[str, ...]]:
    """What hosts lack, in words, so that GPUs are left though a task of the packing would take them.

    The answer is empty for a host that has no GPU left, that takes one more of these tasks, or that has too few GPUs
    left for any.
    """
    of_gpus = list(dict.fromkeys(each.need for each in packing.loads if each.copies and each.need.units[0]))

    def lacking(group: HostGroup) -> tuple[str, ...]:
        idle = group.free[0]
        if not idle or any(more_fit(need, group, packing.room) for need in of_gpus):
            return ()
        # The smallest of those that the idle GPUs were enough for says what is missing.
        enough = min((need for need in of_gpus if need.units[0] <= idle), key=lambda need: need.units, default=None)
        units = () if enough is None else zip(UNITS, group.free, enough.units, strict=True)
        return tuple(unit for unit, free, asked in units if asked > free)

    return lacking


def _prove_workload(
    workload: Workload, tenants: tuple[Tenant, ...], counts: Counts, pools: Mapping[str, PoolLoad]
) -> WorkloadProof:
    least, most = _copies(workload, counts)
    answer: bool | Unknown = UNKNOWN
    placed = unplaced = 0
    if workload.daemon is True:
        rooms = [pools[each.pool.name].room(Assumption.WORST) is not None for each in tenants if each.fits is True]
        if tenants and len(rooms) == len(tenants) and all(rooms):
            answer = True
        elif tenants and all(each.fits is False for each in tenants):
            answer = False
    elif workload.task is not None and workload.daemon is False:
        if workload.strategy:
            is_placed = len(tenants) == len(workload.strategy) and all(each.placed == each.most for each in tenants)
            placed = sum([min(each.placed, each.least) for each in tenants])
        else:
            placed = sum([each.placed for each in tenants])
            is_placed = most is not None and placed >= most
        if is_placed and most is not None:
            placed, answer = most, True
        else:
            unplaced = _without_room(workload, tenants, pools, least)
            answer = False if unplaced else most == 0 or UNKNOWN
    return WorkloadProof(
        workload=workload,
        copies=least if least == most and not workload.daemon else UNKNOWN,
        tenants=tenants,
        placed=placed,
        unplaced=unplaced,
        answer=answer,
    )


def _without_room(workload: Workload, tenants: Sequence[Tenant], pools: Mapping[str, PoolLoad], least: int) -> int:
    """Copies for which there is no room even with what is possible, if the workload had all hosts to itself.

    A strategy gives each provider as many as `split` says, and of those no more start than it has room for: of copies
    that may go to either of two providers without room, none does.
    """
    if not tenants:
        return 0  # they may go to hosts of other files
    beyond, room = 0, 0
    for tenant in tenants:
        slots = _slots(tenant, pools[tenant.pool.name])
        most = tenant.most if tenant.is_bound else None
        if tenant.is_bound and slots is not None:
            beyond += max(0, tenant.least - slots)
        room += min([each for each in (slots, most) if each is not None], default=least)
    return beyond if len(tenants) < len(workload.strategy) else max(beyond, least - room)


def _slots(tenant: Tenant, shared: PoolLoad) -> int | None:
    """Copies of one workload that a pool holds with what is possible; None where that has no limit."""
    if tenant.fits is False:
        return 0
    room = None if shared.is_made_to_measure else shared.room(Assumption.BEST)
    load = None if room is None else tenant.load(room, Assumption.BEST)
    if room is None or load is None:
        return None
    each, hosts = copies_per_host(load.need, room, load.most), hosts_of(tenant.pool, Assumption.BEST)
    return hosts * each if hosts is not None else None if each else 0
