"""``gpu-constructs catalog``: what AWS says today of its instance types, and what changed."""

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
from gpu_constructs.facts.records import CATALOGUE, read

_FILES = ("accelerated", "general", "prices", "image_releases")

_EXAMPLES = f"""\
examples:
  gpu-constructs catalog refresh newer --region eu-west-1 --region us-east-1

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


def run(arguments: argparse.Namespace) -> int:
    """Writes a newer catalogue, and says what changed.

    Returns:
        0.
    """
    sys.stdout.writelines(f"{clean(line)}\n" for line in _refresh(arguments))
    return 0


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
