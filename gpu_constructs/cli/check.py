"""``gpu-constructs check``: what keeps GPU tasks from running, in templates that are not deployed yet."""

from __future__ import annotations

import argparse
import sys

from gpu_constructs.checking.configuration import FAIL_ON, NEVER, UNCHECKED_TASKS, found_configuration
from gpu_constructs.checking.report import Report
from gpu_constructs.cli import json_report, sarif_report, text_report
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.output import add_format, deliver, require_writable, say
from gpu_constructs.cli.terminal import show, unstyled, width_of
from gpu_constructs.rules import Severity, known_id, rules_without
from gpu_constructs.rules.retired import what_became_of

_MACHINES = {"json": json_report.text, "sarif": sarif_report.text}

_EXAMPLES = """\
examples:
  gpu-constructs check cdk.out
  gpu-constructs check template.yaml --parameter InstanceType=g5.xlarge --region eu-west-1
  gpu-constructs check cdk.out --format sarif --output gpu.sarif --fail-on warning
  cdk synth | gpu-constructs check - --ignore GPU002

A finding is accepted in the template itself, with a reason:
  Metadata: {"gpu-constructs": {"Acknowledge": {"GPU002": "we want the newest driver"}}}
"""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    add_inputs(parser)
    add_format(parser, "sarif")
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="exit with 1 at a finding of this severity or higher; unchecked: at an error, or if the hosts of a task "
        "are not known; default: error",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show info findings as well")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="RULE",
        help="leave a rule out, such as GPU002; can be repeated",
    )
    parser.add_argument("--output", metavar="FILE", help="write the report to a file")


def run(arguments: argparse.Namespace) -> int:
    """Checks, and writes the report.

    Returns:
        1 if something was found that is as grave as ``--fail-on`` says, else 0.
    """
    configuration = found_configuration(arguments.config)
    fail_on = arguments.fail_on or configuration.fail_on or str(Severity.ERROR)
    ignored = tuple(map(known_id, arguments.ignore)) or configuration.ignore
    inputs = [*arguments.paths, *filter(None, [configuration.file])]
    require_writable(arguments.output, inputs)
    result = reviewed(arguments, configuration, rules=rules_without(ignored))
    # A template names more files: nested ones, those of an assembly. What says so must not replace them either.
    require_writable(arguments.output, [*inputs, *result.read])
    for each in dict.fromkeys((*what_became_of(ignored), *result.notes)):
        say(each)
    # Whoever fails on infos wants to see them.
    verbose = arguments.verbose or fail_on == str(Severity.INFO)
    if arguments.format in _MACHINES:
        deliver(_MACHINES[arguments.format](result), arguments.output)
    elif arguments.output is None:
        show(text_report.lines(result, width=width_of(sys.stdout), verbose=verbose), sys.stdout)
    else:
        deliver("".join(f"{unstyled(each)}\n" for each in text_report.lines(result, verbose=verbose)), arguments.output)
    if arguments.output is not None:
        say(text_report.summary(result))
    return int(_is_too_grave(result, fail_on))


def _is_too_grave(result: Report, fail_on: str) -> bool:
    if fail_on == NEVER:
        return False
    if fail_on == UNCHECKED_TASKS:
        return bool(result.unchecked) or _is_too_grave(result, str(Severity.ERROR))
    return any(each.severity.rank <= Severity(fail_on).rank for each in result.findings)
