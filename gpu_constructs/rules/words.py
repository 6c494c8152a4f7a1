"""The words of a finding: text for readers of files, of which constructors put some into the words of their arguments.

A rule marks these words where it writes them::

    Text("raise ", Word("MaxSize"), f" of {pool.name} to {size}")

A value inside a text is never taken for such a word, whatever somebody has written there. An f-string makes plain text
of a `Text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import final

from gpu_constructs.placement.reasons import listed


class Word(str):
    """What a constructor may call otherwise, such as the property ``MaxSize``: one word or several that go together."""

    __slots__ = ()


@final
class Text(str):
    """A text with the words in it that a constructor may call otherwise."""

    __slots__ = ("_parts",)
    _parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Text:  # noqa: D102 - its arguments are those of the class
        text = super().__new__(cls, "".join(parts))
        text._parts = tuple(chain.from_iterable(map(parts_of, parts)))
        return text


def joined(between: str, texts: Iterable[str]) -> Text:
    """Texts one after the other, as ``str.join`` has them."""
    parts = [part for each in texts for part in (between, each)]
    return Text(*parts[1:])


def in_arguments(text: str, arguments: Mapping[str, str]) -> str:
    """The text of a finding in the words of a constructor, by word."""
    return "".join(arguments.get(each, each) if isinstance(each, Word) else each for each in parts_of(text))


def parts_of(text: str) -> tuple[str, ...]:
    """The parts of a text, the words among them; plain text is its only part."""
    return text._parts if isinstance(text, Text) else (text,)  # noqa: SLF001 - the texts of this module


def or_list(names: Iterable[object]) -> str:
    """``a, b or c``, cut short where there are many."""
    return listed(names, "or")


def and_list(names: Iterable[object]) -> str:
    """``a, b and c``, cut short where there are many."""
    return listed(names)


def with_verb(names: Iterable[object], one: str, several: str) -> str:
    """``a asks`` or ``a and b ask``; there is at least one name."""
    who = tuple(names)
    return f"{and_list(who)} {one if len(who) == 1 else several}"
