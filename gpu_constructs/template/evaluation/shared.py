"""What all stacks of one call share: their exports, what is odd about them, and how much may still be worked out.

Exports: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Protocol, TypeAlias

from gpu_constructs.facts.budget import REMARKS, RESOURCES, SEARCHED, TOTAL_TEXT, work
from gpu_constructs.fleet import Origin, Place, Remark
from gpu_constructs.template.model import Reference, Text, Value, begin_of, end_of, references_in


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

    def imports(self) -> Iterable[str | Text]:
        """The names it imports."""


_Export: TypeAlias = "tuple[Publisher, str]"

_LAST_WORD = r"[A-Za-z0-9]*\Z"


class Exports:
    """Everything that the stacks of one call export; they are asked once `open` was called and an import is met."""

    def __init__(self, stacks: Sequence[Publisher]) -> None:
        self._stacks = stacks
        self._found: dict[tuple[str | Text, Place], _Export | None] = {}
        self._is_open = self._is_ready = False
        self._by_name: dict[str, list[_Export]] = defaultdict(list)
        # By the last word, which names the output where the name of the stack comes first.
        self._by_word: dict[str, list[tuple[str | Text, _Export]]] = defaultdict(list)

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
        if (name, place) not in self._found:
            self._found[name, place] = self._named(name, place)
        return self._found[name, place]

    def _named(self, name: str | Text, place: Place) -> _Export | None:
        if not self._is_ready:
            self._prepare()
        exact = self._by_name.get(name, ()) if isinstance(name, str) else ()
        found = _in_place(exact, place) or _in_place(self._fitting(name), place)
        return found[0] if len(found) == 1 else None

    @cached_property
    def _imported(self) -> frozenset[_Export | None]:
        return frozenset(self._named(name, each.place) for each in self._stacks for name in each.imports())

    def left_by(self, stack: Publisher) -> Iterator[Reference]:
        """What a stack exports, and no import of these stacks leads to."""
        left = [key for _, key in stack.exports() if (stack, key) not in self._imported]
        return references_in([stack.output(key) for key in left])

    @property
    def missing(self) -> Iterator[str]:
        """Names that were imported, and that nothing exports."""
        return (name for (name, _), found in self._found.items() if found is None and isinstance(name, str))

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
            if isinstance(name, (str, Text)):
                self._by_word[_last_word(name)].append((name, export))
        self._found.clear()

    def _fitting(self, name: str | Text) -> Sequence[_Export]:
        """Exports that a name may be, where one of both is not whole; none where there are too many to compare."""
        alike = self._by_word.get(_last_word(name), ()) if _last_word(name) else ()
        return [export for other, export in alike if _fit(name, other)] if len(alike) <= SEARCHED else []


def _last_word(name: str | Text) -> str:
    found = re.search(_LAST_WORD, name if isinstance(name, str) else end_of(name))
    return found[0] if found else ""


def _fit(one: str | Text, other: str | Text) -> bool:
    """Whether two names may be the same, as far as their ends say; two that are whole are looked up instead."""
    if isinstance(one, str) and isinstance(other, str):
        return False
    if isinstance(one, str) or isinstance(other, str):
        whole, part = (one, other) if isinstance(one, str) else (str(other), one)
        begin, end = begin_of(part), end_of(part)
        return len(whole) >= len(begin) + len(end) and whole.startswith(begin) and whole.endswith(end)
    begins = begin_of(one), begin_of(other)
    return end_of(one) == end_of(other) and (begins[0].startswith(begins[1]) or begins[1].startswith(begins[0]))


def _in_place(exports: Iterable[_Export], place: Place) -> list[_Export]:
    return [each for each in exports if each[0].place.may_be(place)]


class Shared:
    """The state of one call.

    Attributes:
        work: What may still be worked out, a step for each value.
        text: Characters that may still be put together.
        resources: Resources that may still be met.
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

    def remark(self, text: str, origin: Origin, *, fix: str = "", hides_work: bool = False) -> None:
        """Notes what is odd, unless enough is noted."""
        if not self._is_quiet and len(self._remarks) < REMARKS:
            self._remarks[Remark(text=text, origin=origin, fix=fix, hides_work=hides_work)] = None

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Takes no remarks: what is worked out later, or only to look at it, has been reported or is of no interest."""
        before, self._is_quiet = self._is_quiet, True
        try:
            yield
        finally:
            self._is_quiet = before
