"""What the steps show of the tables of ``docs/account.md``, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpu_constructs.facts.prices import on_demand_price
from tools.smoke.app import INSTANCE_TYPE
from tools.smoke.steps import DESTROY, Done

__all__ = ["SHOWN_BY", "costs", "findings"]

_PAGE = Path(__file__).parents[2] / "docs" / "account.md"

SHOWN_BY: Mapping[str, tuple[str, ...]] = {
    "quota and stock": ("preflight", "self-test"),
    "images": ("deploy", "self-test", "verify"),
    "roles": ("deploy", "self-test", "job"),
    "the start of a host": ("self-test",),
    "an update": ("update", "why"),
    "deletion": (DESTROY,),
    "`preflight`, `why`, `verify`, `run-self-test`": ("preflight", "why", "verify", "self-test"),
}
"""Rows of the page, and the steps that show them."""


def findings(done: Sequence[Done]) -> Iterator[tuple[str, bool | None, str]]:
    """Each row of the page, whether it was shown, and by which steps; None where not all of it was, or nothing."""
    ended = {each.step: each for each in done}
    rows = re.findall(r"^\| (.+?) \|", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for row in (each for each in rows if each not in {"option", "of each deploy"}):
        steps = [ended[each] for each in SHOWN_BY.get(row, ()) if each in ended]
        failed = [each.step for each in steps if not each.passed]
        is_whole = steps and len(steps) == len(SHOWN_BY[row]) and not any(each.unanswered for each in steps)
        verdict = False if failed else True if is_whole else None
        yield row, verdict, ", ".join(failed or [f"{each.step} in {each.seconds:,} s" for each in steps])


# https://aws.amazon.com/vpc/pricing/ and https://aws.amazon.com/ebs/pricing/, us-east-1, 2026
_NAT_HOUR, _NAT_GB, _ADDRESS_HOUR, _DISK_GB_HOUR = 0.045, 0.045, 0.005, 0.08 / 730
_IMAGES_GB, _DISK_GB = 8, 100


def costs(hours: float, region: str | None) -> dict[str, float]:
    """US dollars, by what for; prices of us-east-1 stand in for what is not known.

    Args:
        hours: How long the host runs. What is around it counts by started hours, for an hour more.
        region: Where.
    """
    price = on_demand_price(INSTANCE_TYPE, region)
    around = int(hours) + 2
    return {
        f"one {INSTANCE_TYPE}": hours * (price.usd_per_hour if price else 0),
        f"its disk of {_DISK_GB} GiB": hours * _DISK_GB * _DISK_GB_HOUR,
        f"a NAT gateway and its address, {around} hours": around * (_NAT_HOUR + _ADDRESS_HOUR),
        f"{_IMAGES_GB} GB of images through it": _IMAGES_GB * _NAT_GB,
    }
