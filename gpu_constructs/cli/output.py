"""In which form a report is asked for, where it goes, and the version that it is signed with."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gpu_constructs.budget import MESSAGE, brief
from gpu_constructs.cli.terminal import clean
from gpu_constructs.errors import InvalidValueError, shown

_OF_ASSEMBLY = re.compile(
    r"(asset\.|assembly-).*|(.*[/\\])?(cdk\.out|(manifest|tree|.*\.(template|assets|metadata))\.json)$"
)
"""What CDK writes: https://docs.aws.amazon.com/cdk/v2/guide/deploy.html#deploy-how-synth-app-reference"""


def add_format(parser: argparse.ArgumentParser, *more: str) -> None:
    """Adds the argument that chooses between text, JSON and whatever else a command writes."""
    parser.add_argument("--format", choices=["text", "json", *more], default="text", help="default: text")


def json_text(facts: object) -> str:
    """Facts as JSON, for people to look at as well."""
    return f"{json.dumps(facts, indent=2)}\n"


def deliver(report: str, path: str | None) -> None:
    """Writes a report.

    Args:
        report: The report.
        path: The file that it goes to; None is stdout.

    Raises:
        InvalidValueError: The file cannot be written.
    """
    if path is None:
        sys.stdout.write(report)
        return
    try:
        Path(path).write_text(report, encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidValueError(f"cannot write {shown(path)}: {why}", argument="--output") from None


def deliver_failure(report: str, path: str | None, inputs: Sequence[str]) -> None:
    """Writes what stands in the place of a report: to stdout where the file is what cannot be written.

    Args:
        report: What went wrong, in the format of the report.
        path: The file that the report was to go to; None is stdout.
        inputs: What was to be read.
    """
    try:
        require_writable(path, inputs)
        deliver(report, path)
    except InvalidValueError:
        sys.stdout.write(report)


def say(text: str) -> None:
    """Writes a message to stderr; if stderr is closed, the exit code alone reports it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"gpu-constructs: {clean(brief(text, MESSAGE))}\n")


def require_writable(path: str | None, inputs: Sequence[str]) -> None:
    """Refuses to write a report over what it is about.

    A report may stand beside the files of a cloud assembly, and replaces none of them, whether it was read or not.

    Raises:
        InvalidValueError: They are the same file, or it is one of the files of an assembly.
    """
    if path is None or not os.path.exists(path):  # noqa: PTH110 - false for any odd name, where Path raises on 3.10
        return
    real = os.path.realpath(path)
    for each in inputs:
        is_there = each != "-" and os.path.exists(each)  # noqa: PTH110 - as above
        inside = real.removeprefix(f"{os.path.realpath(each)}{os.sep}")
        if is_there and (os.path.samefile(path, each) or (inside != real and _OF_ASSEMBLY.match(inside))):  # noqa: PTH121
            raise InvalidValueError(
                f"{shown(path)} is what is checked", argument="--output", allowed="a file that is not read"
            )
