"""What all stacks of one call share: their exports, what is odd about them, and how much may still be worked out.

Exports: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Protocol, TypeAlias

from gpu_constructs.facts.budget import REMARKS, RESOURCES, SEARCHED, TOTAL_TEXT, work
from gpu_constructs.fleet import Origin, Place, Remark
from gpu_constructs.template.model import Text, Value


class Publisher(Protocol):
    """A stack with outputs."""

    @property
    def stack_name(self) -> str | None:
        """Its name where it is deployed; None if the files do not say."""

    @property
    def place(self) -> Place:
        """Where it is deployed to."""

    def output(self, name: str) -> Value:
        """The value of an output; unknown if it has none."""

    def exports(self) -> Iterable[tuple[Value, str]]:
        """The names it exports, each with the output behind it."""


_Export: TypeAlias = "tuple[Publisher, str]"
_Ends: TypeAlias = "tuple[str, str]"


class Exports:
    """Everything that the stacks of one call export; they are asked once `open` was called and an import is met."""

    def __init__(self, stacks: Sequence[Publisher]) -> None:
        self._stacks = stacks
        self._found: dict[tuple[str | _Ends, Place], _Export | None] = {}
        self._is_open = self._is_ready = False
        # Names in order from either end, so that those of one beginning or end lie side by side; and names of which
        # only the ends are known.
        self._by_name: dict[str, list[_Export]] = defaultdict(list)
        self._forwards: list[str] = []
        self._backwards: list[str] = []
        self._by_ends: dict[_Ends, list[_Export]] = defaultdict(list)
        self._by_end: dict[str, list[_Export]] = defaultdict(list)
        self._lengths: list[tuple[int, int]] = []

    def open(self) -> None:
        """Lets imports look, once every stack is there."""
        self._is_open = True

    def find(self, name: Value, place: Place) -> tuple[Publisher, str] | None:
        """The stack and the output behind an imported name; None if there is none, or no single one.

        Names are often made of the name of a stack, which is only known at deploy time: ``${AWS::StackName}:Cluster``
        on one side, ``${NetworkStack}:Cluster`` on the other. Files that are read together belong together, so such a
        name is followed where all that is known of it fits exactly one. Exports of another region or account
        are not seen.
        """
        if not self._is_open or not isinstance(name, (str, Text)):
            return None
        if not self._is_ready:
            self._prepare()
        wanted = name if isinstance(name, str) else _ends(name)
        key = wanted, place
        if key not in self._found:
            self._found[key] = self._look_up(wanted, place)
        return self._found[key]

    def of_stack(self, stack: Value, region: Value) -> Publisher | None:
        """The stack of a name; None if there is none, or no single one."""
        place = Place(region if isinstance(region, str) else None)
        found = [each for each in self._stacks if each.stack_name == stack and each.place.may_be(place)]
        return found[0] if isinstance(stack, str) and len(found) == 1 else None

    def _prepare(self) -> None:
        # Before the names are known: one that is itself made of an import finds nothing, instead of itself.
        self._is_ready = True
        for export, name in [((stack, output), name) for stack in self._stacks for name, output in stack.exports()]:
            if isinstance(name, str):
                self._by_name[name].append(export)
            elif isinstance(name, Text):
                self._by_ends[_ends(name)].append(export)
                self._by_end[_ends(name)[1]].append(export)
        self._forwards = sorted(self._by_name)
        self._backwards = sorted(name[::-1] for name in self._by_name)
        lengths = dict.fromkeys((len(begin), len(end)) for begin, end in self._by_ends if begin or end)
        self._lengths = list(lengths)[:SEARCHED]
        self._found.clear()

    def _look_up(self, wanted: str | _Ends, place: Place) -> _Export | None:
        if isinstance(wanted, str):
            found = _in_place(self._by_name.get(wanted, ()), place) or _in_place(self._fitting(wanted), place)
        else:
            # Of those that are not whole: the stack's name, which differs, comes first and the output's last.
            alike = self._by_end.get(wanted[1], ()) if wanted[1] else ()
            found = _in_place(chain(self._between(*wanted), alike), place)
        return found[0] if len(found) == 1 else None

    def _between(self, begin: str, end: str) -> Iterator[_Export]:
        """Exports whose names begin and end so; of a name of which neither end is known there is none."""
        if not (begin or end):
            return
        ahead, back = _starting_with(self._forwards, begin), _starting_with(self._backwards, end[::-1])
        nearer = [name[::-1] for name in back] if len(back) < len(ahead) else ahead
        for name in nearer:
            if len(name) >= len(begin) + len(end) and name.startswith(begin) and name.endswith(end):
                yield from self._by_name[name]

    def _fitting(self, name: str) -> Iterator[_Export]:
        """Exports that a name fits; a pattern of which neither end is known fits none."""
        for begin, end in self._lengths:
            if begin + end <= len(name):
                yield from self._by_ends.get((name[:begin], name[len(name) - end :]), ())


def _starting_with(ordered: Sequence[str], start: str) -> Sequence[str]:
    return ordered[bisect_left(ordered, start) : bisect_right(ordered, start + "\U0010ffff")]


def _in_place(exports: Iterable[_Export], place: Place) -> list[_Export]:
    """Those of a region and account; a second one is enough to know that there is no single one."""
    return list(islice((each for each in exports if each[0].place.may_be(place)), 2))


def _ends(text: Text) -> _Ends:
    """What a text certainly begins and ends with."""
    first, last = text.pieces[0], text.pieces[-1]
    return first if isinstance(first, str) else "", last if isinstance(last, str) else ""


class Shared:
    """The state of one call.

    Attributes:
        stacks: All stacks, nested ones among them.
        exports: What they export.
        work: What may still be worked out, a step for each value.
        text: Characters that may still be put together.
        resources: Resources that may still be met.
        depth: How deep the working out is right now.
        is_complete: Whether nothing was met that lies outside of what was read.
    """

    def __init__(self) -> None:
        self.stacks: list[Publisher] = []
        self.exports = Exports(self.stacks)
        self.work = work()
        self.text = TOTAL_TEXT
        self.resources = RESOURCES
        self.depth = 0
        self.is_complete = True
        self._remarks: dict[Remark, None] = {}
        self._is_quiet = False

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was odd, in the order in which it was met."""
        return tuple(self._remarks)

    def remark(self, text: str, origin: Origin) -> None:
        """Notes what is odd, unless enough is noted."""
        if self.takes_remarks:
            self._remarks[Remark(text=text, origin=origin)] = None

    @property
    def takes_remarks(self) -> bool:
        """Whether one more remark would be kept."""
        return not self._is_quiet and len(self._remarks) < REMARKS

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Takes no remarks: what is worked out later, or only to look at it, has been reported or is of no interest."""
        before, self._is_quiet = self._is_quiet, True
        try:
            yield
        finally:
            self._is_quiet = before
