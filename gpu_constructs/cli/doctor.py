"""``gpu-constructs doctor``: what of old files is to be changed today, and a patch that changes it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.check.doctor import Change, Examination, examine
from gpu_constructs.check.report import Asked, Report
from gpu_constructs.check.repository import World
from gpu_constructs.check.worlds import joined
from gpu_constructs.cli.inputs import add_inputs, add_selection, reviewed_worlds
from gpu_constructs.cli.output import Line, fix_lines, pieces, say, show, width_of
from gpu_constructs.errors import brief, counted, shown
from gpu_constructs.facts.budget import LABEL, MESSAGE
from gpu_constructs.rules.catalogue import every

_UNREADABLE = 2
_INDENT = 12

EXAMPLES = """\
examples:
  gpu-constructs doctor template.yaml                         what to change, and what of it the patch does
  gpu-constructs doctor infrastructure/ --patch | git apply
  gpu-constructs doctor cdk.out                               the construct and the argument of CDK

It writes no file. With --patch, what is left to you goes to stderr.

exit codes:
  0 nothing to change, 1 something to change, 2 wrong usage, nothing to
  examine, or a file that cannot be read
"""


def define(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser, directories=True)
    add_selection(parser)
    parser.add_argument("--patch", action="store_true", help="write a unified diff, for git apply or patch -p1")


def run(arguments: argparse.Namespace) -> int:
    """Examines, and says what to change or writes the patch; 2 if something could not be read or nothing was."""
    found: list[Examination] = []

    def examined(worlds: Sequence[World], asked: Asked) -> Report:
        found.extend(examine(each, asked) for each in worlds)
        return joined([each.report for each in found])

    configuration = found_configuration(arguments.config, arguments.paths)
    result = reviewed_worlds(arguments, configuration, rules=every, check=examined)
    for error in result.unreadable:
        say(str(error))
    if not result.files:
        if not result.unreadable:
            say(f"nothing to examine in {shown(arguments.paths[0])}; fix: name a template or a task definition")
        return _UNREADABLE
    beyond = frozenset(chain(*(each.beyond for each in found)))  # told where they are nested
    changes = [one for each in found for one in each.changes if os.path.realpath(one.origin.file or "") not in beyond]
    patches = [diff for each in found for file, diff in each.patches.items() if os.path.realpath(file) not in beyond]
    told = [each for each in changes if not (arguments.patch and each.is_in_patch)]
    stream = sys.stderr if arguments.patch else sys.stdout
    sys.stdout.write("".join(patches) if arguments.patch else "")
    show(_lines(told, width_of(stream)), stream)
    patched, files = sum(each.is_in_patch for each in changes), counted(len(result.files), "file")
    said = f"{counted(patched, 'change')} in the patch, {len(changes) - patched} left to you"
    show([[(f"{said if changes else 'nothing to change'} in {files}", "warning" if changes else "good")]], stream)
    return _UNREADABLE if result.unreadable else int(bool(changes))


def _lines(changes: Sequence[Change], width: int) -> Iterator[Line]:
    for where, alike in groupby(changes, key=_where):
        yield [(where, "title")]
        for each in alike:
            label, mark = ("patch ", "good") if each.is_in_patch else ("advice", "warning")
            rule = f"{each.rule}  " if each.rule else ""
            yield from pieces(f"    {label}  {rule}", brief(each.message, MESSAGE), width, mark=mark)
            yield from fix_lines(_INDENT, brief(each.change, MESSAGE), width)
            yield from pieces(f"{' ' * _INDENT}in CDK: ", each.argument, width)
        yield []


def _where(change: Change) -> str:
    origin = change.origin
    file = "(stdin)" if origin.file == "-" else origin.file
    place = ":".join(str(each) for each in (file, origin.line, origin.column) if each is not None)
    return "  ".join(
        [place, ", ".join(brief(each, LABEL) for each in (origin.resource, origin.construct_path) if each)]
    )
