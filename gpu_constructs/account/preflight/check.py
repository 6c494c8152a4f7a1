"""The words of every check: what it asks AWS, of what, and what the answer is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from gpu_constructs.account.answers import Thing, UnansweredError, things
from gpu_constructs.check.planning.fleet_plan import FleetPlan
from gpu_constructs.facts.values import StrEnum, dataclass
from gpu_constructs.fleet import Fleet, Pool


@dataclass(frozen=True, slots=True)
class Answer:
    """The pages of an answer, one or more."""

    call: str
    pages: Sequence[Thing]
    has_more: bool = False

    @property
    def first(self) -> Thing:
        """The first page."""
        return self.pages[0]

    def rows(self, key: str, *, whole: bool = True) -> Iterator[Thing]:
        """The objects of the lists of all pages; `whole` lists say something only if these are all.

        Raises:
            UnansweredError: They are not all.
        """
        if whole and self.has_more:
            raise UnansweredError(f"AWS answered {self.call} with more than the {len(self.pages)} pages that are read")
        return chain.from_iterable(things(each, key) for each in self.pages)


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
