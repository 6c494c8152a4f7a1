"""``gpu-constructs plan``: what the hosts cost and need, before anything is deployed."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain

from gpu_constructs.checking.configuration import Configuration, found_configuration
from gpu_constructs.checking.report import Report
from gpu_constructs.cli import plan_diff_report, plan_report
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.output import add_format, deliver, require_writable
from gpu_constructs.cli.terminal import Line, show, unstyled, width_of
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.planning import FleetPlan, plan
from gpu_constructs.planning.budget_verdict import BudgetVerdict, verdict
from gpu_constructs.planning.plan_difference import PlanDifference, difference
from gpu_constructs.planning.updates import update_of

_AMOUNT = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # float() takes other digits and 1_0

_EXAMPLES = """\
examples:
  gpu-constructs plan cdk.out
  gpu-constructs plan cdk.out --budget 40                    in US dollars an hour, at MaxSize
  gpu-constructs plan --diff main.out cdk.out --format markdown
  gpu-constructs plan template.yaml --region eu-west-1 --format json

exit codes:
  0 planned, 1 not certainly within the budget, or a change that AWS refuses in one deploy, 2 wrong usage or a file
  that cannot be read
"""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    add_inputs(parser, nargs="*")
    add_format(parser, "markdown")
    parser.add_argument("--output", metavar="FILE", help="write the plan to a file")
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
    require_writable(arguments.output, [*chain.from_iterable(sides), *filter(None, [configuration.file])])
    results = [_read(arguments, configuration, paths) for paths in sides]
    require_writable(arguments.output, [each for result in results for each in result.read])
    *old, new = [plan(each.fleet) for each in results]
    held = None if budget is None else verdict(new, budget)
    update = update_of(results[0].stacks, results[1].stacks) if old else None
    written = (
        _difference(difference(old[0], new, update), held, arguments.format) if old else _plan(new, held, arguments)
    )
    if isinstance(written, str):
        deliver(written, arguments.output)
    elif arguments.output is None:
        show(written, sys.stdout)
    else:
        deliver("".join(f"{unstyled(each)}\n" for each in written), arguments.output)
    return 0 if (held is None or held.is_kept) and not (update and update.refused) else 1


def _plan(found: FleetPlan, held: BudgetVerdict | None, arguments: argparse.Namespace) -> str | Iterator[Line]:
    if arguments.format == "json":
        return plan_report.json_report(found, held)
    return plan_report.lines(found, width=width_of(sys.stdout), verdict=held)


def _difference(found: PlanDifference, held: BudgetVerdict | None, form: str) -> str | Iterator[Line]:
    if form == "json":
        return plan_diff_report.json_report(found, held)
    if form == "markdown":
        return plan_diff_report.markdown(found, verdict=held)
    return plan_diff_report.lines(found, width=width_of(sys.stdout), verdict=held)


def _read(arguments: argparse.Namespace, configuration: Configuration, paths: Sequence[str]) -> Report:
    asked = argparse.Namespace(**{**vars(arguments), "paths": list(paths)})
    return reviewed(asked, configuration, rules=())


def _require_paths(arguments: argparse.Namespace) -> None:
    """Refuses a plan of nothing, of files besides a difference, and a form that only a difference has."""
    if bool(arguments.paths) is (arguments.diff is not None):
        problem = "files besides --diff" if arguments.paths else "nothing to plan"
        raise InvalidValueError(problem, argument="PATH", allowed="files to plan, or --diff OLD NEW")
    if arguments.format == "markdown" and arguments.diff is None:
        raise InvalidValueError(
            "'markdown' is for a difference", argument="--format", allowed="text or json", fix="--diff OLD NEW"
        )
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
