"""One pool of a page: what it costs at each level, its hosts with the tasks on them, and what to know about it."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import DRAWN_OF_POOL, DRAWN_ROWS
from gpu_constructs.fleet import Unknown
from gpu_constructs.hardware.prices import dollars
from gpu_constructs.placement.reasons import listed
from gpu_constructs.planning.cheaper import Outcome
from gpu_constructs.planning.host_layout import PoolLayout
from gpu_constructs.planning.in_words import (
    NOT_KNOWN,
    amount,
    cheaper_mix,
    deploying,
    hosts_word,
    idle,
    job_start,
    number,
    stand_ins,
    stranded,
    types_of,
)
from gpu_constructs.planning.page.host_drawing import amounts, host, key
from gpu_constructs.planning.page.markup import hidden, name, table, text

_SHOWN = 6
"""Drawings that are open; more of them open on request."""

_LISTED = 12
"""Tasks whose table is open."""

_LEVELS = ("minimum", "desired", "maximum")


def pool_section(pool: PoolLayout, place: int, *, most: int, is_open: bool) -> str:
    """A pool."""
    plan = pool.plan
    types = types_of(pool.plan.pool)
    bought = "not known how it is bought" if isinstance(plan.pool.bought.option, Unknown) else plan.pool.bought.option
    return "".join(
        [
            f'<section class="pool" aria-labelledby="pool-{place}">',
            f'<div class="about"><div><h3 id="pool-{place}">{name(plan.pool.name)}</h3>',
            f'<p class="quiet">{text(types)} · {text(bought)} · {text(plan.pool.kind.value)}</p>',
            _notes(pool),
            "</div>",
            _levels(pool),
            "</div>",
            _tasks(pool),
            _hosts(pool, types, most=min(most, DRAWN_OF_POOL), is_open=is_open),
            _considered(pool),
            "</section>",
        ]
    )


def _levels(pool: PoolLayout) -> str:
    """Hosts, GPUs and the price at each level."""
    levels = [getattr(pool.plan, level) for level in _LEVELS]
    rows = [("Hosts", [number(each.hosts) for each in levels])]
    if any(each.gpus != 0 for each in levels):
        rows.append(("GPUs", [number(each.gpus) for each in levels]))
    rows.append(("An hour", [amount(each.usd_per_hour) for each in levels]))
    cells = [[title, *map(text, values)] for title, values in rows]
    caption = f'<span class="sr">Hosts and costs of {name(pool.plan.pool.name)}</span>'
    return table("levels", caption, ("", "Minimum", "Desired", "Maximum"), cells)


def _notes(pool: PoolLayout) -> str:
    found = [f"<dt>{title}</dt><dd>{text(said)}</dd>" for title, said in _said(pool)]
    return f'<dl class="notes">{"".join(found[:DRAWN_ROWS])}</dl>' if found else ""


def _said(pool: PoolLayout) -> Iterator[tuple[str, str]]:
    plan = pool.plan
    if plan.price.unknown:
        yield "Price", f"{NOT_KNOWN}: {plan.price.unknown}"
    if other := stand_ins(plan):
        yield "Price", other
    for each in plan.stranded:
        yield "Stranded", stranded(each)
    if plan.deployment is not None:
        yield "Deploying", deploying(plan.deployment)
    if plan.idle_quarter_hour is not None:
        yield "Idle", idle(plan.idle_quarter_hour)
    if adapters := sum(each.is_efa for each in plan.pool.interfaces):
        yield "EFA", f"{adapters} Elastic Fabric {'Adapter' if adapters == 1 else 'Adapters'} on each host"
    for start in plan.starts:
        yield "Job", f"{start.name[:80]}: {job_start(start)}; jobs are not drawn"
    if len(plan.pool.instance_types) > 1 and pool.hosts:
        yield "Drawn", "with the least that one of its types has"
    if pool.daemons:
        yield "Daemons", f"{listed(each[:80] for each in pool.daemons)} on every host"


def _tasks(pool: PoolLayout) -> str:
    if not pool.tasks:
        return ""
    rows = [_task(pool, place) for place in range(min(len(pool.tasks), DRAWN_ROWS))]
    if (more := len(pool.tasks) - DRAWN_ROWS) > 0:
        rows.append(["", f"{more:,} more tasks", "", ""])
    caption = f'<span class="sr">Tasks on {name(pool.plan.pool.name)}</span>'
    found = table("tasks", caption, (hidden("Key"), "Task", "Copies", "Each takes"), rows, names=1, numbers="Copies")
    if len(pool.tasks) <= _LISTED:
        return found
    return f"<details><summary>{len(pool.tasks):,} tasks</summary>{found}</details>"


def _task(pool: PoolLayout, place: int) -> list[str]:
    task = pool.tasks[place]
    doubt = "" if task.fits is True else ' <span class="warn">not known whether it fits</span>'
    copies = NOT_KNOWN if task.copies is None else f"{task.copies:,}"
    return [key(place), f"{name(task.name)}{doubt}", copies, amounts(task, pool.devices) or NOT_KNOWN]


def _hosts(pool: PoolLayout, types: str, *, most: int, is_open: bool) -> str:
    if pool.why_unknown:
        return f'<p class="unknown"><strong>Not known</strong> Its hosts are not drawn: {text(pool.why_unknown)}.</p>'
    if not pool.hosts:
        return '<p class="none">No host runs at the desired counts.</p>'
    total = sum(each.hosts for each in pool.hosts)
    one = pool.plan.price.of(pool.plan.pool, 1)
    price = "price not known" if one is None else f"{one} an hour"
    drawn = [host(each, pool, types, price) for each in pool.hosts[:most]]
    beyond = f", {pool.missing:,} more than there can be" if pool.missing else ""
    title = f"{total:,} {hosts_word(total)} at the desired counts{beyond}"
    shown, rest = "".join(drawn[:_SHOWN]), "".join(drawn[_SHOWN:])
    listing = f'<ul class="hosts">{shown}</ul>'
    if rest:
        more = sum(each.hosts for each in pool.hosts[_SHOWN:most])
        listing += (
            f'<details><summary>{more:,} more {hosts_word(more)}</summary><ul class="hosts">{rest}</ul></details>'
        )
    if left := pool.hosts[most:]:
        hosts = sum(each.hosts for each in left)
        copies = sum(each.hosts * sum(of.number for of in each.copies) for each in left)
        listing += f'<p class="unknown">{hosts:,} more {hosts_word(hosts)} with {copies:,} copies are not drawn.</p>'
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{title}</summary>{listing}</details>"


def _considered(pool: PoolLayout) -> str:
    found = pool.plan.cheaper
    if found.outcome is Outcome.GIVEN_UP:
        return f'<p class="unknown"><strong>Not known</strong> whether other hosts cost less: {text(found.why)}.</p>'
    if found.outcome is not Outcome.FOUND:
        return ""
    rows = [
        [
            text(each.price.instance_type),
            dollars(each.price.usd_per_hour),
            f"{each.hosts:,}" if each.hosts else "none",
            text(each.why),
        ]
        for each in found.considered
    ]
    caption = '<span class="sr">Types that were considered</span>'
    return (
        f'<details class="cheaper"><summary>Cheaper: {text(cheaper_mix(found))}</summary>'
        f"{table('considered', caption, ('Type', 'Hour', 'Hosts', 'Why'), rows, numbers='Hour Hosts')}</details>"
    )
