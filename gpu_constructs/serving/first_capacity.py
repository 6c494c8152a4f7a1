"""The first capacity of an order, which the services that share it fill together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from weakref import WeakKeyDictionary

from gpu_constructs.fleet import Unknown
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.tasks.workload import CapacityShare


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
        first = self._first
        if first is None:
            return self.alone
        base = bases_of([*_FILLING.get(first, ()), self])[self]
        return [replace(each, base=base) if each.capacity is first else each for each in self.alone]

    def join(self) -> None:
        """Has the others leave room for it, once its service is made or may have another number of tasks."""
        first = self._first
        if first is None:
            return
        together = _FILLING.setdefault(first, [])
        if self not in together:
            together.append(self)
        for each, base in bases_of(together).items():
            each.write(first, base)

    @property
    def room(self) -> int:
        """Tasks of it that the first capacity holds."""
        return max(each.base for each in self.alone)

    @property
    def _first(self) -> Capacity | None:
        return next((each.capacity for each in self.alone if each.base), None)


_FILLING: WeakKeyDictionary[Capacity, list[Filling]] = WeakKeyDictionary()


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
