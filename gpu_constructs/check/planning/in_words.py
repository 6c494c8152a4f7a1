"""A plan in words: lines at synth, numbers, and whether it keeps a budget. What is not known is never shown as 0."""

from __future__ import annotations

from gpu_constructs.check.planning.fleet_plan import UNPLANNED, FleetPlan, PoolPlan, QuotaNeed
from gpu_constructs.check.planning.host_price import HOURS_A_MONTH, SWITCHED_OFF, Usd
from gpu_constructs.check.planning.starts import JobStart
from gpu_constructs.errors import brief, clean
from gpu_constructs.facts import Vendor
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.prices import dollars
from gpu_constructs.fleet import PARTLY_SPOT, Pool, Unknown, Workload
from gpu_constructs.placement.costs import place_of
from gpu_constructs.placement.reasons import listed
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.finding import Text, Word

NOT_KNOWN = "not known"

LEVELS = {"desired": "at the desired counts", "maximum": "at MaxSize"}
_NO_FIT = "fits on none of these hosts, so no copy of it runs; gpu-constructs explain has the reasons"


def number(value: int | Unknown) -> str:
    """A number of hosts, GPUs, tasks or vCPUs."""
    return NOT_KNOWN if isinstance(value, Unknown) else f"{value:,}"


def partly(value: int | Unknown, known: int) -> str:
    """A number of which a part may not be known."""
    return f"{known:,} and more" if isinstance(value, Unknown) and known else number(value)


def amount(value: Usd | None) -> str:
    """An amount of money."""
    return NOT_KNOWN if value is None else f"{value}"


def rows_of_level(plan: FleetPlan, level: str) -> dict[str, str]:
    """What a report says of all pools at a level, by name: ``minimum``, ``desired`` or ``maximum``."""
    found = plan.levels[level]
    return {
        "hosts": partly(found.hosts, found.known_hosts),
        "GPUs": partly(found.gpus, found.known_gpus),
        "an hour": _cost(plan, level, 1),
        "a month": _cost(plan, level, HOURS_A_MONTH),
    }


def _cost(plan: FleetPlan, level: str, hours: int) -> str:
    """What all pools cost for so many hours, where something is not in it with a word that says so."""
    known, left_out = plan.levels[level].usd_per_hour, plan.unpriced(level)
    is_paid = all(each.price.is_paid for each in left_out)
    if known is None or (left_out and not known.most):
        return "paid in advance" if is_paid else NOT_KNOWN
    found = known.times(hours)
    if is_paid:  # an hour adds nothing to what is paid
        return f"{found}"
    return f"{found} for what is counted" if found.least is None else f"{found} and more"


def rows_of(each: PoolPlan) -> dict[str, str]:
    """What a report says of a pool, and two plans are compared by: values by their names."""
    pool, place = each.pool, place_of(each.pool)
    levels = (each.minimum, each.desired, each.maximum)
    of_types = (*(of.label for of in pool.instance_types), *pool.batch_words)
    types = listed(of_types, "or") if of_types else "types not known"
    devices = [of.accelerators for of in pool.instance_types if of.accelerators is not None]
    neuron = dict.fromkeys(str(of.count) for of in devices if of.vendor is Vendor.NEURON)
    rows = {
        "region": ", ".join(of for of in (place.region, place.account) if of is not None),
        "types": f"{types}, {pool.bought.option}, {pool.kind.value}",
        "hosts": "{} at minimum, {} at the desired counts, {} at MaxSize".format(*(number(of.hosts) for of in levels)),
        "GPUs": ", ".join(number(of.gpus) for of in levels) if any(of.gpus != 0 for of in levels) else "",
        "Neuron": f"devices on a host: {listed(neuron, 'or')}" if neuron else "",
        "an hour": f"{NOT_KNOWN}: {each.price.unknown}",
        "tasks": "; ".join(_task(of, copies, pool) for of, copies in each.tasks),
        "deploying": _deploying(each),
        "waiting": f"{listed(each.misfits)}: {_NO_FIT}" if each.misfits else "",
        "warm pool": _warm_pool(each),
    }
    if each.short:
        limit = "MaxSize" if each.is_scaled else "there are"
        rows["hosts"] += f"; the copies need {number(each.short)} more than {limit}"
    if each.price.prices:
        low, wanted, most = (amount(of.usd_per_hour) for of in levels)
        rows["an hour"] = f"{low}, {wanted}, {most}; one host {amount(each.price.of_one)}"
    return {name: text for name, text in rows.items() if text}


def _task(workload: Workload, copies: int | Unknown, pool: Pool) -> str:
    origin = pool.origin
    stack = None if origin is None or workload.origin is None else origin.stack
    # Where other stacks have the same names, that of the stack stands before them.
    name = brief(workload.name if stack is None else workload.name.removeprefix(f"{stack}/"), LABEL)
    wanted = f", {number(workload.desired_count)} wanted" if workload.is_service else ""
    return f"{name}: {number(copies)} on a host{wanted}"


def rows_of_starts(plan: FleetPlan) -> dict[str, str]:
    """What a report says of one start of each job, by the name of the job."""
    return {brief(each.job, LABEL): _start(each) for each in plan.starts}


def _start(each: JobStart) -> str:
    stack = each.job[: each.job.find("/") + 1]
    of = f"of {listed((of.removeprefix(stack) for of in each.pools), 'or')}"
    if each.hosts is None:
        return f"{NOT_KNOWN} how many hosts {of}"
    text = f"{_of(each.hosts, 'host')} {of}, {amount(each.usd_per_hour)} an hour"
    if each.limit_seconds is None or each.usd_until_limit is None:
        return text if each.usd_per_hour is None else f"{text}; no time limit is known, so neither is the cost"
    unit, size = next(of for of in (("hour", 3600), ("minute", 60), ("second", 1)) if each.limit_seconds >= of[1])
    text += f"; {each.usd_until_limit} until its time limit of {_of(each.limit_seconds / size, unit)}"
    most = NOT_KNOWN if each.usd_at_most is None else f"at most {dollars(each.usd_at_most)}"
    return text if each.usd_until_limit.most == each.usd_at_most else f"{text}, {most} with all retries"


