"""Numbers of a plan as readers get them: what is not known has a word, and is never shown as 0."""

from __future__ import annotations

from gpu_constructs.fleet import Unknown
from gpu_constructs.planning.fleet_plan import FleetPlan
from gpu_constructs.planning.host_price import Usd

__all__ = ["NOT_KNOWN", "amount", "cost_of_level", "number"]

NOT_KNOWN = "not known"


def number(value: int | Unknown) -> str:
    """A number of hosts, GPUs, tasks or vCPUs."""
    return NOT_KNOWN if isinstance(value, Unknown) else f"{value:,}"


def amount(value: Usd | None) -> str:
    """An amount of money."""
    return NOT_KNOWN if value is None else f"{value}"


def cost_of_level(plan: FleetPlan, level: str, *, hours: int = 1) -> str:
    """What all pools cost at a level, where something is not in it with a word that says so.

    Args:
        plan: The plan.
        level: ``minimum``, ``desired`` or ``maximum``.
        hours: For how many hours.
    """
    known, left_out = plan.levels[level].usd_per_hour, plan.unpriced(level)
    if not left_out:
        return amount(None if known is None else known.times(hours))
    if known is None or not known.most:
        return "paid in advance" if all(each.price.is_paid for each in left_out) else NOT_KNOWN
    return f"{known.times(hours)} and more"
