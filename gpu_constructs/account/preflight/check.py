"""The words of every check: what it asks AWS, of what, and what the answer is."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import TypeAlias

from gpu_constructs.account.preflight.answer import Answer
from gpu_constructs.fleet import Fleet, Pool
from gpu_constructs.planning import FleetPlan
from gpu_constructs.values import dataclass

_IAM_PREFIXES = {"service-quotas": "servicequotas"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An operation of AWS that only reads.

    Attributes:
        service: As boto3 names it.
        operation: As the API names it.
        resource: The resources that the least policy allows it on.
    """

    service: str
    operation: str
    resource: str = "*"

    @property
    def permission(self) -> str:
        """The action of a policy."""
        return f"{_IAM_PREFIXES.get(self.service, self.service)}:{self.operation}"


Ask: TypeAlias = Callable[[Call, Mapping[str, object]], Answer]
"""Asks AWS in one region; raises `UnansweredError`."""


class Verdict(str, Enum):
    """What a check came to."""

    OK = "ok"
    SHORT = "short"
    NOT_CHECKED = "not checked"
    NOTHING_TO_CHECK = "nothing to check"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an answer says.

    Attributes:
        verdict: What it came to.
        text: The fact: what there is, by how much it is short, or why it was not checked.
        fix: The command or the change that gets more; empty where there is nothing to do.
        word: The verdict in the word that suits the thing, such as ``missing`` of a role; empty for its own.
    """

    verdict: Verdict
    text: str
    fix: str = ""
    word: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of a check about one thing.

    Attributes:
        subject: What it is about, such as the name of a pool.
        read: Asks AWS, and reads the answer.
    """

    subject: str
    read: Callable[[Ask], Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is asked about: all that is deployed to one region.

    Attributes:
        region: The region.
        pools: Its pools.
        fleet: The whole fleet.
        plan: What the fleet needs.
    """

    region: str
    pools: tuple[Pool, ...]
    fleet: Fleet
    plan: FleetPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check.

    Attributes:
        id: Its name.
        question: What it asks.
        reads: How the answer is read.
        calls: The calls that it may make.
        questions: Its questions about a region.
        without: Why it has no question about files that give it none; empty where all hosts give it one.
        on_request: Whether it is asked only where it is named.
        is_global: Whether the answer is the same in every region, so that one is asked.
    """

    id: str
    question: str
    reads: str
    calls: tuple[Call, ...]
    questions: Callable[[Scope], Iterator[Question]]
    without: str = ""
    on_request: bool = False
    is_global: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a check found out.

    Attributes:
        check: Its name.
        region: Where; empty where that is not known.
        subject: What it is about; empty where it has nothing to check.
        verdict: What it came to.
        text: The fact: what there is, by how much it is short, or why it was not checked.
        fix: The command or the change that gets more, or lets it be checked; empty where there is none.
        word: The verdict in the word that suits the thing, such as ``missing`` of a role that is short.
    """

    check: str
    region: str
    subject: str
    verdict: Verdict
    text: str
    fix: str = ""
    word: str = ""


def ok(text: str) -> Found:
    """Enough of it is there."""
    return Found(verdict=Verdict.OK, text=text)


def short(text: str, fix: str, word: str = "") -> Found:
    """Too little of it is there."""
    return Found(verdict=Verdict.SHORT, text=text, fix=fix, word=word)


def unchecked(text: str, fix: str = "") -> Found:
    """Nothing certain can be said."""
    return Found(verdict=Verdict.NOT_CHECKED, text=text, fix=fix)


def aws(service: str, command: str, region: str, options: Iterable[tuple[str, object]]) -> str:
    """A command of the AWS command line.

    Args:
        service: The service.
        command: The command, such as ``create-subnet``.
        region: The region; empty for none.
        options: Options without their hyphens, and their values.
    """
    given = [*options, *([("region", region)] if region else [])]
    return " ".join(["aws", service, command, *(f"--{name} {shlex.quote(str(value))}" for name, value in given)])
