"""How far a rolling deployment can go with the GPUs there are.

Arithmetic of minimumHealthyPercent and maximumPercent:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from gpu_constructs.facts.aws_limits import DEFAULT_MAX_HEALTHY_PERCENT
from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import Identical, by_identity, dataclass
from gpu_constructs.fleet import UNKNOWN, PlacementConstraint, Pool, PoolKind, Task, Unknown, Workload, known, total
from gpu_constructs.placement.assumptions import Assumption, need_of, rooms_of
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.packing import MANY, Load, Need, Packing, Room, copies_per_host, more_copies, pack
from gpu_constructs.placement.pool_profile import PoolProfile, profile_of
from gpu_constructs.placement.proof import PoolProof, Proof

if TYPE_CHECKING:
    from fractions import Fraction

_DEFAULT_MIN_HEALTHY_PERCENT = 100
_STEPS_OF_PLACED = 5  # to put the copies of a workload on a pool, as measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The two percentages of a rolling deployment.

    Attributes:
        min_healthy_percent: Tasks that keep running, as a percentage of the desired count, rounded up by ECS.
        max_healthy_percent: Tasks that may run at once, rounded down by ECS.
    """

    min_healthy_percent: int
    max_healthy_percent: int


def task_slots(
    task: Task,
    pool: Pool,
    *,
    constraints: Sequence[PlacementConstraint] = (),
    assumption: Assumption = Assumption.WORST,
    offer: PoolProfile | None = None,
) -> int | Unknown:
    """How many copies of a task a pool holds when it is at its maximum and runs nothing else but daemons.

    Unknown where it is not known, or may be none. `constraints` are those besides the task's own, such as those of its
    service, and `offer` is what the pool has beside its daemons; by default it has none.
    """
    worst, best = rooms_of(offer or profile_of(pool))
    room = worst if assumption is Assumption.WORST else best
    if room is None or not pool.types_are_known or isinstance(pool.hosts_at_most, Unknown):
        return UNKNOWN
    need = need_of(demand_of(task, constraints), room, assumption)
    each = 0 if need is None else copies_per_host(need, room)
    if any(constraint.type == "distinctInstance" for constraint in constraints):
        each = min(each, 1)
    # None by what a host is expected to register: it may register more.
    return max(0, pool.hosts_at_most) * each if each else UNKNOWN


