"""``gpu-constructs plan``: what the hosts cost and need, before anything is deployed."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain

from gpu_constructs.check import planning
from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.check.planning.fleet_plan import UNPLANNED, FleetPlan, Level, PoolPlan
from gpu_constructs.check.planning.host_price import HOURS_A_MONTH, Usd
from gpu_constructs.check.planning.in_words import (
    BUDGET,
    BUDGET_NOT_KNOWN,
    about_prices,
    about_quota,
    over_budget,
    partly,
    rows_of,
    rows_of_level,
    rows_of_starts,
)
from gpu_constructs.check.planning.plan_difference import PlanDifference, Status, difference
from gpu_constructs.check.planning.updates import Update, update_of
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import Line, pieces, table, unstyled, write_report
from gpu_constructs.errors import InvalidValueError, __version__, brief, shown
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.prices import dollars
from gpu_constructs.fleet import Unknown
from gpu_constructs.placement.reasons import listed
from gpu_constructs.rules import Finding

_AMOUNT = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # float() takes other digits and 1_0

EXAMPLES = """\
examples:
  gpu-constructs plan cdk.out
  gpu-constructs plan cdk.out --budget 40                    in US dollars an hour, at MaxSize
  gpu-constructs plan --diff main.out cdk.out
  gpu-constructs plan template.yaml --region eu-west-1 --format json

exit codes:
  0 planned, 1 not certainly within the budget, or a change that AWS refuses in one deploy, 2 wrong usage or a file
  that cannot be read
