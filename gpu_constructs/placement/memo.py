"""A memory of what was derived from frozen values, found again by the objects themselves.

Comparing or hashing a pool of twenty instance types takes longer than what is asked about it; whether it is the same
object takes no time. The values are frozen, so what was derived from one stays true.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

_Value = TypeVar("_Value")
_Derived = TypeVar("_Derived")


class Identical(Generic[_Value]):
    """A key that is equal to another of the very same objects; it keeps them, so that their ids stay taken."""

    __slots__ = ("_hash", "_ids", "values")

    def __init__(self, *values: _Value) -> None:
        self.values = values
        self._ids = tuple(map(id, values))
        self._hash = hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identical) and self._ids == other._ids

    def __hash__(self) -> int:
        return self._hash


def by_identity(maxsize: int) -> Callable[[Callable[[_Value], _Derived]], Callable[[_Value], _Derived]]:
    """Keeps results of a function of one frozen value."""

    def kept(derive: Callable[[_Value], _Derived]) -> Callable[[_Value], _Derived]:
        # Each value is kept with its result, so that its id stays taken.
        known: dict[int, tuple[_Value, _Derived]] = {}

        @wraps(derive)
        def of(value: _Value) -> _Derived:
            found = known.get(id(value))
            if found is not None:
                return found[1]
            derived = derive(value)
            if len(known) >= maxsize:
                known.clear()  # cheaper than to know which was used last
            known[id(value)] = value, derived
            return derived

        return of

    return kept
