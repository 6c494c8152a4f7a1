"""The arguments of commands about a running cluster, and what is described of it: by the account, or by files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from gpu_constructs.budget import BYTES
from gpu_constructs.cli.account_part import account_part
from gpu_constructs.cli.output import say
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.live.described import Answers, answers, parsed
from gpu_constructs.values import dataclass

_STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What is known of a cluster.

    Attributes:
        answers: What was described.
        denied: Calls that the credentials do not allow, or whose answers were not read to their end.
    """

    answers: Answers
    denied: tuple[str, ...] = ()


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that say which cluster is asked about, and with which credentials."""
    parser.add_argument("--cluster", help="name or ARN of the cluster; default: default")
    parser.add_argument("--region", help="where it is; default: the region of the profile")
    parser.add_argument("--profile", help="the AWS profile whose credentials are used")


def described(arguments: argparse.Namespace, *, name: str) -> Described:
    """What files say that the arguments name, or the account where they name none.

    Raises:
        GpuConstructsError: A file cannot be read, or AWS did not answer.
    """
    if arguments.paths:
        return from_files(arguments.paths)
    account = live_part()
    live = account.about(
        account.clients_of(arguments.profile),
        cluster=arguments.cluster or "default",
        name=name,
        region=arguments.region,
        deadline=deadline(),
    )
    return Described(answers=live.answers, denied=(*live.denied, *live.cut))


def deadline() -> object:
    """That of a command, which says on a terminal what takes long."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    return import_module("gpu_constructs.account.deadline").Deadline(told=say if watched else None)


def from_files(paths: Sequence[str]) -> Described:
    """What files say, or what is piped in.

    Raises:
        InvalidValueError: A file cannot be read, or holds no answer.
    """
    return Described(answers=answers(each for path in paths for each in parsed(text_of(path), file=_called(path))))


def live_part() -> ModuleType:
    """What asks the account about a cluster.

    Raises:
        GpuConstructsError: boto3 is not installed.
    """
    return account_part("live_cluster", otherwise=", or pipe what aws ecs describe-… prints")


def _called(path: str) -> str:
    return "standard input" if path == _STDIN else shown(path)


def text_of(path: str) -> str:
    """The text of a file, or of stdin.

    Raises:
        InvalidValueError: It cannot be read.
    """
    try:
        if path == _STDIN:
            content = sys.stdin.buffer.read(BYTES + 1) if sys.stdin is not None else b""
        else:
            with Path(path).open("rb") as file:
                content = file.read(BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidValueError(f"{_called(path)} cannot be read: {why}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidValueError(f"{_called(path)} is not UTF-8 text", fix="what aws prints as JSON") from None
