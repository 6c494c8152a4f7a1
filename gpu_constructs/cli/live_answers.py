"""The arguments of commands about a running cluster, and how its checks are shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType

from gpu_constructs.account.live.verified import Look
from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import Line, fix_lines, pieces, say
from gpu_constructs.errors import GpuConstructsError, brief, counted
from gpu_constructs.facts.budget import LABEL, MESSAGE


def account_part(name: str) -> ModuleType:
    """A module of `gpu_constructs.account`, by its name behind that of the room.

    Raises:
        GpuConstructsError: boto3 is not installed.
    """
    try:
        return import_module(f"gpu_constructs.account.{name}")
    except ImportError as problem:
        if problem.name not in {"boto3", "botocore"}:
            raise
        raise GpuConstructsError("boto3 is not installed", fix="pip install boto3") from problem


def add_cluster(parser: argparse.ArgumentParser, *, of_stack: bool = False) -> None:
    """Adds the arguments that say which cluster is asked about, or the clusters of which stack, and by whom."""
    if of_stack:
        parser.add_argument("stack", metavar="STACK", nargs="?", help="a CloudFormation stack that has a cluster")
    parser.add_argument("--cluster", help="name or ARN of the cluster; default: default")
    parser.add_argument(
        "--region", help="where it is; default: AWS_REGION, AWS_DEFAULT_REGION, or the region of the profile"
    )
    parser.add_argument("--profile", help="the AWS profile whose credentials are used")


def add_waiting(parser: argparse.ArgumentParser, minutes: float, what: str) -> None:
    """Adds the arguments of a command that changes something in a cluster and waits for that."""
    waits = f"minutes to wait for {what}; default: {minutes}"
    parser.add_argument("--minutes", type=float, default=minutes, help=waits)
    parser.add_argument("--policy", action="store_true", help="print the least IAM policy that it needs")
    add_cluster(parser, of_stack=True)
    add_format(parser)


def clusters_named(arguments: argparse.Namespace, clients: object, **limits: object) -> Sequence[str]:
    """The cluster that the arguments name, or those of the stack that they name; a ``deadline`` is a limit."""
    if arguments.stack is None or arguments.cluster:
        return [arguments.cluster or "default"]
    account, stack, region = account_part("live_cluster"), arguments.stack, arguments.region
    found: Sequence[str] = account.clusters_of(clients, stack=stack, region=region, **limits)
    return found


def region_of(profile: str | None) -> str | None:
    """The region that a command without ``--region`` asks in, for what is offered there and what it costs."""
    found: tuple[str, str] | None = account_part("calls").region_of(profile)
    return None if found is None else found[0]


def deadline() -> object:
    """That of a command, which says on a terminal what takes long."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    return import_module("gpu_constructs.account.deadline").Deadline(told=say if watched else None)


_WORDS = {True: ("ok", "good"), False: ("fails", "error"), None: ("not checked", "warning")}


def lines_of(
    cluster: str, checks: Sequence[Look], denied: Sequence[str] = (), *, width: int, passed: bool = True
) -> Iterator[Line]:
    """The checks of a cluster, for people to read; those that fail last, where a terminal ends."""
    yield [("cluster ", ""), (brief(cluster, LABEL), "title")]
    for check in sorted(checks, key=lambda each: {True: 0, None: 1, False: 2}[each.passed]):
        if check.passed and not passed:
            continue
        word, style = _WORDS[check.passed]
        yield [(f"  {word:<11} ", style), (f"{check.name}: {brief(check.about, LABEL)}", "")]
        yield from pieces(" " * 14, brief(check.text, MESSAGE), width, style="aside")
        yield from fix_lines(14, check.fix, width)
    yield from pieces("  ", f"not looked at: {', '.join(denied)}" if denied else "", width, style="warning")
    failed = sum(each.passed is False for each in checks)
    unknown = sum(each.passed is None for each in checks)
    summary = f"{counted(len(checks), 'check')}, {failed} failed, {unknown} not checked"
    empty = "nothing was there to check: it has no host, no capacity provider of its own and no service"
    nothing = "nothing could be checked" if denied else empty
    style = "error" if failed else "warning" if denied or unknown or not checks else "good"
    yield [(summary if checks else nothing, style)]


def facts_of(cluster: str, checks: Sequence[Look], denied: Sequence[str] = ()) -> dict[str, object]:
    """The checks of a cluster, for programs to read."""
    return {
        "cluster": cluster,
        "checks": [
            {
                "check": each.name,
                "about": each.about,
                "passed": each.passed,
                "verdict": _WORDS[each.passed][0],
                "text": each.text,
                "fix": each.fix,
            }
            for each in checks
        ],
        "not_looked_at": list(denied),
    }
