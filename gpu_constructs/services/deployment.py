"""How the services of some hosts share them: what a deployment may start, and what each fills of a first capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate, pairwise

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Unknown, Workload, total
from gpu_constructs.placement.rollout import PoolNeed, percent_for_one_less, rollout_percentages, slots_taken
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.tasks.workload import CapacityShare


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentages:
    """The percentages of a rolling deployment, each a number or a token.

    Attributes:
        least: Tasks that keep running.
        most: Tasks that may run at once.
    """

    least: int
    most: int

    @property
    def for_cdk(self) -> Percentages:
        """What CDK takes, which compares tokens as if they were numbers: where one is a token, any that it takes."""
        return _WIDEST if is_token(self.least) or is_token(self.most) else self

    def on(self, workload: Workload) -> Workload:
        """A service with these percentages."""
        return replace(
            workload,
            min_healthy_percent=UNKNOWN if is_token(self.least) else self.least,
            max_healthy_percent=UNKNOWN if is_token(self.most) else self.most,
        )


_WIDEST = Percentages(least=0, most=2 * MAX_PERCENT)


def percentages(
    count: int | Unknown, room: int | Unknown, *, min_healthy_percent: int | None, max_healthy_percent: int | None
) -> Percentages:
    """Percentages that let a deployment go on."""
    low = _percent("min_healthy_percent", min_healthy_percent)
    high = _percent("max_healthy_percent", max_healthy_percent)
    if isinstance(low, int) and isinstance(high, int) and low >= high:
        raise InvalidValueError(
            f"{low} % that keep running and {high} % at most leave a deployment nothing to do",
            argument="min_healthy_percent",
            value=low,
            allowed=f"less than {high}",
            fix="leave both out for percentages that let a deployment go on",
        )
    least, most = rollout_percentages(count, room, low, high)
    return Percentages(least=_token_or(min_healthy_percent, least), most=_token_or(max_healthy_percent, most))


@dataclass(slots=True, eq=False, kw_only=True)
class Sharer:
    """A service as those see it that share capacity with it, each of which leaves room for the others.

    Attributes:
        needs: What each of its tasks takes of its capacities.
        copies: Tasks that it may have at most.
        room: Tasks that its capacities hold at their maximum without others.
        given: The percentages that were given, the minimum first; None for each that was not.
        least: Tasks that it has at least, where their number is scaled; None elsewhere.
        write: What puts new percentages into its template.
        taken: Of its room, what each of the others takes.
    """

    needs: Mapping[str, PoolNeed | None]
    copies: int | Unknown
    room: int | Unknown
    given: tuple[int | None, int | None]
    least: int | None = None
    write: Callable[[Percentages], None]
    taken: dict[Sharer, int | Unknown] = field(default_factory=dict)

    @property
    def percentages(self) -> Percentages:
        """Percentages that let a deployment go on at every number of tasks that it and the others may have."""
        taken, most, (low, high) = total(self.taken.values()), self.copies, self.given
        room = UNKNOWN if isinstance(self.room, Unknown) or isinstance(taken, Unknown) else self.room - taken
        is_given = (low, high) != (None, None)
        if self.least is None or is_given or isinstance(room, Unknown) or isinstance(most, Unknown):
            count = most if self.least is None else UNKNOWN
            return percentages(count, room, min_healthy_percent=low, max_healthy_percent=high)
        # Twice one task is one more, at every number below the room; from the room itself on, one stops first.
        least = MAX_PERCENT if most < room else percent_for_one_less(max(1, self.least, min(most, room)))
        return Percentages(least=least, most=2 * MAX_PERCENT)

    def count(self, others: Iterable[Sharer]) -> None:
        """Counts those of others that share its capacity; they do not change."""
        self.taken = {
            each: slots_taken(self.needs, each.needs, each.copies)
            for each in others
            if not self.needs.keys().isdisjoint(each.needs)
        }

    def tell_others(self) -> None:
        """Has the others count this one as it is now."""
        for each in self.taken:
            each.taken[self] = slots_taken(each.needs, self.needs, self.copies)
            each.write(each.percentages)


def _token_or(given: int | None, number: int) -> int:
    return given if given is not None and is_token(given) else number


def _percent(argument: str, value: int | None) -> int | Unknown | None:
    if value is None:
        return None
    fix = "leave it out for one that lets a deployment go on"
    if argument.startswith("max"):
        return whole_number(argument, value, smallest=MAX_PERCENT, unit="percent", fix=fix)
    return whole_number(argument, value, smallest=0, largest=MAX_PERCENT, unit="percent", fix=fix)


@dataclass(slots=True, eq=False, kw_only=True)
class Filling:
    """What one service fills of the first capacity of its order, if it has one.

    ECS counts the base of each service by itself, and moves no task from a full capacity to the next: bases that add up
    to more than there is room for would leave tasks waiting while the next capacity has room.

    Attributes:
        alone: Its capacity provider strategy where no other service is.
        most: The most tasks that the service may have.
        write: What puts a new base of the first capacity into its template.
    """

    alone: Sequence[CapacityShare]
    most: int | Unknown
    write: Callable[[Capacity, int], None]

    @property
    def shares(self) -> Sequence[CapacityShare]:
        """Its strategy beside those that share its first capacity."""
        first = self.first
        if first is None:
            return self.alone
        base = bases_of([*(each for each in first.hosts.members(Filling) if each.first is first), self])[self]
        return [replace(each, base=base) if each.capacity is first else each for each in self.alone]

    def join(self) -> None:
        """Has the others leave room for it, once its service is made or may have another number of tasks."""
        first = self.first
        if first is None:
            return
        members = first.hosts.members(Filling)
        if self not in members:
            members.append(self)
        for each, base in bases_of([each for each in members if each.first is first]).items():
            each.write(first, base)

    @property
    def room(self) -> int:
        """Tasks of it that the first capacity holds."""
        return max(each.base for each in self.alone)

    @property
    def first(self) -> Capacity | None:
        """The first capacity of its order, if it has one."""
        return next((each.capacity for each in self.alone if each.base), None)


def bases_of(together: Sequence[Filling]) -> dict[Filling, int]:
    """The base of each: by the most tasks that it may have, or like the others where that of one is not known."""
    known = [each.most for each in together if not isinstance(each.most, Unknown)]
    sizes = [max(1, each) for each in known] if len(known) == len(together) else [1] * len(together)
    ends = list(accumulate(sizes))
    if len({each.room for each in together}) > 1:
        # Tasks of several sizes: each has whole slots of its part of the hosts.
        return {each: each.room * size // ends[-1] for each, size in zip(together, sizes, strict=True)}
    filled = [-(-together[0].room * end // ends[-1]) for end in (0, *ends)]
    return {each: end - start for each, (start, end) in zip(together, pairwise(filled), strict=True)}
