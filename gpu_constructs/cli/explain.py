"""``gpu-constructs explain``: host by host, whether a task fits, why not, and the smallest change that would do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.output import add_format, json_text
from gpu_constructs.cli.places import Answer, Place, answer_of, find_task, places_of
from gpu_constructs.cli.terminal import Line, cut, show, width_of, wrapped
from gpu_constructs.fleet import Task, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement import alternatives
from gpu_constructs.rules.evidence.lists import and_list, or_list

__all__ = ["define", "run"]

_MOST_NAMES = 3
_LONGEST = 2000  # characters of one reason
_YES, _NO, _OPEN = "fits", "does not fit", "not known"
_STYLES = {_YES: "good", _NO: "error", _OPEN: "warning"}

_EXAMPLES = """\
examples:
  gpu-constructs explain Chat cdk.out
  gpu-constructs explain Demo/Chat template.yaml --region eu-west-1
  aws ecs describe-task-definition --task-definition chat | gpu-constructs explain chat - template.yaml

exit codes:
  0 it certainly fits somewhere, 1 it does not or nobody can say, 2 wrong usage or a file that cannot be read
"""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments.

    Args:
        parser: The command's parser.
    """
    parser.epilog = _EXAMPLES
    parser.add_argument("task", metavar="TASK", help="name, logical id, family or construct path of a task definition")
    add_inputs(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explains where a task fits.

    Args:
        arguments: Those of the command line.

    Returns:
        0 if it certainly fits somewhere that it may come to, else 1.
    """
    fleet = reviewed(arguments, rules=()).fleet
    task = find_task(fleet, arguments.task)
    places = places_of(task, fleet)
    if arguments.format == "json":
        sys.stdout.write(json_text(_facts(task, places)))
    else:
        show(_lines(task, places, width_of(sys.stdout)), sys.stdout)
    return 0 if answer_of(places) is True else 1


def _lines(task: Task, places: Sequence[Place], width: int) -> Iterator[Line]:
    yield [(cut(task.name), "title"), (f" asks for {_asked(task)}", "")]
    for place in places:
        yield []
        yield from _of_place(place, width)
    yield []
    if places:
        answer = _word(answer_of(places))
        text = {_YES: "it fits", _NO: "it fits nowhere that it may come to", _OPEN: "nobody can say before the deploy"}
        yield [(text[answer], _STYLES[answer])]
        return
    fitting = alternatives(task)
    yield [("no hosts are defined in what was read", "warning")]
    if fitting:
        yield [(f"instance types that it fits on: {_names(fitting)}", "")]


def _of_place(place: Place, width: int) -> Iterator[Line]:
    word = _word(place.answer)
    where = f", where {and_list(map(cut, place.services))} places it" if place.services else ""
    aside = "" if place.counts else ", where no service places it"
    yield [(cut(place.pool.name), "title"), (f"{where}{aside}: ", "aside"), (word, _STYLES[word])]
    column = max((len(each.instance_type.name) for each in place.hosts), default=0)
    for host in place.hosts:
        answer = _word(host.answer)
        start = f"  {host.instance_type.name:<{column}}  "
        indent = len(start) + max(map(len, _STYLES)) + 2
        first, *rest = wrapped(cut("; ".join(host.reasons), _LONGEST), width=width, indent=indent)
        gap = " " * (indent - len(start) - len(answer)) if first else ""
        yield [(start, ""), (answer, _STYLES[answer]), (f"{gap}{first}", "")]
        yield from ([(" " * indent + part, "")] for part in rest)
    for reason in place.reasons:
        yield from ([(f"  {part}", "")] for part in wrapped(cut(reason, _LONGEST), width=width, indent=2))
    for number, part in enumerate(wrapped(_fix(place), width=width, indent=7)):
        if part:
            yield [("  fix: " if not number else " " * 7, "good"), (part, "")]


def _fix(place: Place) -> str:
    """The smallest changes that would do, on either side."""
    changes = [f"launch {_names(place.instead)}"] if place.instead else []
    if place.at_most:
        changes.append(f"ask for no more than there is ({', '.join(place.at_most)})")
    return ", or ".join(changes)


def _names(types: Sequence[InstanceType]) -> str:
    return or_list(types[:_MOST_NAMES])


def _asked(task: Task) -> str:
    asked = [
        _gpus(task),
        f"{task.cpu} CPU units",
        f"{task.memory_mib} MiB of memory",
    ]
    if task.gpu_memory_mib is not None:
        asked.append(f"{task.gpu_memory_mib} MiB on each GPU")
    return and_list(asked)


def _gpus(task: Task) -> str:
    if task.takes_all_gpus:
        return "every GPU of its host"
    if task.shares_gpu or task.gpu_part:
        return "a part of a GPU"
    if not task.wants_gpu:
        return "no GPU"
    return f"{task.gpus} GPU{'' if task.gpus == 1 else 's'}"


def _word(answer: Answer) -> str:
    if isinstance(answer, Unknown):
        return _OPEN
    return _YES if answer else _NO


def _facts(task: Task, places: Sequence[Place]) -> dict[str, object]:
    """An answer is true, false, or null where nobody can say."""
    return {
        "task": task.name,
        "fits": _json(answer_of(places)),
        "pools": [
            {
                "pool": place.pool.name,
                "services": list(place.services),
                "counts": place.counts,
                "fits": _json(place.answer),
                "reasons": list(place.reasons),
                "fix": _fix(place),
                "hosts": [
                    {
                        "instance_type": host.instance_type.name,
                        "fits": _json(host.answer),
                        "reasons": list(host.reasons),
                    }
                    for host in place.hosts
                ],
                "alternatives": [each.name for each in place.instead],
            }
            for place in places
        ],
    }


def _json(answer: Answer) -> bool | None:
    return None if isinstance(answer, Unknown) else answer