def may_stop(desired_count: int, percent: Rollout) -> bool:
    """Whether a rolling deployment may stop a copy before it starts one."""
    return -(-desired_count * percent.min_healthy_percent // 100) < desired_count


def copies_beside(workload: Workload, proof: PoolProof) -> int | Unknown:
    """How many more copies of a workload a pool takes beside all that runs there; unknown where not all has room."""
    mine, packing, most_hosts = _load(workload, proof.pool), proof.packing, proof.pool.hosts_at_most
    if mine is None or packing is None or isinstance(most_hosts, Unknown) or packing.hosts > most_hosts:
        return UNKNOWN
    return more_copies(mine.need, packing, most_hosts)


def copies_beside_all(workload: Workload, shared: Sequence[PoolProof], proof: Proof) -> int | Unknown:
    """How many more copies of a workload its pools take beside all that runs there; unknown if not everything has room.

    The proof of a pool counts all copies that may come to it. Some may come to any of several pools, such as those of
    a service without a strategy; here each of them is on one, where it leaves the most room.
    """
    lying = _lying_elsewhere(Identical(proof), frozenset([each.pool.name for each in shared]))
    if lying is None:
        return total(copies_beside(workload, each) for each in shared)
    if not lying:
        return UNKNOWN
    _, own = _free(proof).get(workload.name, (0, lying.keys()))  # it cannot run on others
    there = [(_load(workload, each.pool), lying[each.pool.name]) for each in shared if each.pool.name in own]
    return total(UNKNOWN if mine is None else more_copies(mine.need, on, on.most_hosts or 0) for mine, on in there)


@lru_cache(maxsize=16)
def _lying_elsewhere(of: Identical[Proof], names: frozenset[str]) -> Mapping[str, Packing] | None:
    """Pools with all copies, of those that may be on several as few on these as can be; empty where that is not known.

    Returns:
        None where all copies on these pools can only be on one each.
    """
    (proof,) = of.values
    free, linked = _free(proof), _linked(proof)
    if names.isdisjoint(linked):
        return None
    together = names.union(*[linked[name] for name in names if name in linked])
    pools = [each for each in proof.pools if each.pool.name in together]
    if not work().takes(_STEPS_OF_PLACED * (len(free) + sum([len(each.workloads) for each in pools]))):
        return {}
    found: dict[str, Packing] = {}
    loads: dict[str, list[tuple[Packing, Load]]] = {}
    # Those that may go elsewhere go to the smallest hosts on which they have room, so that the others keep theirs.
    for each in sorted(pools, key=lambda one: (one.pool.name in names, one.room.units if one.room else ())):
        if each.packing is None or each.room is None or isinstance(each.pool.hosts_at_most, Unknown):
            return {}
        both = list(zip(each.workloads, each.packing.loads, strict=True))
        bound = [load for name, load in both if name not in free]
        found[each.pool.name] = packing = pack(bound, each.room, most_hosts=max(0, each.pool.hosts_at_most))
        if sum(packing.placed) < sum([load.copies for load in bound]):
            return {}
        for name, load in both:
            if name in free:
                loads.setdefault(name, []).append((packing, load))
    largest_first = sorted(loads, key=lambda name: loads[name][0][1].need.units, reverse=True)
    return found if all(_are_placed(free[name][0], loads[name]) for name in largest_first) else {}


def _are_placed(copies: int, there: Sequence[tuple[Packing, Load]]) -> bool:
    """Whether all copies of a workload found room, which puts them on the first hosts that have it."""
    for packing, load in there:
        few = min(copies, load.copies)
        copies -= packing.place(replace(load, copies=few)) if few else 0
    return not copies


@by_identity(maxsize=4)
def _free(proof: Proof) -> Mapping[str, tuple[int, frozenset[str]]]:
    """Workloads of which more copies may come to their pools, counted one by one, than there are, and those pools."""
    found = {}
    for each in proof.workloads:
        most = {there.pool.name: there.most or 0 for there in each.tenants if there.fits is not False}
        copies = known(each.copies, otherwise=max(most.values(), default=0))
        if len(most) > 1 and sum(most.values()) > copies and each.workload.daemon is False:
            found[each.workload.name] = copies, frozenset(most)
    return found


@by_identity(maxsize=4)
def _linked(proof: Proof) -> Mapping[str, frozenset[str]]:
    """Of each pool that such copies may come to: all pools that they link it to, itself among them."""
    found: dict[str, frozenset[str]] = {}
    for _, there in _free(proof).values():
        if not there <= found.get(next(iter(there)), frozenset()):
            together = there.union(*[found[name] for name in there if name in found])
            found |= dict.fromkeys(together, together)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolNeed:
    """What one copy of a workload takes of a pool.

    Attributes:
        slots: Copies that the pool holds at its maximum without others.
    """

    load: Load
    room: Room
    slots: int


def pool_needs(workload: Workload) -> dict[str, PoolNeed | None]:
    """What one copy of a workload takes of each of its pools, by their names; None where that is not known.

    Managed Instances, which have a host for every copy, are not among them.
    """
    found: dict[str, PoolNeed | None] = {}
    for pool in (each.pool for each in workload.strategy if each.pool is not None):
        if pool.kind is PoolKind.MANAGED_INSTANCES:
            continue
        (room, _), most, load = rooms_of(profile_of(pool)), pool.hosts_at_most, _load(workload, pool)
        found[pool.name] = None
        if load is not None and room is not None and not isinstance(most, Unknown):
            slots = max(0, most) * copies_per_host(load.need, room, load.most)
            found[pool.name] = _the_same(PoolNeed(load=load, room=room, slots=slots))
    return found


@lru_cache(maxsize=1 << 12)
def _the_same(need: PoolNeed) -> PoolNeed:
    """One object for all that are alike, so that what was found for one holds for the others."""
    return need


def slots_taken(
    needs: Mapping[str, PoolNeed | None], others: Mapping[str, PoolNeed | None], copies: int | Unknown
) -> int | Unknown:
    """How many copies of a workload have no room while all copies of another run, on whichever hosts those are.

    A fleet that was larger once has its tasks wherever they were placed then, and a task does not move.
    """
    pools = needs.keys() & others.keys()
    if not pools:
        return 0
    shares: list[tuple[Fraction, int]] = []
    for pool in pools:
        mine, theirs = needs[pool], others[pool]
        if mine is None or theirs is None or isinstance(copies, Unknown):
            return UNKNOWN
        shares.append((_slots_per_copy(Identical(mine, theirs)), theirs.slots))
    left, taken = known(copies), 0
    for share, slots in sorted(shares, reverse=True):
        there = min(left, slots)
        taken += -(-share.numerator * there // share.denominator)
        left -= there
    return taken


def _load(workload: Workload, pool: Pool) -> Load | None:
    """One copy of a workload on a host of a pool; None where what it takes is not known."""
    room, _ = rooms_of(profile_of(pool))
    if room is None or workload.task is None:
        return None
    need = need_of(demand_of(workload.task, workload.constraints), room, Assumption.WORST)
    return None if need is None else Load(need=need, copies=1, distinct=workload.distinct_instances)


@lru_cache(maxsize=1 << 12)
def _slots_per_copy(both: Identical[PoolNeed]) -> Fraction:
    """How many copies of a task each copy of another one displaces at most, over the numbers that a host takes."""
    from fractions import Fraction  # noqa: PLC0415 - loads decimal, for workloads that share a pool

    mine, theirs = both.values
    load, other, room = mine.load, theirs.load, mine.room
    alone, most = (copies_per_host(each.need, room, each.most) for each in (load, other))

    @cache
    def displaced(copies: int) -> int:
        host = Packing(room=room, most_hosts=1)
        host.place(replace(other, copies=copies))
        return alone - min(load.most, more_copies(load.need, host, 1))

    # More copies never displace fewer, so that most numbers need not be asked.
    best, bound, parts = Fraction(0), _displaced_by_one(load.need, other.need), [(1, most)]
    while parts and best < bound:
        low, high = parts.pop()
        if low > high or Fraction(displaced(high), low) <= best:
            continue
        best = max(best, Fraction(displaced(low), low), Fraction(displaced(high), high))
        if displaced(low) < displaced(high):
            middle = (low + high) // 2
            parts += [(middle + 1, high - 1), (low + 1, middle)]
    return best


def _displaced_by_one(mine: Need, other: Need) -> int:
    """What one copy of a task displaces of another at most, whatever else is on the host."""
    if mine.ports & other.ports or (mine.shared_mib and other.units[0]):
        return MANY
    taken = (max(other.units[0], int(other.shared_mib > 0)), *other.units[1:])
    most = [-(-have // need) for have, need in zip(taken, mine.units, strict=True) if need]
    return max([*most, -(-other.shared_mib // mine.shared_mib) if mine.shared_mib else 0])


def percentages_of(workload: Workload) -> Rollout | None:
    """The percentages of a service, those of ECS where none are written; None where one is not known."""
    low, high = workload.min_healthy_percent, workload.max_healthy_percent
    if isinstance(low, Unknown) or isinstance(high, Unknown):
        return None
    return Rollout(
        min_healthy_percent=_DEFAULT_MIN_HEALTHY_PERCENT if low is None else low,
        max_healthy_percent=DEFAULT_MAX_HEALTHY_PERCENT if high is None else high,
    )


def can_go_on(desired_count: int, slots: int, percent: Rollout) -> bool:
    """Whether a rolling deployment on a fleet of this size ever takes its first step."""
    may_start = min(desired_count * percent.max_healthy_percent // 100, slots) > desired_count
    return may_start or may_stop(desired_count, percent) or desired_count == 0


def rollout(desired_count: int | Unknown, slots: int | Unknown) -> Rollout:
    """The percentages that let a deployment go on.

    With a free slot, new tasks start before old ones stop. Without one that would wait forever, so one task stops
    first: on a fleet that is full, a deployment of one task is a short outage, and no setting changes that.
    """
    if isinstance(desired_count, Unknown):
        # Half of two or more tasks can stop; one task alone must be able to where there is room for one only.
        alone = not isinstance(slots, Unknown) and slots <= 1
        return Rollout(min_healthy_percent=0 if alone else 50, max_healthy_percent=200)
    if desired_count == 0:
        return Rollout(min_healthy_percent=0, max_healthy_percent=200)
    one_less = percent_for_one_less(desired_count)
    if isinstance(slots, Unknown):
        return Rollout(min_healthy_percent=one_less, max_healthy_percent=200)
    if slots <= desired_count:
        return Rollout(min_healthy_percent=one_less, max_healthy_percent=100)
    # Rounded up, because ECS rounds the number of tasks down.
    return Rollout(min_healthy_percent=100, max_healthy_percent=min(200, -(-100 * slots // desired_count)))


def rollout_percentages(
    desired_count: int | Unknown, slots: int | Unknown, low: int | Unknown | None, high: int | Unknown | None
) -> tuple[int, int]:
    """Minimum and maximum healthy percent of a service where a user gave one or none of them, as `low` and `high`.

    What is None becomes what goes with the other. In place of what is unknown stands a number that nobody reads:
    callers use what they were given. `slots` are the tasks that all hosts hold.
    """
    default = rollout(desired_count, slots)
    most = default.max_healthy_percent if high is None else known(high, otherwise=DEFAULT_MAX_HEALTHY_PERCENT)
    least = default.min_healthy_percent if low is None else known(low)
    if low is None and high is not None:
        # Where the maximum leaves no whole task more, one has to stop first.
        whole = isinstance(desired_count, Unknown) or desired_count * most // 100 > desired_count
        fewer = 0 if isinstance(desired_count, Unknown) else percent_for_one_less(desired_count)
        least = least if whole and least < most else min(fewer, most - 1)
    if high is None and least >= most:
        most = DEFAULT_MAX_HEALTHY_PERCENT
    return least, most


def percent_for_one_less(desired_count: int) -> int:
    """The percentage of a desired count that lets one task stop, and no more than one; 0 for none."""
    return 100 * (desired_count - 1) // desired_count if desired_count else 0
