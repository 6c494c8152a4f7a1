"""The page of a plan: totals, what to look at, the pools with their hosts, quotas, and what the prices are."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256

from gpu_constructs.budget import DRAWN, DRAWN_POOLS, DRAWN_ROWS
from gpu_constructs.fleet import Unknown
from gpu_constructs.hardware.prices import dollars
from gpu_constructs.placement.reasons import listed
from gpu_constructs.planning.budget_verdict import BudgetVerdict
from gpu_constructs.planning.fleet_plan import UNPLANNED, FleetPlan, QuotaNeed
from gpu_constructs.planning.host_layout import Devices, PoolLayout, SlotUse, layouts_of
from gpu_constructs.planning.host_price import HOURS_A_MONTH
from gpu_constructs.planning.in_words import about_prices, amount, cost_of_level, hosts_word, partly
from gpu_constructs.planning.page.markup import items, name, table, text
from gpu_constructs.planning.page.pool_section import pool_section
from gpu_constructs.planning.page.style import STYLE

_LEVELS = {
    "minimum": ("At minimum", "MinSize of every pool"),
    "desired": ("At the desired counts", "what the services need"),
    "maximum": ("At maximum", "MaxSize of every pool"),
}
_OPEN_POOLS = 12


def page(plan: FleetPlan, *, title: str = "GPU plan", verdict: BudgetVerdict | None = None) -> str:
    """A plan as one HTML page that needs nothing else.

    Args:
        plan: The plan.
        title: What the page is called, such as the name of the app.
        verdict: What is to be said of a budget; None without one.
    """
    pools = tuple(layouts_of(plan))
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{text(title, 255)}</title>",
        f"<style>{STYLE}</style></head>",
        '<body><a class="skip" href="#pools">Skip to the hosts</a>',
        "<header>",
        f'<p class="eyebrow">{name(title)}</p>',
        _headline(plan),
        _devices(pools),
        "</header>",
        "<main>",
        _totals(plan),
        _attention(plan, pools, verdict),
        *_pools(pools),
        _quotas(plan),
        "</main>",
        _footer(plan),
        "</body></html>",
        "",
    ]
    # Characters outside ASCII are written as numbers, so that a page is the same in every encoding.
    return "\n".join(parts).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _headline(plan: FleetPlan) -> str:
    """What the plan comes to at the desired counts, in markup; what is not known is said after it."""
    if not plan.pools and plan.unplanned:
        return f"<h1>Nothing is planned, because {UNPLANNED}</h1>"
    if not plan.pools:
        return "<h1>No hosts are defined in what was read, so nothing is planned</h1>"
    hosts, gpus = plan.desired.known_hosts, plan.desired.known_gpus
    with_gpus = f" with {gpus:,} {'GPU' if gpus == 1 else 'GPUs'}" if gpus else ""
    usd = plan.desired.usd_per_hour
    cost = f", {usd} an hour" if usd is not None and (usd.most or not plan.unpriced("desired")) else ""
    left_out = [
        each.pool.name
        for each in plan.pools
        if isinstance(each.desired.hosts, Unknown) or (each.desired.usd_per_hour is None and not each.price.is_paid)
    ]
    without = f"without {listed(left_out)}: hosts or costs there are not known" if left_out else ""
    return (
        f"<h1>{hosts:,} {hosts_word(hosts)}{with_gpus}{text(cost)}</h1>"
        f'<p class="lede">at the desired counts of all services{f", {text(without)}" if without else ""}</p>'
    )


def _devices(pools: Sequence[PoolLayout]) -> str:
    """What becomes of all GPUs at the desired counts, as a bar and in words."""
    of_gpus = [each for each in pools if each.devices in {Devices.GPU, Devices.GPU_PART}]
    counts = {
        "held": sum(each.slots(SlotUse.HELD, SlotUse.SHARED, SlotUse.DAEMONS) for each in of_gpus),
        "stranded": sum(each.slots(SlotUse.STRANDED) for each in of_gpus),
        "free": sum(each.slots(SlotUse.FREE) for each in of_gpus),
    }
    total = sum(counts.values())
    words = {"held": "hold tasks", "stranded": "stranded: something else of their hosts is used up", "free": "free"}
    unknown = [each for each in of_gpus if each.why_unknown]
    said = [f'<span class="dot {use}"></span>{counts[use]:,} {words[use]}' for use in counts if counts[use]]
    if unknown:
        said.append(
            f'<span class="dot not_known"></span>not known of {len(unknown)} {"pool" if len(unknown) == 1 else "pools"}'
        )
    if not said:
        return ""
    x, parts = 0.0, []
    for use, count in counts.items():
        width = 1000 * count / (total or 1)
        parts.append(f'<rect class="{use}" x="{x:.1f}" width="{width:.1f}" height="12"/>')
        x += width
    svg = (
        f'<svg class="fleet" viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'
    )
    return f'<div class="use"><p>GPUs at the desired counts</p>{svg if total else ""}{items(said, "legend")}</div>'


def _totals(plan: FleetPlan) -> str:
    heading = '<h2 id="totals">Totals</h2>'
    cards = "".join(_card(plan, level, *words) for level, words in _LEVELS.items())
    return f'<section aria-labelledby="totals">{heading}<div class="cards">{cards}</div></section>'


def _card(plan: FleetPlan, level: str, title: str, meaning: str) -> str:
    found, left_out = plan.levels[level], plan.unpriced(level)
    known = found.usd_per_hour is not None and (found.usd_per_hour.most or not left_out)
    hour = amount(found.usd_per_hour) if known else cost_of_level(plan, level)
    month = amount(found.usd_per_hour.times(HOURS_A_MONTH)) if known and found.usd_per_hour is not None else hour
    per_hour = " <span>an hour</span>" if known else ""
    pools = "pool" if len(left_out) == 1 else "pools"
    more = f'<p class="warn">{len(left_out):,} {pools} not counted</p>' if known and left_out else ""
    facts = (
        ("A month", month),
        ("Hosts", partly(found.hosts, found.known_hosts)),
        ("GPUs", partly(found.gpus, found.known_gpus)),
    )
    return (
        f'<section class="card {level}"><h3>{title}</h3><p class="quiet">{meaning}</p>'
        f'<p class="cost">{text(hour)}{per_hour}</p>{more}'
        f"<dl>{''.join(f'<div><dt>{fact}</dt><dd>{text(value)}</dd></div>' for fact, value in facts)}</dl></section>"
    )


def _attention(plan: FleetPlan, pools: Sequence[PoolLayout], verdict: BudgetVerdict | None) -> str:
    found = list(_warnings(plan, pools, verdict))
    if not found:
        return ""
    lines = (f'<strong class="{style}">{label}</strong> <span>{said}</span>' for style, label, said in found)
    return f'<section aria-labelledby="look"><h2 id="look">Look at this</h2>{items(lines, "look")}</section>'


def _warnings(
    plan: FleetPlan, pools: Sequence[PoolLayout], verdict: BudgetVerdict | None
) -> Iterator[tuple[str, str, str]]:
    """What is wrong or not known, the worst first: how bad, in a word, and in a sentence of markup."""
    if verdict is not None:
        yield _of_budget(verdict)
    workloads = plan.proof.workloads
    for of in workloads:
        if of.answer is False:
            copies = f"{of.unplaced:,} of its copies" if of.unplaced else "its copies"
            yield "bad", "No room", f"for {copies}: {name(of.workload.name)}"
    for layout in pools:
        yield from _of_pool(layout)
    for of in workloads:
        if isinstance(of.answer, Unknown) and of.places:
            yield "warn", "Not known", f"whether all copies have room: {name(of.workload.name)}"
    for each in dict.fromkeys(each.pool.name for level in plan.levels for each in plan.unpriced(level)):
        why = next(of.why_unpriced for of in plan.pools if of.pool.name == each)
        yield "warn", "Not counted", f"in the costs: {name(each)}, {text(why)}"
    for workload in plan.elsewhere:
        yield "info", "Not planned", f"{name(workload)}, whose hosts are not in these files"
    for environment in plan.unplanned:
        yield "warn", "Not planned", f"{name(environment.name)}, because {UNPLANNED}"


def _of_budget(verdict: BudgetVerdict) -> tuple[str, str, str]:
    if verdict.above:
        return "bad", "Above the budget", text(verdict.above)
    if verdict.open:
        return "warn", "Budget not known", text(verdict.open)
    assumed = f", {text(verdict.assumed)}" if verdict.assumed else ""
    return "good", "Within the budget", f"of {dollars(verdict.usd_per_hour)} an hour{assumed}"


def _of_pool(layout: PoolLayout) -> Iterator[tuple[str, str, str]]:
    plan = layout.plan
    pool = name(plan.pool.name)
    if plan.short:
        yield (
            "bad",
            "Beyond MaxSize" if plan.is_scaled else "Too few hosts",
            f"{pool} needs {plan.short:,} more {hosts_word(plan.short)}",
        )
    if plan.misfits:
        yield (
            "bad",
            "Never starts",
            f"{text(listed(plan.misfits))}, which is sent to {pool} and fits on none of its hosts",
        )
    if plan.deployment is not None and plan.deployment.too_large:
        services = text(listed(plan.deployment.too_large))
        yield "bad", "Deployment without an end", f"{pool} has no room for both versions of {services}"
    if plan.deployment is not None and plan.deployment.stuck:
        yield "bad", "Stuck deployment", f"{pool}: {text(listed(plan.deployment.stuck))} cannot take the first step"
    if idle := sum(each.hosts * each.gpus for each in plan.stranded):
        yield "warn", "Stranded", f"{idle:,} {'GPU stays' if idle == 1 else 'GPUs stay'} idle on {pool}"


def _pools(pools: Sequence[PoolLayout]) -> Iterator[str]:
    yield '<section id="pools" aria-labelledby="hosts" tabindex="-1"><h2 id="hosts">Hosts</h2>'
    left = DRAWN
    for place, each in enumerate(pools[:DRAWN_POOLS]):
        yield pool_section(each, place, most=left, is_open=place < _OPEN_POOLS)
        left = max(1, left - len(each.hosts))
    if len(pools) > DRAWN_POOLS:
        yield f'<p class="unknown">{len(pools) - DRAWN_POOLS:,} more pools are counted and not shown.</p>'
    yield "</section>"


def _quotas(plan: FleetPlan) -> str:
    if not plan.quotas:
        return ""
    rows = [
        [
            f"<code>{text(each.quota.code)}</code> {_about(each)}",
            partly(each.desired, each.known_desired),
            partly(each.maximum, each.known_maximum),
        ]
        for each in plan.quotas[:DRAWN_ROWS]
    ]
    caption = "vCPUs that the hosts count against the quotas of each account and region"
    found = table("quotas", caption, ("Quota", "Desired", "Maximum"), rows, numbers="Desired Maximum")
    return f'<section aria-labelledby="quotas"><h2 id="quotas">Quotas</h2>{found}</section>'


def _about(need: QuotaNeed) -> str:
    """Which quota it is: of what, where, and what is in doubt."""
    quota = need.quota
    said = filter(None, (f"{quota.way} {quota.group}", quota.place.region, quota.place.account, quota.doubt))
    return f'<span class="quiet">{text(", ".join(said))}</span>'


def _footer(plan: FleetPlan) -> str:
    prices = f"<p>Prices: {text(about_prices(plan))}</p>" if plan.prices else ""
    return (
        f"<footer>{prices}<p>The hosts are drawn as the proof packed them: ECS decides where a task starts, and which "
        "GPU it gets. Kept is what daemons, the ECS agent and the system may take. At MaxSize only the numbers are "
        "known.</p></footer>"
    )
