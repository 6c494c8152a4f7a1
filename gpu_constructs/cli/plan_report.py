"""A plan for readers: as text, and as JSON, whose keys are only ever added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_constructs.check.planning.fleet_plan import UNPLANNED, FleetPlan, Level, PoolPlan, QuotaNeed
from gpu_constructs.check.planning.host_price import HOURS_A_MONTH, Usd
from gpu_constructs.check.planning.in_words import (
    NOT_KNOWN,
    BudgetVerdict,
    about_prices,
    amount,
    cost_of_level,
    deploying,
    idle,
    job_start,
    number,
    partly,
    stand_ins,
    stranded,
    types_of,
    warm_pool,
)
from gpu_constructs.cli.output import Line, json_text, pieces, table, unstyled
from gpu_constructs.errors import __version__, brief
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.prices import Price, dollars
from gpu_constructs.fleet import Unknown
from gpu_constructs.placement.reasons import listed

_INDENT = 12
_NO_FIT = "fits on none of these hosts, so no copy of it runs; gpu-constructs explain has the reasons"


def lines(plan: FleetPlan, *, width: int, verdict: BudgetVerdict | None = None) -> Iterator[Line]:
    """A plan as text."""
    if not plan.pools and not plan.unplanned:
        yield [("no hosts are defined in what was read, so nothing is planned", "warning")]
    elif plan.pools:
        yield from _totals(plan, width)
    for each in plan.pools:
        yield []
        yield from _pool(each, width)
    if plan.quotas:
        yield []
        yield [("quotas", "title"), (" (vCPUs, of each account and region)", "aside")]
        for need in plan.quotas:
            yield from pieces(f"  {need.quota.code}  ", _quota(need), width)
    yield from _not_planned(plan, width)
    if plan.prices:
        yield []
        yield from pieces("", about_prices(plan), width, style="aside")
    if verdict is not None:
        yield []
        yield from budget_lines(verdict, width)


def _totals(plan: FleetPlan, width: int) -> Iterator[Line]:
    levels = plan.levels
    rows = [
        ["hosts", *(partly(each.hosts, each.known_hosts) for each in levels.values())],
        ["GPUs", *(partly(each.gpus, each.known_gpus) for each in levels.values())],
        ["an hour", *(cost_of_level(plan, name) for name in levels)],
        ["a month", *(cost_of_level(plan, name, hours=HOURS_A_MONTH) for name in levels)],
    ]
    yield from numbers_table(("", *plan.levels), rows, width)
    # What is not known is never shown as part of a sum.
    left_out = dict.fromkeys(each for name in plan.levels for each in plan.unpriced(name))
    for each in left_out:
        yield from pieces("not counted  ", f"{brief(each.pool.name, LABEL)}: {each.why_unpriced}", width)


def _not_planned(plan: FleetPlan, width: int) -> Iterator[Line]:
    if plan.elsewhere:
        yield []
        yield from pieces("", f"not planned: {listed(plan.elsewhere)}, whose hosts are not in these files", width)
    if plan.unplanned:
        if plan.pools or plan.elsewhere:
            yield []
        names = listed(brief(each.name, LABEL) for each in plan.unplanned)
        yield from pieces("", f"not planned: {names}, because {UNPLANNED}", width)


def _pool(each: PoolPlan, width: int) -> Iterator[Line]:
    pool = each.pool
    yield [(brief(pool.name, LABEL), "title")]
    yield from pieces("  ", f"{types_of(pool)}, {pool.bought.option}, {pool.kind.value}", width)
    for name, text in _facts_in_words(each):
        yield from pieces(f"  {name:<{_INDENT - 2}}", text, width)


def _facts_in_words(each: PoolPlan) -> Iterator[tuple[str, str]]:
    levels = (each.minimum, each.desired, each.maximum)
    low, wanted, most = (number(level.hosts) for level in levels)
    limit = "MaxSize" if each.is_scaled else "there are"
    short = f"; the copies need {number(each.short)} more than {limit}" if each.short else ""
    yield "hosts", f"{low} at minimum, {wanted} at the desired counts, {most} at MaxSize{short}"
    if any(level.gpus != 0 for level in levels):
        low, wanted, most = (number(level.gpus) for level in levels)
        yield "GPUs", f"{low}, {wanted}, {most}"
    yield from _price_in_words(each)
    for task in each.tasks:
        yield "tasks", f"{brief(task.workload.name, LABEL)}: {number(task.copies)} on a host"
    for start in each.starts:
        yield "start", f"{brief(start.name, LABEL)}: {job_start(start)}"
    for found in each.stranded:
        yield "stranded", stranded(found)
    if each.deployment is not None:
        yield "deploying", deploying(each.deployment)
    if each.misfits:
        yield "waiting", f"{listed(each.misfits)}: {_NO_FIT}"
    yield from _idle_in_words(each)


def _idle_in_words(each: PoolPlan) -> Iterator[tuple[str, str]]:
    if each.pool.group.warm_pool is not None:
        yield "warm pool", warm_pool(each)
    if each.idle_quarter_hour is not None:
        yield "idle", idle(each.idle_quarter_hour)


def _price_in_words(each: PoolPlan) -> Iterator[tuple[str, str]]:
    if each.price.prices:
        low, wanted, most = (amount(level.usd_per_hour) for level in (each.minimum, each.desired, each.maximum))
        yield "an hour", f"{low}, {wanted}, {most}; one host {amount(each.price.of_one)}"
    else:
        yield "an hour", f"{NOT_KNOWN}: {each.price.unknown}"
    if other := stand_ins(each):
        yield "price", other


def _quota(need: QuotaNeed) -> str:
    quota = need.quota
    doubt = f"; {quota.doubt}" if quota.doubt else ""
    place = ", ".join(each for each in (quota.place.region, quota.place.account) if each is not None)
    return (
        f"{quota.way} {quota.group}{f', {place}' if place else ''}: "
        f"{partly(need.desired, need.known_desired)} at the desired counts, "
        f"{partly(need.maximum, need.known_maximum)} at MaxSize{doubt}"
    )


def budget_lines(verdict: BudgetVerdict, width: int) -> Iterator[Line]:
    """What a plan has against a budget, as text."""
    for text, style in ((verdict.above, "error"), (verdict.open, "warning")):
        if text:
            yield from pieces("budget: ", text, width, style=style)
    if verdict.is_kept:
        assumed = f", {verdict.assumed}" if verdict.assumed else ""
        text = f"within {dollars(verdict.usd_per_hour)} an hour{assumed}"
        yield from pieces("budget: ", text, width, style="good")


def numbers_table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Line]:
    """A table of numbers on the right of their names; a list where it is too wide."""
    found = list(table(head, rows, width=width, right=head[1:]))
    if all(len(unstyled(each)) <= width for each in found):
        yield from found
        return
    for name, *cells in rows:
        values = (f"{title} {cell}" for title, cell in zip(head[1:], cells, strict=True))
        yield from pieces(f"{name}: ", "; ".join(values), width)


def json_report(plan: FleetPlan, verdict: BudgetVerdict | None = None) -> str:
    """A plan as JSON; what is not known is null.

    Args:
        plan: The plan.
        verdict: What is to be said of a budget; None without one.
    """
    return json_text({"version": __version__, **facts_of(plan), "budget": budget_facts(verdict)})


def budget_facts(verdict: BudgetVerdict | None) -> dict[str, object] | None:
    """What a plan has against a budget, in values of JSON; None without a budget."""
    if verdict is None:
        return None
    return {
        "usd_per_hour": verdict.usd_per_hour,
        "kept": verdict.is_kept,
        "above": verdict.above or None,
        "not_known": verdict.open or None,
        "assumed": verdict.assumed or None,
    }


def facts_of(plan: FleetPlan) -> dict[str, object]:
    """A plan in values of JSON."""
    return {
        "levels": {
            name: {
                **_level(each),
                "known_hosts": each.known_hosts,
                "known_gpus": each.known_gpus,
                "is_complete": not plan.unpriced(name),
                "not_counted": {of.pool.name: of.why_unpriced for of in plan.unpriced(name)},
            }
            for name, each in plan.levels.items()
        },
        "pools": [_pool_facts(each) for each in plan.pools],
        "quotas": [
            {
                "code": each.quota.code,
                "group": each.quota.group,
                "purchase": each.quota.way,
                "region": each.quota.place.region,
                "account": each.quota.place.account,
                "doubt": each.quota.doubt,
                "desired_vcpus": _json(each.desired),
                "maximum_vcpus": _json(each.maximum),
                "known_desired_vcpus": each.known_desired,
                "known_maximum_vcpus": each.known_maximum,
                "pools": list(each.pools),
                "unknown_pools": list(each.unknown_pools),
                "is_complete": not each.unknown_pools,
            }
            for each in plan.quotas
        ],
        "not_planned": list(plan.elsewhere),
        "not_planned_environments": [each.name for each in plan.unplanned],
    }


def _pool_facts(each: PoolPlan) -> dict[str, object]:
    found = each.deployment
    return {
        "pool": each.pool.name,
        "kind": each.pool.kind.value,
        "purchase": None if isinstance(each.pool.bought.option, Unknown) else str(each.pool.bought.option),
        "region": each.pool.region,
        "instance_types": [of.name for of in each.pool.instance_types],
        "prices": [_price(of) for of in each.price.prices],
        "price_not_known": each.price.unknown or None,
        "cheapest": None if each.price.cheapest is None else _price(each.price.cheapest),
        "is_spot": each.price.is_spot,
        "minimum": _level(each.minimum),
        "desired": {**_level(each.desired), "short": each.short, "warm_hosts": _json(each.warm)},
        "maximum": _level(each.maximum),
        "never_fit": list(each.misfits),
        "tasks": [
            {
                "workload": of.workload.name,
                "starter": of.workload.starter.value,
                "copies_per_host": _json(of.copies),
                "hosts_of_one_start": None if of.hosts is None else _json(of.hosts),
            }
            for of in each.tasks
        ],
        "starts": [
            {
                "name": of.name,
                "hosts": _json(of.hosts),
                "usd_per_hour": _usd(of.usd_per_hour),
                "limit_seconds": of.limit_seconds,
                "usd_until_limit": _usd(of.usd_until_limit),
            }
            for of in each.starts
        ],
        "stranded": [
            {
                "hosts": of.hosts,
                "gpus": of.gpus,
                "gpus_per_host": of.gpus_per_host,
                "exhausted": list(of.exhausted),
            }
            for of in each.stranded
        ],
        "deployment": None
        if found is None
        else {
            "hosts": _json(found.hosts),
            "extra": _json(found.extra),
            "beyond_max_size": _json(found.beyond),
            "stuck": list(found.stuck),
            "too_large": list(found.too_large),
            "interrupted": list(found.interrupted),
        },
        "idle_quarter_hour": _usd(each.idle_quarter_hour),
    }


def _price(found: Price) -> dict[str, object]:
    return {
        "instance_type": found.instance_type,
        "usd_per_hour": found.usd_per_hour,
        "region": found.region,
        "recorded": found.recorded.isoformat(),
        "dated": found.dated,
    }


def _level(level: Level) -> dict[str, object]:
    month = None if level.usd_per_hour is None else level.usd_per_hour.times(HOURS_A_MONTH)
    return {
        "hosts": _json(level.hosts),
        "gpus": _json(level.gpus),
        "usd_per_hour": _usd(level.usd_per_hour),
        "usd_per_month": _usd(month),
    }


def _usd(found: Usd | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {"least": None if found.least is None else round(found.least, 6), "most": round(found.most, 6)}


def _json(value: int | Unknown) -> int | None:
    return None if isinstance(value, Unknown) else value
