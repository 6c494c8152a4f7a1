"""The lines at synth: hosts, GPUs and their price at the desired counts and at most, what is not known, and quotas."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from gpu_constructs.budget import LABEL, brief, clean
from gpu_constructs.fleet import Unknown
from gpu_constructs.placement.reasons import listed
from gpu_constructs.planning.fleet_plan import FleetPlan, PoolPlan
from gpu_constructs.planning.in_words import number, partly

_LEVELS = {"desired": "at the desired counts", "maximum": "at MaxSize"}
_COLUMNS = 80
_INDENT = "  "


def summary(plan: FleetPlan, *, start: str = "") -> str:
    """A plan in a few lines of 80 columns; empty for a fleet without accelerators.

    Args:
        plan: The plan.
        start: What the first line begins with; the others are indented.
    """
    if not any(each.accelerators for of in plan.pools for each in of.pool.instance_types):
        return ""
    said = (start + each if not place else each for place, each in enumerate(_said(plan)))
    return "\n".join(
        line
        for place, text in enumerate(said)
        for line in wrap(
            clean(text),
            _COLUMNS,
            initial_indent=_INDENT if place else "",
            subsequent_indent=_INDENT * 2,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _said(plan: FleetPlan) -> Iterator[str]:
    for level, words in _LEVELS.items():
        yield _level(plan, level, words)
    left_out = {level: _left_out(plan, level) for level in _LEVELS}
    is_same = left_out["desired"] == left_out["maximum"]
    for level, words in _LEVELS.items():
        if left_out[level] and (level == "desired" or not is_same):
            yield f"not counted{'' if is_same else f' {words}'}: {listed(left_out[level])}"
    quotas = listed(f"{each.quota.code} {partly(each.maximum, each.known_maximum)}" for each in plan.quotas)
    if quotas:
        yield f"quotas, in vCPUs: {quotas}"
    if plan.is_region_assumed:
        yield "prices are those of us-east-1, since no region is known"


def _level(plan: FleetPlan, level: str, words: str) -> str:
    found, left_out = plan.levels[level], plan.unpriced(level)
    if isinstance(found.hosts, Unknown) and not found.known_hosts:
        return f"an unknown number of hosts {words}"
    # Of a pool of which the hosts are not known nothing is counted, and that is said.
    counted = [getattr(each, level) for each in plan.pools]
    is_open = any(isinstance(each.gpus, Unknown) and not isinstance(each.hosts, Unknown) for each in counted)
    gpus = f"{found.known_gpus:,} or more GPUs" if is_open else _of(found.known_gpus, "GPU")
    cost = f"{found.usd_per_hour} an hour"
    if found.usd_per_hour is None or (left_out and not found.usd_per_hour.most):
        cost = "paid in advance" if all(each.price.is_paid for each in left_out) else "the price is not known"
    return f"{_of(found.known_hosts, 'host')} and {gpus} {words}, {cost}"


def _left_out(plan: FleetPlan, level: str) -> list[str]:
    """Pools that are not in the numbers of a level, or not in its price, and why."""
    return [
        f"{brief(each.pool.name, LABEL)} ({_why(each, level)})"
        for each in plan.unpriced(level)
        if not each.price.is_paid or isinstance(getattr(each, level).hosts, Unknown)
    ]


def _why(pool: PoolPlan, level: str) -> str:
    if isinstance(getattr(pool, level).hosts, Unknown):
        return pool.why_no_hosts
    return f"in the price: {pool.price.unknown}"


def _of(count: int, what: str) -> str:
    return f"{number(count)} {what}{'' if count == 1 else 's'}"
