"""``gpu-constructs why``: what a service or a task of a running cluster waits for, and what to do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from gpu_constructs.account.answers import Answers
from gpu_constructs.account.live.hosts import Cause
from gpu_constructs.account.live.subjects import subject_called
from gpu_constructs.account.live.waiting import Diagnosis, why
from gpu_constructs.cli.live_answers import account_part, add_cluster, deadline, region_of
from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import Line, fix_lines, headed, pieces, write_report
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import LABEL, MESSAGE

EXAMPLES = """\
examples:
  gpu-constructs why Chat --cluster demo                with calls that only read
  gpu-constructs why 0ab1c2d3e4f5 --cluster demo        a task by its id

exit codes:
  0 it runs, 1 it waits or has stopped, 2 nothing is called so, wrong usage, or AWS did not answer
"""


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a service, a task, or the family of a task definition")
    add_cluster(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    account = account_part("live_cluster")
    found: Answers = account.about(
        account.clients_of(arguments.profile),
        cluster=arguments.cluster or "default",
        name=arguments.name,
        region=arguments.region,
        deadline=deadline(),
    )
    region = arguments.region or region_of(arguments.profile)
    diagnosis = why(found, subject_called(found, arguments.name), region=region)
    write_report(arguments, lambda: _facts(diagnosis, found), lambda width: _lines(diagnosis, found, width))
    return 1 if diagnosis.waits else 0


def _lines(diagnosis: Diagnosis, found: Answers, width: int) -> Iterator[Line]:
    subject = diagnosis.subject
    style = "error" if diagnosis.waits else "good"
    heading = f"{subject.kind} {brief(subject.name, LABEL)}"
    yield from headed([(heading, "title"), (f" {diagnosis.state}", style)], width=width)
    for each in diagnosis.causes:
        yield []
        yield from _of_cause(each, width)
    if diagnosis.waits and not diagnosis.causes:
        yield []
        yield from pieces("", "no cause was found", width, style="warning")
    if diagnosis.events:
        yield []
        yield [("ECS says:", "title")]
        for event in diagnosis.events:
            yield from pieces("  ", brief(event, MESSAGE), width, style="aside")
    missing = (*diagnosis.not_looked_at, *found.not_read)
    if diagnosis.waits and missing:
        yield []
        yield from pieces("", brief(f"not looked at: {', '.join(missing)}", MESSAGE), width, style="warning")


def _of_cause(cause: Cause, width: int) -> Iterator[Line]:
    where = f" {brief(cause.where, LABEL)}" if cause.where else ""
    yield from headed([(f"{cause.layer.value}{where and ':'}", "error"), (where, "title")], width=width)
    yield from pieces("  ", brief(cause.text, MESSAGE), width)
    yield from fix_lines(2, brief(cause.fix, MESSAGE), width)


def _facts(diagnosis: Diagnosis, found: Answers) -> dict[str, object]:
    progress = diagnosis.progress
    counts = {} if progress is None else {key: getattr(progress, key) for key in ("desired", "running", "pending")}
    return {
        diagnosis.subject.kind: diagnosis.subject.name,
        "kind": diagnosis.subject.kind,
        "name": diagnosis.subject.name,
        "cluster": diagnosis.cluster,
        "state": diagnosis.state,
        "verdict": "waits" if diagnosis.waits else "ok",
        "waits": diagnosis.waits,
        **counts,
        "causes": [
            {"layer": each.layer.value, "where": each.where, "text": each.text, "fix": each.fix}
            for each in diagnosis.causes
        ],
        "events": list(diagnosis.events),
        "not_looked_at": [*diagnosis.not_looked_at, *found.not_read],
    }
