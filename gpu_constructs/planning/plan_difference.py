"""What a change does to the plan of a fleet: hosts, costs and quotas before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from gpu_constructs.fleet import Unknown
from gpu_constructs.hardware.prices import dollars
from gpu_constructs.planning.fleet_plan import FleetPlan, Level, PoolPlan, QuotaNeed
from gpu_constructs.planning.host_price import HOURS_A_MONTH
from gpu_constructs.planning.in_words import NOT_KNOWN, amount, cost_of_level, number
from gpu_constructs.values import dataclass

__all__ = ["PlanDifference", "PoolDifference", "Row", "Status", "difference"]

_NOTHING = "-"
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
    """

    old: FleetPlan
    new: FleetPlan
    totals: tuple[Row, ...]
    pools: tuple[PoolDifference, ...]
    quotas: tuple[Row, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both plans say the same."""
        return not self.pools and not self.quotas and not any(each.is_change for each in self.totals)


def difference(old: FleetPlan, new: FleetPlan) -> PlanDifference:
    """What a change does to a plan.

    Args:
        old: The plan before it.
        new: The plan after it.
    """
    before = {each.pool.name: each for each in old.pools}
    after = {each.pool.name: each for each in new.pools}
    found = (_of_pool(name, before.get(name), after.get(name)) for name in dict.fromkeys((*after, *before)))
    return PlanDifference(
        old=old,
        new=new,
        totals=tuple(_totals(old, new)),
        pools=tuple(each for each in found if each is not None),
        quotas=tuple(each for each in _quotas(old, new) if each.is_change),
    )


def _totals(old: FleetPlan, new: FleetPlan) -> Iterator[Row]:
    for level, words in _LEVELS.items():
        before, after = old.levels[level], new.levels[level]
        yield _numbers(f"hosts {words}", before.hosts, after.hosts)
        yield _numbers(f"GPUs {words}", before.gpus, after.gpus)
        is_known = not old.unpriced(level) and not new.unpriced(level)
        for what, hours in (("an hour", 1), ("a month", HOURS_A_MONTH)):
            yield Row(
                what=f"{what} {words}",
                old=cost_of_level(old, level, hours=hours),
                new=cost_of_level(new, level, hours=hours),
                change=_change_of_cost(before, after, hours) if is_known else NOT_KNOWN,
            )


def _of_pool(name: str, old: PoolPlan | None, new: PoolPlan | None) -> PoolDifference | None:
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
    deployment = plan.deployment
    return {
        "instance types": ", ".join(each.label for each in pool.instance_types) or NOT_KNOWN,
        "bought": str(pool.bought.option),
        **{f"hosts {words}": number(each.hosts) for words, each in levels.items()},
        **{f"an hour {words}": _cost(plan, each) for words, each in levels.items()},
        **({} if deployment is None else {"hosts while deploying": number(deployment.hosts)}),
        "stranded GPUs": number(sum(each.hosts * each.gpus for each in plan.stranded)),
    }


def _cost(plan: PoolPlan, level: Level) -> str:
    return "paid in advance" if level.usd_per_hour is None and plan.price.is_paid else amount(level.usd_per_hour)


def _quotas(old: FleetPlan, new: FleetPlan) -> Iterator[Row]:
    before, after = _needs(old), _needs(new)
    for key in dict.fromkeys((*after, *before)):
        code, way, group, region = key
        where = f", {region}" if region else ""
        was, now = before.get(key), after.get(key)
        yield _numbers(
            f"{code} ({way} {group}{where}), vCPUs at MaxSize",
            0 if was is None else was.maximum,
            0 if now is None else now.maximum,
        )


def _needs(plan: FleetPlan) -> dict[tuple[str, str, str, str | None], QuotaNeed]:
    return {(of.code, of.way, of.group, of.place.region): each for each in plan.quotas for of in (each.quota,)}


def _numbers(what: str, old: int | Unknown, new: int | Unknown) -> Row:
    known = not isinstance(old, Unknown) and not isinstance(new, Unknown)
    change = f"{new - old:+,}" if known and not isinstance(old, Unknown) and not isinstance(new, Unknown) else NOT_KNOWN
    return Row(what=what, old=number(old), new=number(new), change=change)


def _change_of_cost(old: Level, new: Level, hours: int) -> str:
    """How much more the dearest hosts cost."""
    if old.usd_per_hour is None or new.usd_per_hour is None:
        return NOT_KNOWN
    more = (new.usd_per_hour.most - old.usd_per_hour.most) * hours
    return f"{'-' if more < 0 else '+'}{dollars(abs(more))}"
