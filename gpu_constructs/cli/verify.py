"""``gpu-constructs verify``: whether the clusters of a stack came up as they were planned."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from itertools import chain

from gpu_constructs.account.live.described import Described, answers
from gpu_constructs.account.live.self_test import IMAGE, judged, read_self_test, task_definition
from gpu_constructs.account.live.verified import Check, verify
from gpu_constructs.cli.live_answers import (
    add_cluster,
    clusters_named,
    deadline,
    facts_of,
    from_files,
    lines_of,
    live_part,
    text_of,
)
from gpu_constructs.cli.output import add_format, json_text, show, width_of
from gpu_constructs.facts import instance_type

_COULD_NOT = 2

_EXAMPLES = """\
examples:
  gpu-constructs verify Demo                       the clusters of a stack, with calls that only read
  gpu-constructs verify --cluster demo
  gpu-constructs verify --self-test-task p5.48xlarge >test.json
  gpu-constructs verify --self-test-log p5.48xlarge log.txt
  aws ecs describe-container-instances ... | gpu-constructs verify --answers -

exit codes:
  0 all is as it should be, 1 something is not (with --strict: or was not checked), 2 nothing could be checked, wrong
  usage, or AWS did not answer
"""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "--answers",
        action="append",
        default=[],
        metavar="PATH",
        help="what aws ... describe-... printed, or - for stdin, instead of asking the account; can be repeated",
    )
    parser.add_argument(
        "--self-test-task",
        metavar="TYPE",
        help="print a task definition that tests the GPUs of a host of this type, for aws ecs register-task-definition",
    )
    parser.add_argument(
        "--image",
        default=IMAGE,
        help=f"image of the task; with PyTorch and nccl-tests it tests CUDA and NCCL too; default: {IMAGE}",
    )
    parser.add_argument(
        "--self-test-log",
        nargs=2,
        metavar=("TYPE", "PATH"),
        help="judge what that task printed on a host of this type; - for stdin",
    )
    parser.add_argument("--failed", action="store_true", help="as text, leave out the checks that pass")
    parser.add_argument("--strict", action="store_true", help="what could not be checked is 1 as well")
    add_cluster(parser, of_stack=True)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Checks the clusters.

    Returns:
        0 if nothing fails, 1 if something does, 2 if nothing could be checked.
    """
    if arguments.self_test_task:
        sys.stdout.write(json_text(task_definition(instance_type(arguments.self_test_task), arguments.image)))
        return 0
    found = _found(arguments)
    if arguments.format == "json":
        facts = [facts_of(name, checks, denied=each.not_read) for name, (each, checks) in found.items()]
        sys.stdout.write(json_text({"clusters": facts}))
    else:
        width = width_of(sys.stdout)
        lines = (
            lines_of(name, checks, denied=each.not_read, width=width, passed=not arguments.failed)
            for name, (each, checks) in found.items()
        )
        show(chain.from_iterable(lines), sys.stdout)
    return _code(found.values(), strict=arguments.strict)


def _code(found: Collection[tuple[Described, Sequence[Check]]], *, strict: bool) -> int:
    verdicts = [check.passed for _, checks in found for check in checks]
    is_denied = any(each.not_read for each, _ in found)
    if (verdicts or is_denied) and all(each is None for each in verdicts):
        return _COULD_NOT
    unchecked = is_denied or None in verdicts or not verdicts
    return int(False in verdicts or (strict and unchecked))


def _found(arguments: argparse.Namespace) -> dict[str, tuple[Described, tuple[Check, ...]]]:
    """The checks of each cluster, or of a test task."""
    if arguments.self_test_log:
        name, path = arguments.self_test_log
        checks = judged(read_self_test(text_of(path)), instance_type(name))
        return {"self-test": (Described(answers=answers(())), checks)}
    return {name: (each, verify(each.answers, region=arguments.region)) for name, each in _described(arguments).items()}


def _described(arguments: argparse.Namespace) -> dict[str, Described]:
    if arguments.answers:
        return {"as described": from_files(arguments.answers)}
    account = live_part()
    clients, by_when = account.clients_of(arguments.profile), deadline()
    names = clusters_named(arguments, clients, deadline=by_when)
    return {name: account.about(clients, cluster=name, region=arguments.region, deadline=by_when) for name in names}
