"""What a change does to the plan of a fleet: hosts, costs and quotas before and after.

What is not known of a pool, and reads the same before and after, is in no change: it cancels out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import starmap

from gpu_constructs.check.planning.fleet_plan import FleetPlan, Level, PoolPlan, QuotaNeed
from gpu_constructs.check.planning.host_price import HOURS_A_MONTH, Usd
from gpu_constructs.check.planning.in_words import NOT_KNOWN, amount, cost_of_level, number, partly
from gpu_constructs.check.planning.updates import RefusedUpdate, Update
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.prices import dollars
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Origin, Place, Unknown, total
from gpu_constructs.placement import demand_of
from gpu_constructs.placement.costs import place_of
from gpu_constructs.placement.reasons import listed

_NOTHING = "-"
_NO_COST = Usd(0.0, 0.0)
_Pair = tuple["PoolPlan | None", "PoolPlan | None"]
_LEVELS: Mapping[str, str] = {"desired": "at the desired counts", "maximum": "at MaxSize"}


class Status(Enum):
    """What became of a pool."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One value before and after.

    Attributes:
        what: What it is, in words.
        old: Before, as it is shown.
        new: After, as it is shown.
        change: The difference of two numbers; empty where there is none.
    """

    what: str
    old: str
    new: str
    change: str = ""

    @property
    def is_change(self) -> bool:
        """Whether it is another value now."""
        return self.old != self.new


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDifference:
    """What became of one pool.

    Attributes:
        name: Its name.
        status: Whether it is new, gone or changed.
        rows: Values that are not the same.
    """

    name: str
    status: Status
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDifference:
    """Two plans compared.

    Attributes:
        old: The plan before.
        new: The plan after.
        totals: Hosts and costs of the whole fleet, the same ones too.
        pools: Pools that are not the same, by their names.
        quotas: What is needed of quotas, where that is not the same.
        refused: What AWS refuses when the one is deployed over the other.
        replaced: The services that CloudFormation replaces then, each with why and what that takes.
    """

    old: FleetPlan
    new: FleetPlan
    totals: tuple[Row, ...]
    pools: tuple[PoolDifference, ...]
    quotas: tuple[Row, ...]
    refused: tuple[RefusedUpdate, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether both plans say the same."""
        return not self.pools and not self.quotas and not any(each.is_change for each in self.totals)

    @property
    def is_priced(self) -> bool:
        """Whether some of its amounts are prices, with a region and a date."""
        return bool(self.old.prices or self.new.prices)


def difference(old: FleetPlan, new: FleetPlan, update: Update | None = None) -> PlanDifference:
    """What a change does to a plan.

    Args:
        old: The plan before.
        new: The plan after.
        update: What AWS refuses and replaces, as `gpu_constructs.check.planning.updates` finds it.
    """
    pairs = _pairs(old.pools, new.pools)
    # Only of what is not known it has to be asked whether it is the same.
    changed = [pair for pair in pairs if not _is_same(*pair)]
    names = {each.pool.name for pair in changed for each in pair if each is not None}
    return PlanDifference(
        old=old,
        new=new,
        totals=tuple(_totals(old, new, tuple(changed))),
        pools=tuple(each for each in starmap(_of_pool, pairs) if each is not None),
        quotas=tuple(each for each in _quotas(old, new, names) if each.is_change),
        refused=() if update is None else update.refused,
        replaced=() if update is None else update.replaced,
    )


def _pairs(old: Sequence[PoolPlan], new: Sequence[PoolPlan]) -> list[_Pair]:
    """Which pool became which: another stack may change the names of all, and a stack may move."""
    left, became = list(old), dict[str, PoolPlan]()
    for key in (_in_place, _in_stack, _called):
        waiting = [each for each in new if each.pool.name not in became]
        before, after = (_alone(key, of) for of in (left, waiting))
        found = {after[each].pool.name: before[each] for each in after if each in before}
        became |= found
        taken = {each.pool.name for each in found.values()}
        left = [each for each in left if each.pool.name not in taken]
    return [*((became.get(each.pool.name), each) for each in new), *((each, None) for each in left)]


def _alone(key: Callable[[PoolPlan], Hashable], plans: Sequence[PoolPlan]) -> dict[Hashable, PoolPlan]:
    """Pools by what only one of them is."""
    count = Counter(map(key, plans))
    return {key(each): each for each in plans if key(each) is not None and count[key(each)] == 1}


def _in_place(plan: PoolPlan) -> Hashable:
    origin = plan.pool.origin
    return None if origin is None or origin.stack is None else (origin.stack, origin.resource, place_of(plan.pool))


def _in_stack(plan: PoolPlan) -> Hashable:
    origin = plan.pool.origin
    return None if origin is None or origin.stack is None else (origin.stack, origin.resource)


def _called(plan: PoolPlan) -> Hashable:
    return plan.pool.name


def _is_same(old: PoolPlan | None, new: PoolPlan | None) -> bool:
    """Whether a pool, and what decides how many hosts it has, reads the same in both plans."""
    return old is not None and new is not None and _deciding(old) == _deciding(new)


def _deciding(plan: PoolPlan) -> tuple[object, ...]:
    pool = plan.pool
    asked = [
        (
            each.workload,
            None if each.workload.task is None else demand_of(each.workload.task, each.workload.constraints),
        )
        for each in plan.tasks
    ]
    return (
        _values(plan),
        (pool.kind, pool.min_instances, pool.max_instances, pool.requirements, pool.managed_scaling, pool.group),
        [
            (_short(of.name, of.origin), of.desired_count, of.scaling, of.daemon, of.distinct_instances, demand)
            for of, demand in asked
        ],
    )


