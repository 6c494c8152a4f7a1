"""The line at synth: hosts, GPUs and their price at the desired counts and at most, and the quotas."""

from __future__ import annotations

from gpu_constructs.fleet import Unknown
from gpu_constructs.placement.reasons import listed
from gpu_constructs.planning.fleet_plan import FleetPlan
from gpu_constructs.planning.in_words import cost_of_level, number

__all__ = ["summary"]

_LEVELS = {"desired": "at the desired counts", "maximum": "at MaxSize"}


def summary(plan: FleetPlan) -> str:
    """A plan in one line; empty for a fleet without accelerators.

    Args:
        plan: The plan.
    """
    if not any(each.accelerators for of in plan.pools for each in of.pool.instance_types):
        return ""
    levels = (_level(plan, level, words) for level, words in _LEVELS.items())
    quotas = listed(f"{each.quota.code} {number(each.maximum)}" for each in plan.quotas)
    return "; ".join((*levels, *([f"quotas, in vCPUs: {quotas}"] if quotas else ())))


def _level(plan: FleetPlan, level: str, words: str) -> str:
    found = plan.levels[level]
    cost = cost_of_level(plan, level)
    return f"{_of(found.hosts, 'host')} and {_of(found.gpus, 'GPU')} {words}, {cost}{' an hour' if '$' in cost else ''}"


def _of(count: int | Unknown, what: str) -> str:
    if isinstance(count, Unknown):
        return f"an unknown number of {what}s"
    return f"{number(count)} {what}{'' if count == 1 else 's'}"