def _deploying(each: PoolPlan) -> str:
    if each.deploying is None:
        return ""
    if isinstance(each.deploying, Unknown):
        return f"{NOT_KNOWN} how many hosts a deployment of all services takes"
    return f"{_of(each.deploying, 'host')} if all services are deployed at once"


def _warm_pool(found: PoolPlan) -> str:
    warm = found.pool.group.warm_pool
    if warm is None:
        return ""
    if isinstance(found.warm, Unknown):
        return f"{NOT_KNOWN} how many hosts run in it"
    if warm.state in SWITCHED_OFF:
        return "its hosts do not run, and cost only their disks, which are not in the plan"
    verb = "runs" if found.warm == 1 else "run"
    return f"{number(found.warm)} of the hosts at the desired counts {verb} in it, and cost what all others cost"


def about_quota(need: QuotaNeed) -> str:
    """What is counted against which quota."""
    place = need.quota.place
    return _named(need, *(each for each in (place.region, place.account) if each is not None))


def _named(need: QuotaNeed, *more: str) -> str:
    quota = need.quota
    return f"{quota.code} ({', '.join((f'{quota.way} {quota.group}', *more))})"


def about_prices(*plans: FleetPlan) -> str:
    """What the prices of plans are, of which day, and what is not in them; empty where there are none."""
    pools = [each for plan in plans for each in plan.pools if each.price.prices]
    prices = [price for each in pools for price in each.price.prices]
    if not prices:
        return ""
    lists = listed(dict.fromkeys(f"{price.region}, {price.day}" for price in prices))
    is_assumed = any(plan.is_region_assumed for plan in plans)
    region = "; where a region is not known, the prices of us-east-1 stand in" if is_assumed else ""
    is_spot = any(each.pool.bought.option in PARTLY_SPOT for each in pools)
    spot = "; Spot prices change all the time, and the on-demand price is the most that they can be" if is_spot else ""
    return (
        f"on-demand list prices ({lists}){region}{spot}. A month has {HOURS_A_MONTH} hours. Disks, traffic, taxes and "
        "discounts are not in them."
    )


def summary(plan: FleetPlan) -> tuple[str, ...]:
    """A plan in a few lines; none for a fleet without accelerators."""
    if not any(each.accelerators for of in plan.pools for each in of.pool.instance_types):
        return ()
    left_out = dict.fromkeys((*plan.unpriced("desired"), *plan.unpriced("maximum")))
    quotas = listed(f"{_named(each)} {partly(each.maximum, each.known_maximum)}" for each in plan.quotas)
    levels = ((words, rows_of_level(plan, level)) for level, words in LEVELS.items())
    said = (
        *(f"hosts {of['hosts']}, GPUs {of['GPUs']}, an hour {of['an hour']} {words}" for words, of in levels),
        *(f"not counted: {brief(each.pool.name, LABEL)} ({each.why_unpriced})" for each in left_out),
        *([f"quotas, in vCPUs: {quotas}"] if plan.quotas else []),
        *(["prices are those of us-east-1, since no region is known"] if plan.is_region_assumed else []),
    )
    return tuple(map(clean, said))


def _of(count: float, what: str) -> str:
    return f"{count:,.10g} {what}{'' if count == 1 else 's'}"


BUDGET = "budget"
BUDGET_NOT_KNOWN = "budget-not-known"
"""What findings about a budget are called; they are about a choice of the app, so no rule asks for them."""


def over_budget(plan: FleetPlan, usd_per_hour: float) -> tuple[Finding, ...]:
    """What is against a budget: an error above it, a warning where that is not known; nothing if it is certainly kept.

    The hosts at MaxSize of all pools count; those of a Capacity Block are paid and cost no more.
    """
    amounts = ((each.maximum.usd_per_hour.most, each) for each in plan.pools if each.maximum.usd_per_hour is not None)
    dearest = sorted(amounts, key=lambda pair: -pair[0])
    most = sum(usd for usd, _ in dearest)
    unpriced = [each for each in plan.unpriced("maximum") if not each.price.is_paid]
    unknown = [
        *((each.pool.name, each.why_unpriced, each.pool.origin) for each in unpriced),
        *((each.name, UNPLANNED, each.origin) for each in plan.unplanned),
    ]
    found = []
    if most > usd_per_hour:
        pools = listed(f"{each.pool.name} {dollars(usd)}" for usd, each in dearest if usd)
        above = f"{dollars(most - usd_per_hour)} above the budget of {dollars(usd_per_hour)}: {pools}"
        finding = Finding(
            rule=BUDGET,
            severity=Severity.ERROR,
            subject=BUDGET,
            message=Text("at ", Word("MaxSize"), f" the hosts can cost {dollars(most)} an hour, which is {above}"),
            fix=Text("a lower ", Word("MaxSize"), ", or a higher budget"),
            origin=dearest[0][1].pool.origin,
        )
        found.append(finding)
    if unknown:
        why = listed(f"{name}: {reason}" for name, reason, _ in unknown)
        finding = Finding(
            rule=BUDGET_NOT_KNOWN,
            severity=Severity.WARNING,
            subject=BUDGET_NOT_KNOWN,
            message=f"what some hosts can cost is not known ({why})",
            origin=unknown[0][2],
        )
        found.append(finding)
    return tuple(found)
