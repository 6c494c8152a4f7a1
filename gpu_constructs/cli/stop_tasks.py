"""``gpu-constructs stop-tasks``: stops tasks that no service keeps, so that a stack can be deleted."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpu_constructs.cli.live_answers import account_part, add_waiting, clusters_named
from gpu_constructs.cli.options import add_repeated
from gpu_constructs.cli.output import Line, json_text, say, show
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, brief, counted, shown
from gpu_constructs.facts.budget import LABEL, MESSAGE

if TYPE_CHECKING:
    from gpu_constructs.account.stop_tasks import LooseTask, StopTasks

_MINUTES = 5

EXAMPLES = f"""\
examples:
  gpu-constructs stop-tasks Demo                        which tasks hold up cdk destroy
  gpu-constructs stop-tasks Demo --yes                  stops them, and waits until they have ended
  gpu-constructs stop-tasks --cluster theirs --capacity gpu-l4 --yes
  gpu-constructs stop-tasks --policy >policy.json

Tasks of services are left alone: they go with their service. All others are
listed, those of jobs and schedules among them. Without --yes none is stopped.
It waits for {_MINUTES} minutes, or for --minutes. What was stopped until an error or an interruption is said.

exit codes:
  0 no such task, or all have ended, 1 there are some, or one may still run, 2 wrong usage, or AWS did not answer,
  130 it was interrupted
"""


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="stop them; without it they are only listed")
    add_repeated(parser, "--capacity", "PROVIDER", "tasks of this capacity provider only, by its name")
    add_waiting(parser, _MINUTES, "their ends")


def run(arguments: argparse.Namespace) -> int:
    account, part = account_part("live_cluster"), account_part("stop_tasks")
    if arguments.policy:
        sys.stdout.write(json_text(part.POLICY))
        return 0
    if not 0 <= arguments.minutes < math.inf:
        raise InvalidValueError(f"got {arguments.minutes:g}", argument="--minutes", allowed="a number from 0")
    if bool(arguments.stack) is bool(arguments.cluster):
        raise InvalidValueError("a stack or a cluster is needed", argument="STACK", allowed="STACK, or --cluster NAME")
    clients, region = account.clients_of(arguments.profile), arguments.region
    clusters = clusters_named(arguments, clients)
    parts = [
        part.StopTasks(clients=clients, cluster=each, region=region, capacity=tuple(arguments.capacity))
        for each in clusters
    ]
    if arguments.capacity:
        _require_known(arguments.capacity, [name for each in parts for name in each.providers()])
    facts: list[dict[str, object]] = []
    code, problem = 0, None
    try:
        for each in parts:
            code = max(code, _done(each, arguments, facts))
    except (GpuConstructsError, KeyboardInterrupt) as caught:
        problem = caught
    if arguments.format == "json":
        error = {} if problem is None else {"error": str(problem) or "it was interrupted"}
        sys.stdout.write(json_text({"stopped": arguments.yes, "clusters": facts, **error}))
    if isinstance(problem, KeyboardInterrupt):
        raise problem
    if problem is not None:  # said here: the program would write another report
        say(str(problem))
        return 2
    return code


def _require_known(names: Sequence[str], known: Sequence[str]) -> None:
    for each in names:
        if each not in known:
            allowed = ", ".join(map(brief, sorted(known))) or "none: the cluster has none"
            raise InvalidValueError(f"no capacity provider {shown(each)}", argument="--capacity", allowed=allowed)


def _done(part: StopTasks, arguments: argparse.Namespace, facts: list[dict[str, object]]) -> int:
    """Lists the tasks of one cluster, and stops them with ``--yes``; tells what was done whatever ends it."""
    tasks = part.found()
    left = dict.fromkeys((each.arn for each in tasks), "it was not told to stop" if arguments.yes else "")
    try:
        for arn, why in part.stop(tasks, seconds=arguments.minutes * 60) if arguments.yes else ():
            if why is None:
                del left[arn]
            else:
                left[arn] = why
    finally:
        tasks = tuple(each if each.arn in left else replace(each, status="STOPPED") for each in tasks)
        facts.append({"cluster": part.cluster, "tasks": [_facts(each, left) for each in tasks]})
        if arguments.format != "json":
            show(_lines(part.cluster, tasks, left, stopped=arguments.yes), sys.stdout)
    return 1 if left else 0


def _facts(task: LooseTask, left: Mapping[str, str]) -> dict[str, object]:
    return {
        "task": task.arn,
        "definition": task.definition,
        "status": task.status,
        "stopping": task.is_stopping,
        "started_by": task.started_by,
        "capacity": task.provider,
        "may_run": task.arn in left,
        "why": left.get(task.arn, ""),
    }


def _lines(cluster: str, tasks: Sequence[LooseTask], left: Mapping[str, str], *, stopped: bool) -> Iterator[Line]:
    yield [("cluster ", ""), (brief(cluster, LABEL), "title")]
    for each in tasks:
        why = left.get(each.arn)
        runs = ("may run", "error") if stopped else ("stopping" if each.is_stopping else "runs", "warning")
        word, style = ("stopped", "good") if why is None else runs
        yield [(f"  {word:<8} ", style), (brief(str(each), LABEL), "")]
        if why:
            yield [(f"           {brief(why, MESSAGE)}", "aside")]
    number = f"{counted(len(tasks), 'task')} that no service keeps"
    does = "waits for" if all(each.is_stopping for each in tasks) else "stops"
    end = "" if stopped or not tasks else f"; --yes {does} {'it' if len(tasks) == 1 else 'them'}"
    yield [(f"{number}{end}", "good" if not left else "warning")]
