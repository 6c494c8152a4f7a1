"""``gpu-constructs plan``: what the hosts cost and need, before anything is deployed."""

from __future__ import annotations

import argparse
import math
import sys

from gpu_constructs.checking.configuration import Configuration, found_configuration
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.output import add_format
from gpu_constructs.cli.plan_report import json_report, lines
from gpu_constructs.cli.terminal import show, width_of
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.planning import FleetPlan, plan
from gpu_constructs.planning.budget_verdict import verdict

__all__ = ["define", "run"]

_EXAMPLES = """\
examples:
  gpu-constructs plan cdk.out
  gpu-constructs plan cdk.out --budget 40                    in US dollars an hour, at MaxSize
  gpu-constructs plan template.yaml --region eu-west-1 --format json

exit codes:
  0 planned, 1 not certainly within the budget, 2 wrong usage or a file that cannot be read
"""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    add_inputs(parser)
    add_format(parser)
    parser.add_argument(
        "--budget",
        type=float,
        metavar="USD_PER_HOUR",
        help="exit with 1 if the hosts can cost more an hour, or if that is not known",
    )


def run(arguments: argparse.Namespace) -> int:
    """Plans, and writes the plan.

    Returns:
        1 if a budget is not certainly kept, else 0.
    """
    budget = _budget(arguments.budget)
    found = _planned(arguments, found_configuration(arguments.config))
    held = None if budget is None else verdict(found, budget)
    if arguments.format == "json":
        sys.stdout.write(json_report(found, held))
    else:
        show(lines(found, width=width_of(sys.stdout), verdict=held), sys.stdout)
    return 0 if held is None or held.is_kept else 1


def _planned(arguments: argparse.Namespace, configuration: Configuration) -> FleetPlan:
    return plan(reviewed(arguments, configuration, rules=()).fleet)


def _budget(usd_per_hour: float | None) -> float | None:
    if usd_per_hour is not None and (not math.isfinite(usd_per_hour) or usd_per_hour < 0):
        raise InvalidValueError(
            f"{usd_per_hour:g} is not a budget", argument="--budget", allowed="US dollars an hour, 0 or more"
        )
    return usd_per_hour
