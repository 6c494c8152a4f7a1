"""Amounts that are written as texts, with or without a unit: ``1024``, ``0.5``, ``2 vCPU``, ``1 GB``."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["amount"]

_AMOUNT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})\s*([A-Za-z]{0,8})")


def amount(text: str, units: Mapping[str, int]) -> int | None:
    """A whole amount, rounded down; None if the text is none, or has another unit.

    Args:
        text: As written.
        units: What one of each unit is, by its name in small letters; the empty name is for a number alone.
    """
    found = _AMOUNT.fullmatch(text.strip())
    unit = None if found is None else units.get(found[2].lower())
    return None if found is None or unit is None else int(float(found[1]) * unit)
