"""Docstrings in this repository's form: a line, text, and sections with a name and its meaning in each entry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Docstring", "docstring_of"]

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$", re.MULTILINE)
_ENTRY = re.compile(r"^    (\*{0,2}\w+): ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """What a docstring says.

    Attributes:
        summary: Its first line.
        arguments: What each argument means.
        attributes: What each attribute means.
    """

    summary: str
    arguments: Mapping[str, str]
    attributes: Mapping[str, str]


def docstring_of(documented: object) -> Docstring:
    """The docstring of a class, a function or a property.

    Args:
        documented: What has it.
    """
    text = inspect.cleandoc(documented.__doc__ or "")
    before, *found = _SECTION.split(text)
    sections = dict(zip(found[::2], found[1::2], strict=True))
    return Docstring(
        summary=before.partition("\n")[0],
        arguments=_entries(sections.get("Args", "")),
        attributes=_entries(sections.get("Attributes", "")),
    )


def _entries(section: str) -> dict[str, str]:
    _, *found = _ENTRY.split(section.partition("\n\n\n")[0])
    return {name: " ".join(text.split()) for name, text in zip(found[::2], found[1::2], strict=True)}
