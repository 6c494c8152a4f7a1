"""Values that stacks hand each other: exports and imports, and outputs that are read by name.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gpu_constructs.template.model import Text, Value

__all__ = ["Exports", "Publisher"]


class Publisher(Protocol):
    """A stack with outputs."""

    @property
    def stack_name(self) -> str | None:
        """Its name where it is deployed; None if the files do not say."""

    @property
    def region(self) -> str | None:
        """Where it is deployed to."""

    def output(self, name: str) -> Value:
        """The value of an output; unknown if it has none."""

    def exports(self) -> Iterable[tuple[Value, str]]:
        """The names it exports, each with the output behind it."""


class Exports:
    """Everything that the stacks of one call export.

    Args:
        stacks: All of them; they are asked once `open` was called and the first import is met.
    """

    def __init__(self, stacks: Sequence[Publisher]) -> None:
        self._stacks = stacks
        self._by_name: dict[str, list[tuple[Publisher, str]]] = {}
        self._by_pattern: list[tuple[Text, Publisher, str]] = []
        self._is_open = self._is_ready = False

    def open(self) -> None:
        """Lets imports look, once every stack is there."""
        self._is_open = True

    def find(self, name: Value, region: str | None) -> tuple[Publisher, str] | None:
        """The stack and the output behind an imported name; None if there is none, or no single one.

        Names are often made of the name of a stack, which is only known at deploy time: ``${AWS::StackName}:Cluster``
        on one side, ``${NetworkStack}:Cluster`` on the other. Files that are read together belong together, so such a
        name is followed where all that is known of it fits exactly one.

        Args:
            name: What is imported.
            region: Where the importing stack is deployed to; exports of another region are not seen.
        """
        if not self._is_open:
            return None
        self._prepare()
        if isinstance(name, str):
            found = self._in_region(self._by_name.get(name, []), region)
            patterns = [(stack, output) for text, stack, output in self._by_pattern if _may_be(text, name)]
            found = found or self._in_region(patterns, region)
        elif isinstance(name, Text):
            known = [each for full, entries in self._by_name.items() if _may_be(name, full) for each in entries]
            patterns = [(stack, output) for text, stack, output in self._by_pattern if _may_be_equal(text, name)]
            found = self._in_region(known + patterns, region)
        else:
            return None
        return found[0] if len(found) == 1 else None

    def of_stack(self, stack: Value, region: Value) -> Publisher | None:
        """The stack of a name; None if there is none, or no single one.

        Args:
            stack: The name where it is deployed.
            region: Where it is deployed to, unknown if that is.
        """
        wanted = region if isinstance(region, str) else None
        found = [each for each in self._stacks if each.stack_name == stack and _is_in(each, wanted)]
        return found[0] if isinstance(stack, str) and len(found) == 1 else None

    def _prepare(self) -> None:
        if self._is_ready:
            return
        # Before the names are known: one that is itself made of an import finds nothing, instead of itself.
        self._is_ready = True
        for stack in self._stacks:
            for name, output in stack.exports():
                if isinstance(name, str):
                    self._by_name.setdefault(name, []).append((stack, output))
                elif isinstance(name, Text):
                    self._by_pattern.append((name, stack, output))

    @staticmethod
    def _in_region(found: list[tuple[Publisher, str]], region: str | None) -> list[tuple[Publisher, str]]:
        return [each for each in found if _is_in(each[0], region)]


def _is_in(stack: Publisher, region: str | None) -> bool:
    return region is None or stack.region is None or stack.region == region


def _ends(text: Text) -> tuple[str, str]:
    """What a text certainly begins and ends with."""
    first, last = text.pieces[0], text.pieces[-1]
    return first if isinstance(first, str) else "", last if isinstance(last, str) else ""


def _may_be(text: Text, name: str) -> bool:
    """Whether a name fits a text; one of which neither end is known fits nothing."""
    begin, end = _ends(text)
    if not (begin or end) or len(name) < len(begin) + len(end):
        return False
    return name.startswith(begin) and name.endswith(end)


def _may_be_equal(one: Text, other: Text) -> bool:
    """Whether two texts end alike: the stack's name, which differs, comes first and the output's last."""
    known, wanted = _ends(one)[1], _ends(other)[1]
    return bool(known) and known == wanted
