"""The words of every check: what it asks AWS, of what, and what the answer is."""

from __future__ import annotations

import datetime as dt
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeAlias, TypeVar

from gpu_constructs.check.planning import FleetPlan
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Fleet, Pool

_Plain = TypeVar("_Plain", str, bool)
_LARGEST = 10**12
_NEXT = ("NextToken", "nextToken")


class UnansweredError(Exception):
    """AWS did not answer a call, or in a form that is not known.

    Args:
        why: What happened, in words.
        code: The error code of AWS; empty where it sent none.
        fix: What to do about it.
    """

    def __init__(self, why: str, *, code: str = "", fix: str = "") -> None:
        self.why = why
        self.code = code
        self.fix = fix
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Row:
    """An object of an answer. What is of another kind than is asked for, or is missing, raises `UnansweredError`.

    Attributes:
        call: The call that was answered, for errors.
        values: Its values as they came.
    """

    call: str
    values: Mapping[str, object]

    def text(self, key: str) -> str:
        """A text; empty where there is none."""
        return self._of(key, str, otherwise="")

    def flag(self, key: str) -> bool:
        """A flag; false where there is none."""
        return self._of(key, bool, otherwise=False)

    def number(self, key: str) -> float:
        """A number, 0 or more."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._odd()
        if not math.isfinite(value) or not 0 <= value < _LARGEST:
            raise self._odd()
        return value

    def time(self, key: str) -> dt.datetime | None:
        """A time in UTC; None where there is none."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dt.datetime):
            raise self._odd()
        try:
            return value.astimezone(dt.timezone.utc) if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
        except (OverflowError, ValueError):
            raise self._odd() from None

    def row(self, key: str) -> Row:
        """An object."""
        return _row(self.call, self.values.get(key))

    def rows(self, key: str) -> tuple[Row, ...]:
        """The objects of a list; none where there is no list."""
        return tuple(_row(self.call, each) for each in self._list(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list; none where there is no list."""
        found = self._list(key)
        if not all(isinstance(each, str) for each in found):
            raise self._odd()
        return tuple(str(each) for each in found)

    def _list(self, key: str) -> Sequence[object]:
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)):
            raise self._odd()
        return value

    def _of(self, key: str, kind: type[_Plain], *, otherwise: _Plain) -> _Plain:
        value = self.values.get(key)
        if value is None:
            return otherwise
        if not isinstance(value, kind):
            raise self._odd()
        return value

    def _odd(self) -> UnansweredError:
        return _odd(self.call)


@dataclass(frozen=True, slots=True)
class Answer:
    """The pages of an answer. Those of another form than the API has raise `UnansweredError`.

    Attributes:
        call: The call that was answered, for errors.
        pages: Its pages as they came.
    """

    call: str
    pages: Sequence[object]

    @property
    def first(self) -> Row:
        """The first page."""
        return _row(self.call, self.pages[0] if self.pages else None)

    @property
    def has_more(self) -> bool:
        """Whether there are more pages than were read."""
        last = _row(self.call, self.pages[-1] if self.pages else {})
        return any(last.text(each) for each in _NEXT)

    def rows(self, key: str, *, whole: bool = True) -> Iterator[Row]:
        """The objects of the lists of all pages.

        Args:
            key: The key of the lists.
            whole: Whether they say something only if these are all.

        Raises:
            UnansweredError: They have another shape, or are not all.
        """
        if whole and self.has_more:
            raise UnansweredError(f"AWS answered {self.call} with more than the {len(self.pages)} pages that are read")
        for page in self.pages:
            yield from _row(self.call, page).rows(key)


def _row(call: str, value: object) -> Row:
    if not isinstance(value, Mapping):
        raise _odd(call)
    return Row(call, value)


def _odd(call: str) -> UnansweredError:
    return UnansweredError(f"AWS answered {call} in an unknown form")


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
    """

    id: str
    question: str
    reads: str
    calls: tuple[Call, ...]
    questions: Callable[[Scope], Iterator[Question]]
    without: str = ""
    on_request: bool = False


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
