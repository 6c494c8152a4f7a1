"""How many examples a property is tried with: a few in every run, many times as many where ``make fuzz`` asks."""

from __future__ import annotations

import os

__all__ = ["times"]

_TIMES = int(os.environ.get("TIMES", "1"))


def times(usual: int) -> int:
    """Examples of one property.

    Args:
        usual: How many are tried in every run.
    """
    return usual * _TIMES
