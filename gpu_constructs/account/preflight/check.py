"""The words of every check: what it asks AWS, of what, and what the answer is."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.check.planning.fleet_plan import FleetPlan
from gpu_constructs.facts.values import StrEnum, dataclass
from gpu_constructs.fleet import Fleet, Pool

_Plain = TypeVar("_Plain")
_LARGEST = 10**12


@dataclass(frozen=True, slots=True)
class Row:
    """An object of an answer. What is of another kind than is asked for, or is missing, raises `UnansweredError`."""

    call: str
    values: Mapping[str, object]

    def text(self, key: str) -> str:
        """A text; empty where there is none."""
        return self._of(key, str) or ""

    def number(self, key: str) -> float:
        """A number, 0 or more."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise odd(self.call)
        if not math.isfinite(value) or not 0 <= value < _LARGEST:
            raise odd(self.call)
        return value

    def time(self, key: str) -> dt.datetime | None:
        """A time in UTC; None where there is none."""
        value = self._of(key, dt.datetime)
        try:
            return value and (value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)).astimezone(
                dt.timezone.utc
            )
        except (OverflowError, ValueError):
            raise odd(self.call) from None

    def row(self, key: str) -> Row:
        """An object."""
        return _row(self.call, self.values.get(key))

    def rows(self, key: str) -> tuple[Row, ...]:
        """The objects of a list; none where there is no list."""
        return tuple(_row(self.call, each) for each in self._of(key, list) or ())

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list; none where there is no list."""
        found = self._of(key, list) or ()
        if not all(isinstance(each, str) for each in found):
            raise odd(self.call)
        return tuple(found)

    def _of(self, key: str, kind: type[_Plain]) -> _Plain | None:
        value = self.values.get(key)
        if value is not None and not isinstance(value, kind):
            raise odd(self.call)
        return value


@dataclass(frozen=True, slots=True)
class Answer:
    """The pages of an answer. Those of another form than the API has raise `UnansweredError`."""

    call: str
    pages: Sequence[object]
    has_more: bool = False

    @property
    def first(self) -> Row:
        """The first page."""
        return _row(self.call, self.pages[0] if self.pages else None)

    def rows(self, key: str, *, whole: bool = True) -> Iterator[Row]:
        """The objects of the lists of all pages; `whole` lists say something only if these are all.

        Raises:
            UnansweredError: They have another shape, or are not all.
        """
        if whole and self.has_more:
            raise UnansweredError(f"AWS answered {self.call} with more than the {len(self.pages)} pages that are read")
        for page in self.pages:
            yield from _row(self.call, page).rows(key)


def _row(call: str, value: object) -> Row:
    if not isinstance(value, Mapping):
        raise odd(call)
    return Row(call, value)


def odd(call: str) -> UnansweredError:
    """The error of an answer that the API does not give."""
    return UnansweredError(f"AWS answered {call} in an unknown form")


Ask: TypeAlias = Callable[[str, Mapping[str, object]], Answer]
"""Asks AWS in one region, by the permission of a call such as ``ec2:DescribeSubnets``; raises `UnansweredError`."""


class Verdict(StrEnum):
    """What a check came to."""

    OK = "ok"
    SHORT = "short"
    NOT_CHECKED = "not checked"
    NOTHING_TO_CHECK = "nothing to check"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a check found out.

    Attributes:
        region: Where; empty where that is not known.
        subject: What it is about, such as the name of a pool; empty where it has nothing to check.
        text: The fact: what there is, by how much it is short, or why it was not checked.
        fix: The command or the change that gets more, or lets it be checked; empty where there is none.
        word: The verdict in the word that suits the thing, such as ``missing`` of an image that is short.
    """

    check: str = ""
    region: str = ""
    subject: str = ""
    verdict: Verdict
    text: str
    fix: str = ""
    word: str


def ok(text: str) -> Result:
    """Enough of it is there."""
    return Result(verdict=Verdict.OK, text=text, word=Verdict.OK.value)


def short(text: str, fix: str, word: str = Verdict.SHORT.value) -> Result:
    """Too little of it is there."""
    return Result(verdict=Verdict.SHORT, text=text, fix=fix, word=word)


def unchecked(text: str, fix: str = "") -> Result:
    """Nothing certain can be said."""
    return Result(verdict=Verdict.NOT_CHECKED, text=text, fix=fix, word=Verdict.NOT_CHECKED.value)


Question: TypeAlias = "tuple[str, Callable[[Ask], Result]]"
"""What a check is about, such as the name of a pool, and what asks AWS and reads the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is asked about: all that is deployed to one region, of the whole fleet and its plan."""

    region: str
    pools: tuple[Pool, ...]
    fleet: Fleet
    plan: FleetPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check.

    Attributes:
        calls: The calls that it may make, by their permissions.
        without: Why it has no question about files that give it none; empty where all hosts give it one.
        on_request: Whether it is asked only where it is named.
    """

    id: str
    question: str
    calls: tuple[str, ...]
    questions: Callable[[Scope], Iterator[Question]]
    without: str = ""
    on_request: bool = False
