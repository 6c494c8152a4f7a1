"""What a change does to the plan of a fleet: hosts, costs and quotas before and after.

What is not known of a pool, and reads the same before and after, is in no change: it cancels out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from operator import attrgetter

from gpu_constructs.check.planning.fleet_plan import FleetPlan, Level, PoolPlan
from gpu_constructs.check.planning.host_price import HOURS_A_MONTH
from gpu_constructs.check.planning.in_words import (
    LEVELS,
    NOT_KNOWN,
    about_quota,
    partly,
    rows_of,
    rows_of_level,
    rows_of_starts,
)
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.prices import dollars
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Unknown
from gpu_constructs.placement.costs import place_of
from gpu_constructs.placement.fit import fit
from gpu_constructs.placement.reasons import listed

_NOTHING = "-"
_Pair = tuple["PoolPlan | None", "PoolPlan | None"]


class Status(Enum):
    """What became of a pool."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One value before and after, as it is shown; `change` is the difference of two numbers, and else empty."""

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
    """What became of one pool, with the values that are not the same, and what that does to hosts and tasks."""

    name: str
    status: Status
    rows: tuple[Compared, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDifference:
    """Two plans compared.

    Attributes:
        totals: Hosts and costs of the whole fleet, the same ones too.
        pools: Pools that are not the same.
        quotas: What is needed of quotas, where that is not the same.
        starts: What one start of a job takes, likewise.
    """

    totals: tuple[Compared, ...]
    pools: tuple[PoolDifference, ...]
    quotas: tuple[Compared, ...]
    starts: tuple[Compared, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both plans say the same."""
        return not (self.pools or self.quotas or self.starts or any(each.is_change for each in self.totals))


def difference(old: FleetPlan, new: FleetPlan) -> PlanDifference:
    """What a change does to a plan."""
    pairs = _pairs(old.pools, new.pools)
    rows = [(pair, _rows(*({} if each is None else rows_of(each) for each in pair))) for pair in pairs]
    changed = [pair for pair, changes in rows if changes]
    names = {each.pool.name for pair in changed for each in pair if each is not None}
    return PlanDifference(
        totals=tuple(_totals(old, new, changed)),
        pools=tuple(_of_pool(*pair, changes) for pair, changes in rows if changes),
        quotas=tuple(each for each in _quotas(old, new, names) if each.is_change),
        starts=_rows(rows_of_starts(old), rows_of_starts(new)),
    )


def _pairs(old: Sequence[PoolPlan], new: Sequence[PoolPlan]) -> list[_Pair]:
    """Which pool became which: another stack may change the names of all, and a stack may be renamed."""
    left, became = list(old), dict[str, PoolPlan]()
    for key in (_in_place, attrgetter("pool.name")):
        waiting = [each for each in new if each.pool.name not in became]
        before, after = (_alone(key, of) for of in (left, waiting))
        found = {after[each].pool.name: before[each] for each in after if each in before}
        became |= found
        taken = {each.pool.name for each in found.values()}
        left = [each for each in left if each.pool.name not in taken]
    return [*((became.get(each.pool.name), each) for each in new), *((each, None) for each in left)]


def _alone(key: Callable[[PoolPlan], Hashable], plans: Sequence[PoolPlan]) -> dict[Hashable, PoolPlan]:
    count = Counter(map(key, plans))
    return {key(each): each for each in plans if key(each) is not None and count[key(each)] == 1}


def _in_place(plan: PoolPlan) -> Hashable:
    origin = plan.pool.origin
    return None if origin is None or origin.stack is None else (origin.stack, origin.resource, place_of(plan.pool))


def _rows(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Compared, ...]:
    return tuple(
        Compared(what=what, old=before.get(what, _NOTHING), new=after.get(what, _NOTHING))
        for what in dict.fromkeys((*after, *before))
        if before.get(what) != after.get(what)
    )


def _of_pool(old: PoolPlan | None, new: PoolPlan | None, rows: tuple[Compared, ...]) -> PoolDifference:
    name = next((each.pool.name for each in (new, old) if each is not None), "")
    status = Status.ADDED if old is None else Status.REMOVED if new is None else Status.CHANGED
    return PoolDifference(name=name, status=status, rows=rows, note=_other_types(old, new) if old and new else "")


def _other_types(old: PoolPlan, new: PoolPlan) -> str:
    """What a change of instance types does to tasks: running hosts keep their types."""
    sides = [each.pool for each in (old, new)]
    if sides[0].instance_types == sides[1].instance_types or not all(each.types_are_known for each in sides):
        return ""
    before = {each.name: each.task for each, _ in old.tasks if each.is_service}
    changed = [(each, each.task) for each, _ in new.tasks if each.name in before and each.task != before[each.name]]
    moved = [
        each.name for each, task in changed if task and not fit(task, old.pool, constraints=each.constraints).hosts
    ]
    if not moved:
        return ""
    text = f"every task of {listed(moved)} is replaced on hosts of the new types"
    if new.pool.group.update is not None:
        return f"{text}, while running hosts are replaced: their tasks may end with them; use a second capacity"
    stays = "; hosts of MinSize stay as they are" if old.minimum.hosts != 0 else ""
    return f"{text}, for which MaxSize must leave room beside the old hosts{stays}"


def _totals(old: FleetPlan, new: FleetPlan, changed: Sequence[_Pair]) -> Iterator[Compared]:
    for level, words in LEVELS.items():
        before, after = rows_of_level(old, level), rows_of_level(new, level)
        sides = [[None if each is None else getattr(each, level) for each in pair] for pair in changed]
        for what, fact in _NUMBERS.items():
            more = [[0 if each is None else fact(each) for each in side] for side in sides]
            show = _more if what in _COUNTS else lambda each: f"{'-' if each < 0 else '+'}{dollars(abs(each))}"
            yield Compared(what=f"{what} {words}", old=before[what], new=after[what], change=_change(more, show))
    if old.unplanned or new.unplanned:
        was, now = (listed(brief(of.name, LABEL) for of in each.unplanned) for each in (old, new))
        yield Compared(what="not planned", old=was, new=now, change="" if was == now else NOT_KNOWN)


_more = "{:+,.0f}".format
_COUNTS = frozenset({"hosts", "GPUs"})
_NUMBERS: Mapping[str, Callable[[Level], float | Unknown | None]] = {
    "hosts": lambda level: level.hosts,
    "GPUs": lambda level: level.gpus,
    "an hour": lambda level: _most(level, 1),
    "a month": lambda level: _most(level, HOURS_A_MONTH),
}


def _most(level: Level, hours: int) -> float | None:
    return None if level.usd_per_hour is None else level.usd_per_hour.most * hours


def _change(sides: Iterable[Sequence[float | Unknown | None]], show: Callable[[float], str]) -> str:
    """How much more there is; not known where one of the numbers is not."""
    more = 0.0
    for old, new in sides:
        if old is None or new is None or isinstance(old, Unknown) or isinstance(new, Unknown):
            return NOT_KNOWN
        more += new - old
    return show(more)


def _quotas(old: FleetPlan, new: FleetPlan, changed: Collection[str]) -> Iterator[Compared]:
    before, after = ({about_quota(each): each for each in of.quotas} for of in (old, new))
    for what in dict.fromkeys((*after, *before)):
        sides = [each.get(what) for each in (before, after)]
        is_open = any(name in changed for each in sides if each is not None for name in each.unknown_pools)
        was, now = (0 if each is None else each.known_maximum for each in sides)
        old_vcpus, new_vcpus = ("0" if each is None else partly(each.maximum, each.known_maximum) for each in sides)
        change = NOT_KNOWN if is_open else _more(now - was)
        yield Compared(what=f"{what}, vCPUs at MaxSize", old=old_vcpus, new=new_vcpus, change=change)
