"""A value that nobody can know before the deploy, and sums that may hold one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

__all__ = ["UNKNOWN", "Unknown", "known", "total"]


class Unknown(Enum):
    """A value that only exists at deploy time, such as a CloudFormation parameter: it is never taken for a fit."""

    UNKNOWN = "unknown at synth"

    def __str__(self) -> str:
        return self.value


UNKNOWN = Unknown.UNKNOWN


def total(values: Iterable[int | Unknown]) -> int | Unknown:
    """The sum; unknown if a summand is."""
    result = 0
    for value in values:
        if isinstance(value, Unknown):
            return UNKNOWN
        result += value
    return result


def known(value: int | Unknown, otherwise: int = 0) -> int:
    """The value where it is known, and what stands for it where it is not."""
    return otherwise if isinstance(value, Unknown) else value
