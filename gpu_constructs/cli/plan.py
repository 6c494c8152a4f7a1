"""``gpu-constructs plan``: what the hosts cost and need, before anything is deployed."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from gpu_constructs.check.configuration import Configuration, found_configuration
from gpu_constructs.check.planning import FleetPlan, plan
from gpu_constructs.check.planning.in_words import BudgetVerdict, about_prices, verdict
from gpu_constructs.check.planning.plan_difference import PlanDifference, Row, Status, difference
from gpu_constructs.check.planning.updates import RefusedUpdate, update_of
from gpu_constructs.check.report import Report
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.output import (
    Line,
    add_format,
    json_text,
    pieces,
    show,
    width_of,
)
from gpu_constructs.cli.plan_report import budget_facts, budget_lines, facts_of, json_report, lines, numbers_table
from gpu_constructs.errors import InvalidValueError, __version__, brief, shown
from gpu_constructs.facts.budget import LABEL

_AMOUNT = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # float() takes other digits and 1_0

_EXAMPLES = """\
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
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
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
    """Plans, and writes the plan.

    Returns:
        1 if a budget is not certainly kept, or AWS refuses the change, else 0.
    """
    budget, configuration = _budget(arguments.budget), found_configuration(arguments.config)
    _require_paths(arguments)
    sides = [arguments.paths] if arguments.diff is None else [[each] for each in arguments.diff]
    results = [_read(arguments, configuration, paths) for paths in sides]
    *old, new = [plan(each.fleet) for each in results]
    held = None if budget is None else verdict(new, budget)
    update = update_of(results[0].stacks, results[1].stacks) if old else None
    written = (
        _difference(difference(old[0], new, update), held, arguments.format) if old else _plan(new, held, arguments)
    )
    if isinstance(written, str):
        sys.stdout.write(written)
    else:
        show(written, sys.stdout)
    return 0 if (held is None or held.is_kept) and not (update and update.refused) else 1


def _plan(found: FleetPlan, held: BudgetVerdict | None, arguments: argparse.Namespace) -> str | Iterator[Line]:
    if arguments.format == "json":
        return json_report(found, held)
    return lines(found, width=width_of(sys.stdout), verdict=held)


def _difference(found: PlanDifference, held: BudgetVerdict | None, form: str) -> str | Iterator[Line]:
    if form == "json":
        return difference_json(found, held)
    return difference_lines(found, width=width_of(sys.stdout), verdict=held)


def _read(arguments: argparse.Namespace, configuration: Configuration, paths: Sequence[str]) -> Report:
    asked = argparse.Namespace(**{**vars(arguments), "paths": list(paths)})
    return reviewed(asked, configuration, rules=())


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


_HEAD = ("", "old", "new", "change")
_STYLES = {Status.ADDED: "warning", Status.REMOVED: "good", Status.CHANGED: ""}
_SHOWN = {Status.ADDED: "{row.new}", Status.REMOVED: "{row.old}", Status.CHANGED: "{row.old} -> {row.new}"}
_SAME = "The plan is the same."
_REFUSED = "AWS refuses this in one deploy"
_REPLACED = "CloudFormation replaces services"


def difference_lines(found: PlanDifference, *, width: int, verdict: BudgetVerdict | None = None) -> Iterator[Line]:
    """The difference as text."""
    if found.is_empty:
        yield [(_SAME, "good")]
    else:
        yield from _changes(found, width)
    for each in found.refused:
        yield []
        yield [(_REFUSED, "error")]
        for label, text in _parts(each):
            yield from pieces(f"  {label}", text, width)
    if found.replaced:
        yield []
        yield [(_REPLACED, "warning")]
        for said in found.replaced:
            yield from pieces("  ", said, width)
    if verdict is not None:
        yield []
        yield from budget_lines(verdict, width)


def _changes(found: PlanDifference, width: int) -> Iterator[Line]:
    yield from numbers_table(_HEAD, [_cells(each) for each in found.totals], width)
    for pool in found.pools:
        yield []
        yield [(brief(pool.name, LABEL), "title"), (f" {pool.status.value}", _STYLES[pool.status])]
        for row in pool.rows:
            yield from pieces(f"  {row.what}: ", _SHOWN[pool.status].format(row=row), width)
    if found.quotas:
        yield []
        yield [("quotas", "title")]
        for row in found.quotas:
            yield from pieces("  ", f"{row.what}: {row.old} -> {row.new}", width)
    if found.is_priced:
        yield []
        yield from pieces("", about_prices(found.old, found.new), width, style="aside")


def difference_json(found: PlanDifference, verdict: BudgetVerdict | None = None) -> str:
    """The difference as JSON, with both plans."""
    return json_text(
        {
            "version": __version__,
            "same": found.is_empty,
            "totals": [_facts(each) for each in found.totals],
            "pools": [
                {"pool": each.name, "status": each.status.value, "changes": [_facts(row) for row in each.rows]}
                for each in found.pools
            ],
            "quotas": [_facts(each) for each in found.quotas],
            "refused": [{"change": each.change, **asdict(each.refusal)} for each in found.refused],
            "replaced": found.replaced,
            "old": facts_of(found.old),
            "new": facts_of(found.new),
            "budget": budget_facts(verdict),
        }
    )


def _parts(refused: RefusedUpdate) -> Sequence[tuple[str, str]]:
    of = refused.refusal
    labels = ("", "AWS: ", "first: ", "then: ", "see ")
    return tuple(zip(labels, (refused.change, of.answer, *of.steps, of.source), strict=True))


def _cells(row: Row) -> tuple[str, ...]:
    return row.what, row.old, row.new, row.change


def _facts(row: Row) -> dict[str, str]:
    return {"what": row.what, "old": row.old, "new": row.new, "change": row.change}
