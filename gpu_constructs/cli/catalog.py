"""``gpu-constructs catalog``: what AWS says today of its instance types, and what differs between two catalogues."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_constructs.account.changes import changes
from gpu_constructs.account.refresh import in_words, refreshed, release_gaps
from gpu_constructs.cli.live_answers import account_part
from gpu_constructs.errors import InvalidValueError, clean, shown
from gpu_constructs.facts.records import CATALOGUE, DATA, as_written, parsed, read

_FILES = ("accelerated", "general", "prices", "image_releases")

_EXAMPLES = f"""\
examples:
  gpu-constructs catalog refresh newer --region eu-west-1 --region us-east-1
  gpu-constructs catalog diff newer            what a folder with a catalogue says that the one in use does not
  gpu-constructs catalog diff older newer

refresh calls ec2:DescribeRegions, ec2:DescribeInstanceTypeOfferings, ec2:DescribeInstanceTypes,
ssm:GetParametersByPath and pricing:GetProducts, which only read.
{CATALOGUE}=newer makes every command and every construct read the catalogue of that folder.
"""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    refresh = actions.add_parser("refresh", help="asks AWS, and writes a newer catalogue", allow_abbrev=False)
    refresh.add_argument("folder", metavar="FOLDER", help="where the files are written to")
    refresh.add_argument(
        "--region",
        action="append",
        default=[],
        help="a region to ask about, again for each further one; default: all that the account has enabled",
    )
    refresh.add_argument("--profile", help="the AWS profile whose credentials are used")
    refresh.add_argument("--without-prices", action="store_true", help="keep the prices of the catalogue in use")
    diff = actions.add_parser("diff", help="shows what differs between two catalogues", allow_abbrev=False)
    diff.add_argument("older", metavar="OLDER", nargs="?", help="a folder with a catalogue; default: the one in use")
    diff.add_argument("newer", metavar="NEWER", help="a folder with another one")


def run(arguments: argparse.Namespace) -> int:
    """Does what is asked for.

    Returns:
        Of a comparison, 0 if both catalogues are the same, else 1.
    """
    if arguments.action == "refresh":
        sys.stdout.writelines(f"{clean(line)}\n" for line in _refresh(arguments))
        return 0
    lines = list(_differences(arguments.older and Path(arguments.older), Path(arguments.newer)))
    sys.stdout.writelines(f"{clean(line)}\n" for line in lines)
    return 1 if lines else 0


def _refresh(arguments: argparse.Namespace) -> Iterator[str]:
    """Writes a newer catalogue; yields what changed and what is not known of new types."""
    ask = account_part("ask")
    known = {name: read(name) for name in _FILES}
    found = ask.ask(
        ask.clients_of(arguments.profile),
        arguments.region,
        day=dt.datetime.now(dt.timezone.utc).date(),
        with_prices=not arguments.without_prices,
    )
    newer = refreshed(known, found)
    folder = Path(arguments.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in newer.files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InvalidValueError(f"{shown(str(folder))} cannot be written: {problem.strerror}") from problem
    for name in _FILES:
        yield f"{name}.json:"
        yield from (f"  {line}" for line in changes(known[name], json.loads(newer.files[f"{name}.json"])))
    yield from in_words(newer.gaps | release_gaps(json.loads(newer.files["image_releases.json"])))
    yield from newer.left_out
    yield f"{CATALOGUE}={folder} makes every command and every construct read it"


def _differences(older: Path | None, newer: Path) -> Iterator[str]:
    names = [each for each in _FILES if (newer / f"{each}.json").is_file()]
    if not names:
        files = ", ".join(f"{each}.json" for each in _FILES)
        raise InvalidValueError(f"{shown(str(newer))} is not a folder with a catalogue", allowed=f"one with {files}")
    for name in names:
        # A file that a folder lacks is the package's own, as it is where the folder is in use.
        folder = older if older is not None and (older / f"{name}.json").is_file() else DATA
        before = read(name) if older is None else parsed(folder / f"{name}.json")
        after = parsed(newer / f"{name}.json")
        with as_written(name):
            found = changes(before, after)
        yield from (f"{name}.json:", *(f"  {line}" for line in found)) if found else ()
