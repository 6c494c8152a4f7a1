"""The arguments of commands that read files, and what they say."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from gpu_constructs.check.configuration import Configuration
from gpu_constructs.check.report import Asked, Report
from gpu_constructs.check.repository import Selection, World, worlds_of
from gpu_constructs.check.worlds import check_worlds
from gpu_constructs.cli.options import add_configuration, add_repeated
from gpu_constructs.cli.output import say
from gpu_constructs.errors import InvalidValueError, arguments_written, shown
from gpu_constructs.facts import regions
from gpu_constructs.facts.budget import BYTES, HOSTS
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.names import REGIONS
from gpu_constructs.rules import Choice
from gpu_constructs.template import UnreadableError

_STDIN = "-"


def add_inputs(parser: argparse.ArgumentParser, *, nargs: str = "+", directories: bool = False) -> None:
    """Adds the arguments that say what to read; with `directories`, a directory may be any that has such files."""
    other = "a directory with any of these, " if directories else ""
    parser.add_argument(
        "paths",
        nargs=nargs,
        metavar="PATH",
        help="a template in JSON or YAML, what aws ecs or aws batch takes as JSON (task, job, queue, service, run), "
        f"a cloud assembly such as cdk.out, a plan of terraform show -json, {other}or - for stdin",
    )
    parser.add_argument(
        "--partial", action="store_true", help="these files are only a part: hosts in other files may take any task"
    )
    hosts = "hosts of clusters that these files do not define, such as g6.xlarge=4"
    add_repeated(parser, "--hosts", "TYPE=NUMBER", hosts)
    add_configuration(parser)
    parser.add_argument("--region", help="region of the templates, where they do not say it themselves")
    add_repeated(parser, "--parameter", "NAME=VALUE", "value of a template parameter instead of its default")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that say which files of a directory are read, and which of them belong together."""
    pattern = "a pattern as in .gitignore, from the working directory"
    add_repeated(parser, "--include", "PATTERN", f"in directories, look at these files alone; {pattern}")
    add_repeated(parser, "--exclude", "PATTERN", f"in directories, leave these files or directories out; {pattern}")
    parser.add_argument(
        "--together",
        action="store_true",
        help="check everything as one; else each directory and each assembly is checked by itself",
    )


def reviewed(arguments: argparse.Namespace, configuration: Configuration, *, rules: Choice) -> Report:
    """Reads what the arguments name, and asks the rules; the configuration says what they leave out."""
    with _asked(arguments, configuration, rules) as (paths, asked):
        return asked.report(paths)


def reviewed_worlds(
    arguments: argparse.Namespace,
    configuration: Configuration,
    *,
    rules: Choice,
    check: Callable[[Sequence[World], Asked], Report] | None = None,
) -> Report:
    """The same of directories, each by itself; what cannot be read keeps none of the others from being checked."""
    selections = [
        Selection(include=tuple(arguments.include), exclude=tuple(arguments.exclude)),
        Selection(folder=configuration.folder, include=configuration.include, exclude=configuration.exclude),
    ]
    with _asked(arguments, configuration, rules) as (paths, asked):
        found = worlds_of(paths, selections, together=arguments.together or configuration.together)
        for each in found.ignored:
            say(f"{each} is left out, as git ignores it; name it to check it")
        report = (check or check_worlds)(found.worlds, asked)
    return replace(report, unreadable=(*found.unreadable, *report.unreadable), skipped=found.skipped + report.skipped)


@contextmanager
def _asked(
    arguments: argparse.Namespace, configuration: Configuration, rules: Choice
) -> Iterator[tuple[list[str], Asked]]:
    """The paths but for the configuration, and what is asked about them."""
    own = configuration.file and os.path.normpath(configuration.file)  # such as one of ``*.yaml``, and no template
    paths = [each for each in arguments.paths if os.path.normpath(each) != own] or arguments.paths
    region = configuration.region if arguments.region is None else arguments.region
    with arguments_written({"region": "--region", "hosts": "--hosts"}):
        asked = Asked(
            rules=rules,
            given=_parameters(arguments.parameter) or configuration.parameters,
            hosts=_hosts(arguments.hosts) or configuration.hosts,
            stdin=_standard_input() if _STDIN in paths else None,
            region=region,
            partial=arguments.partial or configuration.partial,
        )
        with for_one_check(configuration.instance_types):
            yield paths, asked
    if region is not None and region not in regions():
        doubt = "" if region in REGIONS else ", which is newer than this library or misspelt"
        say(f"nothing is recorded about region {region}{doubt}: what is offered there was not checked")


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UnreadableError("standard input is closed", file=_STDIN, fix="name a file, or pipe one in")
    try:
        return sys.stdin.buffer.read(BYTES + 1)  # no more of it than is ever read
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableError(f"standard input cannot be read: {why}", file=_STDIN) from None


def _hosts(written: Sequence[str]) -> dict[str, int]:
    hosts: dict[str, int] = {}
    for each in written:
        name, _, number = each.partition("=")
        if not name or not (number.isascii() and number.isdecimal()) or len(number) > len(str(HOSTS)):
            raise InvalidValueError(
                f"{shown(each)} describes no hosts", argument="--hosts", allowed="TYPE=NUMBER, such as g6.xlarge=4"
            )
        hosts[name] = hosts.get(name, 0) + int(number)
    return hosts


def _parameters(written: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for each in written:
        name, equals, value = each.partition("=")
        # Values may be secrets, and so may a text whose name is missing: none of them is quoted.
        if not name or not equals:
            missing = "value" if name else "name"
            raise InvalidValueError(f"a parameter has no {missing}", argument="--parameter", allowed="NAME=VALUE")
        if values.setdefault(name, value) != value:
            raise InvalidValueError(f"{name} has two values", argument="--parameter", allowed="one value")
    return values
