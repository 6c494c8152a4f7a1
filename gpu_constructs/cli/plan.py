"""``gpu-constructs plan``: what the hosts cost and need, before anything is deployed."""

from __future__ import annotations

import argparse
import math
import re
from itertools import chain

from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.in_words import over_budget
from gpu_constructs.check.planning.plan_difference import difference
from gpu_constructs.check.planning.updates import Update, update_of
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import write_report
from gpu_constructs.cli.plan_report import (
    budget_facts,
    budget_lines,
    difference_facts,
    difference_lines,
    facts_of,
    lines,
)
from gpu_constructs.errors import InvalidValueError, __version__, shown

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
    """Adds the command's arguments."""
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
    plans = [plan(each.fleet) for each in results]
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
            **(facts_of(plans[0]) if changed is None else difference_facts(changed, update, *plans)),
            "budget": budget_facts(budget, against),
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