"""


def define(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser, nargs="*")
    add_format(parser)
    parser.add_argument(
        "--diff", nargs=2, metavar=("OLD", "NEW"), help="compare two plans, and say what AWS refuses in one deploy"
    )
    parser.add_argument(
        "--budget",
        metavar="USD_PER_HOUR",
        help="exit with 1 if the hosts can cost more an hour, or if that is not known",
    )


def run(arguments: argparse.Namespace) -> int:
    """Plans, and writes the plan; 1 if a budget is not certainly kept, or AWS refuses the change, else 0."""
    budget = _budget(arguments.budget)
    configuration = found_configuration(arguments.config, arguments.diff or arguments.paths)
    _require_paths(arguments)
    sides = [arguments.paths] if arguments.diff is None else [[each] for each in arguments.diff]
    asked = [argparse.Namespace(**{**vars(arguments), "paths": list(paths)}) for paths in sides]
    results = [reviewed(each, configuration, rules=()) for each in asked]
    plans = [planning.plan(each.fleet) for each in results]
    against = () if budget is None else over_budget(plans[-1], budget)
    # Terraform replaces what CloudFormation refuses to.
    is_of_stacks = len(plans) > 1 and not any(each.stacks.words for each in results)
    fleets = [each.fleet for each in results]
    update = update_of(results[0].stacks, results[1].stacks, *fleets) if is_of_stacks else Update()
    changed = difference(*plans) if len(plans) > 1 else None
    write_report(
        arguments,
        lambda: {
            "version": __version__,
            **(facts_of(plans[0]) if changed is None else _difference_facts(changed, update, *plans)),
            "budget": _budget_facts(budget, against),
        },
        lambda width: chain(
            lines(plans[0], width) if changed is None else difference_lines(changed, update, plans, width),
            budget_lines(budget, against, width),
        ),
    )
    return 1 if against or update.refused else 0


def _require_paths(arguments: argparse.Namespace) -> None:
    """Refuses a plan of nothing, and of files besides a difference."""
    if bool(arguments.paths) is (arguments.diff is not None):
        problem = "files besides --diff" if arguments.paths else "nothing to plan"
        raise InvalidValueError(problem, argument="PATH", allowed="files to plan, or --diff OLD NEW")
    if arguments.diff is not None and arguments.diff[0] == arguments.diff[1] == "-":
        raise InvalidValueError("stdin can be read once", argument="--diff", allowed="a file on one side")


def _budget(written: str | None) -> float | None:
    if written is None:
        return None
    usd_per_hour = float(written) if _AMOUNT.fullmatch(written) else math.nan
    if not math.isfinite(usd_per_hour) or usd_per_hour < 0:
        raise InvalidValueError(
            f"{shown(written)} is not a budget", argument="--budget", allowed="US dollars an hour, 0 or more"
        )
    return usd_per_hour


_INDENT = 12
_HEAD = ("", "old", "new", "change")
_STYLES = {Status.ADDED: "warning", Status.REMOVED: "good", Status.CHANGED: ""}
_SHOWN = {Status.ADDED: "{row.new}", Status.REMOVED: "{row.old}", Status.CHANGED: "{row.old} -> {row.new}"}


def lines(plan: FleetPlan, width: int) -> Iterator[Line]:
    """A plan as text."""
    if not plan.pools and not plan.unplanned:
        yield [("no hosts are defined in what was read, so nothing is planned", "warning")]
    elif plan.pools:
        columns = [rows_of_level(plan, name) for name in plan.levels]
        rows = [[name, *(each[name] for each in columns)] for name in columns[0]]
        yield from _numbers_table(("", *plan.levels), rows, width)
        # What is not known is never shown as part of a sum.
        for each in dict.fromkeys(each for name in plan.levels for each in plan.unpriced(name)):
            yield from pieces("not counted  ", f"{brief(each.pool.name, LABEL)}: {each.why_unpriced}", width)
    for pool in plan.pools:
        yield []
        yield [(brief(pool.pool.name, LABEL), "title")]
        for name, text in rows_of(pool).items():
            yield from pieces(f"  {name:<{_INDENT - 2}}", text, width)
    if plan.starts:
        yield []
        yield [("jobs", "title"), (" (one start of each, without other tasks on its hosts)", "aside")]
    for name, text in rows_of_starts(plan).items():
        yield from pieces(f"  {name}: ", text, width)
    if plan.quotas:
        yield []
        yield [("quotas", "title"), (" (vCPUs, of each account and region)", "aside")]
    for need in plan.quotas:
        desired, most = partly(need.desired, need.known_desired), partly(need.maximum, need.known_maximum)
        doubt = f"; {need.quota.doubt}" if need.quota.doubt else ""
        text = f"{about_quota(need)}: {desired} at the desired counts, {most} at MaxSize{doubt}"
        yield from pieces("  ", text, width)
    yield from _not_planned(plan, width)
    yield from _prices([plan], width)


def _prices(plans: Sequence[FleetPlan], width: int) -> Iterator[Line]:
    if text := about_prices(*plans):
        yield []
        yield from pieces("", text, width, style="aside")


def _not_planned(plan: FleetPlan, width: int) -> Iterator[Line]:
    if plan.elsewhere:
        yield []
        yield from pieces("", f"not planned: {listed(plan.elsewhere)}, whose hosts are not in these files", width)
    if plan.unplanned:
        if plan.pools or plan.elsewhere:
            yield []
        names = listed(brief(each.name, LABEL) for each in plan.unplanned)
        yield from pieces("", f"not planned: {names}, because {UNPLANNED}", width)


def difference_lines(found: PlanDifference, update: Update, plans: Sequence[FleetPlan], width: int) -> Iterator[Line]:
    """What a change does, as text."""
    if found.is_empty:
        yield [("The plan is the same.", "good")]
        yield from pieces("", "Images, commands and variables of containers are not in it.", width, style="aside")
    else:
        yield from _changes(found, width)
        yield from _prices(plans, width)
    for each in update.refused:
        yield []
        yield [("AWS refuses this in one deploy", "error")]
        said = (each.change, each.answer, *each.steps, each.source)
        for label, text in zip(("", "AWS: ", "first: ", "then: ", "see "), said, strict=True):
            yield from pieces(f"  {label}", text, width)
    for title, changes in (
        ("CloudFormation replaces services", update.replaced),
        ("Tasks stay where they are", update.staying),
        ("URLs change", update.balancers),
        ("Stacks stay deployed", update.left),
    ):
        if changes:
            yield []
            yield [(title, "warning")]
        for change in changes:
            yield from pieces("  ", change, width)


def _changes(found: PlanDifference, width: int) -> Iterator[Line]:
    rows = [(each.what, each.old, each.new, each.change) for each in found.totals]
    yield from _numbers_table(_HEAD, rows, width)
    for pool in found.pools:
        yield []
        yield [(brief(pool.name, LABEL), "title"), (f" {pool.status.value}", _STYLES[pool.status])]
        for row in pool.rows:
            yield from pieces(f"  {row.what}: ", _SHOWN[pool.status].format(row=row), width)
        if pool.note:
            yield from pieces("  ", pool.note, width, style="warning")
    for title, changed in (("jobs", found.starts), ("quotas", found.quotas)):
        if changed:
            yield []
            yield [(title, "title")]
        for row in changed:
            yield from pieces("  ", f"{row.what}: {row.old} -> {row.new}", width)


def budget_lines(usd_per_hour: float | None, against: Sequence[Finding], width: int) -> Iterator[Line]:
    """What a plan has against a budget, as text; nothing without a budget."""
    if usd_per_hour is None:
        return
    yield []
    for each in against:
        yield from pieces("budget: ", each.message, width, style=str(each.severity))
    if not against:
        yield [("budget: ", ""), (f"within {dollars(usd_per_hour)} an hour", "good")]


def _numbers_table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Line]:
    """A table of numbers on the right of their names; a list where it is too wide."""
    found = list(table(head, rows, width=width, right=head[1:]))
    if all(len(unstyled(each)) <= width for each in found):
        yield from found
        return
    for name, *cells in rows:
        values = (f"{title} {cell}" for title, cell in zip(head[1:], cells, strict=True))
        yield from pieces(f"{name}: ", "; ".join(values), width)


def _difference_facts(found: PlanDifference, update: Update, old: FleetPlan, new: FleetPlan) -> dict[str, object]:
    return {
        "same": found.is_empty,
        "totals": [asdict(each) for each in found.totals],
        "pools": [
            {"pool": each.name, "status": each.status.value, "changes": [*map(asdict, each.rows)], "note": each.note}
            for each in found.pools
        ],
        "quotas": [asdict(each) for each in found.quotas],
        "starts": [asdict(each) for each in found.starts],
        "refused": [asdict(each) for each in update.refused],
        "replaced": update.replaced,
        "staying": update.staying,
        "balancers": update.balancers,
        "left": update.left,
        "old": facts_of(old),
        "new": facts_of(new),
    }


def _budget_facts(usd_per_hour: float | None, against: Sequence[Finding]) -> dict[str, object] | None:
    if usd_per_hour is None:
        return None
    said = {each.rule: each.message for each in against}
    return {
        "usd_per_hour": usd_per_hour,
        "kept": not against,
        "above": said.get(BUDGET),
        "not_known": said.get(BUDGET_NOT_KNOWN),
    }


def facts_of(plan: FleetPlan) -> dict[str, object]:
    """A plan in values of JSON; what is not known is null."""
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
        "starts": [asdict(each) for each in plan.starts],
        "not_planned": list(plan.elsewhere),
        "not_planned_environments": [each.name for each in plan.unplanned],
    }


def _pool_facts(each: PoolPlan) -> dict[str, object]:
    return {
        "pool": each.pool.name,
        "kind": each.pool.kind.value,
        "purchase": None if isinstance(each.pool.bought.option, Unknown) else str(each.pool.bought.option),
        "region": each.pool.region,
        "instance_types": [instance_type.name for instance_type in each.pool.instance_types],
        "prices": [
            {
                "instance_type": price.instance_type,
                "usd_per_hour": price.usd_per_hour,
                "region": price.region,
                "recorded": price.recorded.isoformat(),
                "dated": price.dated,
            }
            for price in each.price.prices
        ],
        "price_not_known": each.price.unknown or None,
        "is_spot": each.price.is_spot,
        "minimum": _level(each.minimum),
        "desired": {**_level(each.desired), "short": each.short, "warm_hosts": _json(each.warm)},
        "maximum": _level(each.maximum),
        "never_fit": list(each.misfits),
        "tasks": [
            {"workload": workload.name, "starter": workload.starter.value, "copies_per_host": _json(copies)}
            for workload, copies in each.tasks
        ],
        "deployment": None if each.deploying is None else {"hosts": _json(each.deploying)},
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


def _json(value: int | Unknown | None) -> int | None:
    return None if isinstance(value, Unknown) else value
