"""Whether a fleet stays within a budget, whatever its scaling does."""

from __future__ import annotations

from gpu_constructs.check.planning.fleet_plan import UNPLANNED, FleetPlan, PoolPlan
from gpu_constructs.facts.prices import dollars
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Origin
from gpu_constructs.placement.reasons import listed
from gpu_constructs.rules import Finding, Severity

_ASSUMED = "at the prices of us-east-1, since no region is known"

BUDGET = "budget"
BUDGET_NOT_KNOWN = "budget-not-known"
"""What findings about a budget are called; they are about a choice of the app, so no rule asks for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetVerdict:
    """What a plan has against a budget.

    Attributes:
        usd_per_hour: The budget.
        above: Why the plan certainly does not stay within it, in words; empty where it may.
        open: Why that is not known, in words; empty where it is.
        assumed: What is taken for granted of the prices, in words; empty where nothing is.
        dearest: Where the hosts that cost the most were written; None where that is not known.
        unpriced: Where the first hosts without a price were written, likewise.
    """

    usd_per_hour: float
    above: str = ""
    open: str = ""
    assumed: str = ""
    dearest: Origin | None = None
    unpriced: Origin | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the plan certainly stays within the budget."""
        return not self.above and not self.open


def verdict(plan: FleetPlan, usd_per_hour: float) -> BudgetVerdict:
    """Holds the hosts at MaxSize of all pools against a budget; those of a Capacity Block are paid and cost no more."""
    elsewhere = {each.pool.name for each in plan.pools if _is_of_another_region(each)}
    priced = [each for each in plan.pools if each.pool.name not in elsewhere]
    amounts = ((each.maximum.usd_per_hour.most, each) for each in priced if each.maximum.usd_per_hour is not None)
    dearest = sorted(amounts, key=lambda pair: -pair[0])
    most = sum(usd for usd, _ in dearest)
    above = ""
    if most > usd_per_hour:
        pools = listed(f"{each.pool.name} {dollars(usd)}" for usd, each in dearest if usd)
        above = (
            f"at MaxSize the hosts can cost {dollars(most)} an hour, which is {dollars(most - usd_per_hour)} above the "
            f"budget of {dollars(usd_per_hour)}: {pools}"
        )
    unpriced = {each.pool.name for each in plan.unpriced("maximum") if not each.price.is_paid}
    unknown = [each for each in plan.pools if each.pool.name in elsewhere | unpriced]
    origins = [*(each.pool.origin for each in unknown), *(each.origin for each in plan.unplanned)]
    why = [f"{each.pool.name}: {_why(each)}" for each in unknown]
    why += [f"{each.name}: {UNPLANNED}" for each in plan.unplanned]
    return BudgetVerdict(
        usd_per_hour=usd_per_hour,
        above=above,
        open=f"what some hosts can cost is not known ({listed(why)})" if why else "",
        assumed=_ASSUMED if plan.is_region_assumed else "",
        dearest=dearest[0][1].pool.origin if dearest else None,
        unpriced=origins[0] if origins else None,
    )


def _is_of_another_region(each: PoolPlan) -> bool:
    return bool(each.price.standing_in(each.pool)) and each.maximum.hosts != 0


def _why(each: PoolPlan) -> str:
    if each.maximum.usd_per_hour is None:
        return each.why_unpriced
    missing = listed(of.instance_type for of in each.price.standing_in(each.pool))
    return f"the price list of {each.pool.region} does not have {missing}"


def findings_of(found: BudgetVerdict) -> tuple[Finding, ...]:
    """What is against a budget, as a validation reports it: an error above it, a warning where that is not known."""
    said = (
        (BUDGET, Severity.ERROR, found.above, "a lower MaxSize, or a higher budget", found.dearest),
        (BUDGET_NOT_KNOWN, Severity.WARNING, found.open, "", found.unpriced),
    )
    return tuple(
        Finding(rule=rule, severity=severity, subject=rule, message=text, fix=fix, origin=origin)
        for rule, severity, text, fix, origin in said
        if text
    )
