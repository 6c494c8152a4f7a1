"""``gpu-constructs catalog``: what AWS says today of its instance types, and what differs between two catalogues."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_constructs.account.changes import changes
from gpu_constructs.cli.terminal import clean
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.hardware.records import CATALOGUE, as_written, parsed, read

__all__ = ["define", "run"]

_FILES = ("accelerated", "general", "prices")

_EXAMPLES = f"""\
examples:
  gpu-constructs catalog diff newer            what a folder with a catalogue says that the one in use does not
  gpu-constructs catalog diff older newer

{CATALOGUE}=newer makes every command and every construct read the catalogue of that folder.
"""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    diff = actions.add_parser("diff", help="shows what differs between two catalogues", allow_abbrev=False)
    diff.add_argument("folders", nargs="+", metavar="FOLDER", help="the newer one, or the older and the newer one")


def run(arguments: argparse.Namespace) -> int:
    """Does what is asked for.

    Returns:
        Of a comparison, 0 if both catalogues are the same, else 1.
    """
    lines = list(_differences([Path(each) for each in arguments.folders]))
    sys.stdout.write("".join(f"{clean(line)}\n" for line in lines))
    return 1 if lines else 0


def _differences(folders: list[Path]) -> Iterator[str]:
    if len(folders) > 2:  # noqa: PLR2004 - two are compared
        raise InvalidValueError(f"got {len(folders)} folders", argument="FOLDER", allowed="one or two")
    newer = folders[-1]
    names = [each for each in _FILES if (newer / f"{each}.json").is_file()]
    if not names:
        files = ", ".join(f"{each}.json" for each in _FILES)
        raise InvalidValueError(f"{shown(str(newer))} is not a folder with a catalogue", allowed=f"one with {files}")
    for name in names:
        before = parsed(folders[0] / f"{name}.json") if folders[1:] else read(name)
        after = parsed(newer / f"{name}.json")
        with as_written(name):
            found = changes(before, after)
        yield from (f"{name}.json:", *(f"  {line}" for line in found)) if found else ()
