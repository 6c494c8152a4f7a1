"""A memory of what was derived from frozen values, found again by the objects themselves.

Comparing or hashing a pool of twenty instance types takes longer than what is asked about it; whether it is the same
object takes no time. The values are frozen, so what was derived from one stays true.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Generic, TypeVar

__all__ = ["Identical", "by_identity"]

_Value = TypeVar("_Value")
_Derived = TypeVar("_Derived")


class Identical(Generic[_Value]):
    """A key that is equal to another of the very same objects; it keeps them, so that their ids stay taken.

    Args:
        values: The objects, in order.
    """

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
    """Keeps the last results of a function of one frozen value.

    Args:
        maxsize: How many results are kept.
    """

    def kept(derive: Callable[[_Value], _Derived]) -> Callable[[_Value], _Derived]:
        @lru_cache(maxsize=maxsize)
        def of_key(key: Identical[_Value]) -> _Derived:
            return derive(key.values[0])

        @wraps(derive)
        def of(value: _Value) -> _Derived:
            return of_key(Identical(value))

        return of

    return kept