def _totals(old: FleetPlan, new: FleetPlan, changed: tuple[_Pair, ...]) -> Iterator[Row]:
    for level, words in _LEVELS.items():
        before, after = old.levels[level], new.levels[level]
        sides = [tuple(None if each is None else getattr(each, level) for each in pair) for pair in changed]
        yield Row(
            what=f"hosts {words}",
            old=partly(before.hosts, before.known_hosts),
            new=partly(after.hosts, after.known_hosts),
            change=_more(total(_difference(*(0 if each is None else each.hosts for each in pair)) for pair in sides)),
        )
        yield Row(
            what=f"GPUs {words}",
            old=partly(before.gpus, before.known_gpus),
            new=partly(after.gpus, after.known_gpus),
            change=_more(total(_difference(*(0 if each is None else each.gpus for each in pair)) for pair in sides)),
        )
        for what, hours in (("an hour", 1), ("a month", HOURS_A_MONTH)):
            yield Row(
                what=f"{what} {words}",
                old=cost_of_level(old, level, hours=hours),
                new=cost_of_level(new, level, hours=hours),
                change=_change_of_cost(sides, hours),
            )
    if old.unplanned or new.unplanned:
        was, now = (listed(brief(of.name, LABEL) for of in each.unplanned) for each in (old, new))
        yield Row(what="not planned", old=was, new=now, change="" if was == now else NOT_KNOWN)


def _difference(old: int | Unknown, new: int | Unknown) -> int | Unknown:
    return UNKNOWN if isinstance(old, Unknown) or isinstance(new, Unknown) else new - old


def _more(change: int | Unknown) -> str:
    return NOT_KNOWN if isinstance(change, Unknown) else f"{change:+,}"


def _change_of_cost(sides: Iterable[tuple[Level | None, ...]], hours: int) -> str:
    """How much more the dearest hosts cost."""
    more = 0.0
    for old, new in sides:
        before, after = (_NO_COST if each is None else each.usd_per_hour for each in (old, new))
        if before is None or after is None:
            return NOT_KNOWN
        more += (after.most - before.most) * hours
    return f"{'-' if more < 0 else '+'}{dollars(abs(more))}"


def _of_pool(old: PoolPlan | None, new: PoolPlan | None) -> PoolDifference | None:
    name = next((each.pool.name for each in (new, old) if each is not None), "")
    before, after = _values(old), _values(new)
    rows = tuple(
        Row(what=what, old=before.get(what, _NOTHING), new=after.get(what, _NOTHING))
        for what in dict.fromkeys((*after, *before))
        if before.get(what) != after.get(what)
    )
    if not rows:
        return None
    status = Status.ADDED if old is None else Status.REMOVED if new is None else Status.CHANGED
    return PoolDifference(name=name, status=status, rows=rows)


def _values(plan: PoolPlan | None) -> dict[str, str]:
    """What readers compare of a pool."""
    if plan is None:
        return {}
    pool, levels = plan.pool, {"at minimum": plan.minimum, **{_LEVELS[at]: getattr(plan, at) for at in _LEVELS}}
    deployment, place = plan.deployment, place_of(pool)
    return {
        **{what: value for what, value in (("region", place.region), ("account", place.account)) if value is not None},
        "instance types": ", ".join([*(each.label for each in pool.instance_types), *pool.batch_words]) or NOT_KNOWN,
        "bought": str(pool.bought.option),
        **{f"hosts {words}": number(each.hosts) for words, each in levels.items()},
        **{f"an hour {words}": _cost(plan, each) for words, each in levels.items()},
        **({} if deployment is None else {"hosts while deploying": number(deployment.hosts)}),
        "stranded GPUs": number(sum(each.hosts * each.gpus for each in plan.stranded)),
        **{
            f"copies of {brief(_short(each.workload.name, each.workload.origin), LABEL)}": number(
                each.workload.desired_count
            )
            for each in plan.tasks
            if each.workload.is_service
        },
        **{
            f"hosts of one start of {brief(_short(each.name, pool.origin), LABEL)}": number(each.hosts)
            for each in plan.starts
        },
    }


def _short(name: str, origin: Origin | None) -> str:
    """A name without that of its stack, which stands before it where another stack has the same name."""
    return name if origin is None or origin.stack is None else name.removeprefix(f"{origin.stack}/")


def _cost(plan: PoolPlan, level: Level) -> str:
    return "paid in advance" if level.usd_per_hour is None and plan.price.is_paid else amount(level.usd_per_hour)


def _quotas(old: FleetPlan, new: FleetPlan, changed: Collection[str]) -> Iterator[Row]:
    before, after = _needs(old), _needs(new)
    for key in dict.fromkeys((*after, *before)):
        code, way, group, place = key
        where = "".join(f", {each}" for each in (place.region, place.account) if each is not None)
        was, now = before.get(key), after.get(key)
        sides = [each for each in (was, now) if each is not None]
        is_open = any(name in changed for each in sides for name in each.unknown_pools)
        more = (0 if now is None else now.known_maximum) - (0 if was is None else was.known_maximum)
        yield Row(
            what=f"{code} ({way} {group}{where}), vCPUs at MaxSize",
            old=_vcpus(was),
            new=_vcpus(now),
            change=_more(UNKNOWN if is_open else more),
        )


def _vcpus(need: QuotaNeed | None) -> str:
    return "0" if need is None else partly(need.maximum, need.known_maximum)


def _needs(plan: FleetPlan) -> dict[tuple[str, str, str, Place], QuotaNeed]:
    return {(of.code, of.way, of.group, of.place): each for each in plan.quotas for of in (each.quota,)}
