"""``gpu-constructs verify``: whether the clusters of a stack came up as they were planned."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from itertools import chain

from gpu_constructs.account.answers import Answers
from gpu_constructs.account.live.verified import Look, verify
from gpu_constructs.cli.live_answers import (
    account_part,
    add_cluster,
    clusters_named,
    deadline,
    facts_of,
    lines_of,
    region_of,
)
from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import write_report

_COULD_NOT = 2

EXAMPLES = """\
examples:
  gpu-constructs verify Demo                       the clusters of a stack, with calls that only read
  gpu-constructs verify --cluster demo

exit codes:
  0 all is as it should be, 1 something is not (with --strict: or was not checked), 2 nothing was there to check or
  could be checked, wrong usage, or AWS did not answer
"""


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--failed", action="store_true", help="as text, leave out the checks that pass")
    parser.add_argument("--strict", action="store_true", help="what could not be checked is 1 as well")
    add_cluster(parser, of_stack=True)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    found = _found(arguments)
    clusters = [(name, checks, each.not_read) for name, (each, checks) in found.items()]
    write_report(
        arguments,
        lambda: {"clusters": [facts_of(*each) for each in clusters]},
        lambda width: chain(*(lines_of(*each, width=width, passed=not arguments.failed) for each in clusters)),
    )
    return _code(found.values(), strict=arguments.strict)


def _code(found: Collection[tuple[Answers, Sequence[Look]]], *, strict: bool) -> int:
    verdicts = [check.passed for _, checks in found for check in checks]
    is_denied = any(each.not_read for each, _ in found)
    if all(each is None for each in verdicts):  # also of a cluster without hosts, capacity providers and services
        return _COULD_NOT
    return int(False in verdicts or (strict and (is_denied or None in verdicts)))


def _found(arguments: argparse.Namespace) -> dict[str, tuple[Answers, tuple[Look, ...]]]:
    account, region, by_when = account_part("live_cluster"), arguments.region, deadline()
    clients, where = account.clients_of(arguments.profile), region or region_of(arguments.profile)
    names = clusters_named(arguments, clients, deadline=by_when)
    found = {name: account.about(clients, cluster=name, region=region, deadline=by_when) for name in names}
    return {name: (each, verify(each, region=where)) for name, each in found.items()}
