"""The arguments of commands that read files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.template.limits import BYTES

__all__ = ["add_inputs", "parameter_values", "standard_input"]

_STDIN = "-"


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that say what to read.

    Args:
        parser: That of a command which reads files.
    """
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a template or task definition in JSON or YAML, a cloud assembly such as cdk.out, or - for stdin",
    )
    parser.add_argument("--region", help="region of the templates, where they do not say it themselves")
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a template parameter instead of its default; can be repeated",
    )


def parameter_values(written: Sequence[str]) -> dict[str, str]:
    """The values of parameters.

    Args:
        written: ``NAME=VALUE`` each.

    Raises:
        InvalidValueError: One of them has no name or no value, or a name has two values.
    """
    values: dict[str, str] = {}
    for each in written:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise InvalidValueError(
                f"{each!r} is no value of a parameter", argument="--parameter", allowed="NAME=VALUE"
            )
        if values.setdefault(name, value) != value:
            raise InvalidValueError(
                f"{name} has two values, {values[name]!r} and {value!r}", argument="--parameter", allowed="one value"
            )
    return values


def standard_input(paths: Sequence[str]) -> bytes | None:
    """What stdin holds, where it is asked for, and no more of it than is ever read.

    Args:
        paths: The files of the command line.
    """
    return sys.stdin.buffer.read(BYTES + 1) if _STDIN in paths else None
