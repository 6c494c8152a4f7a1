"""Texts of a template that are JSON, such as the definition of a state machine, with the references in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpu_constructs.budget import DEPTH, TEXT, TOTAL_TEXT
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.model import DynamicReference, Placeholder, Reference, Text, Value

# Stands on both sides of a number in a text for a piece that is not text.
_HOLE = "\ue001"
_NUMBERED = re.compile(f"{_HOLE}([0-9]{{1,7}}){_HOLE}")
# A text in quotes, be it one that is not closed, so that each character is looked at once; or a piece outside of one.
_QUOTED_OR_HOLE = re.compile(rf'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|({_HOLE}[0-9]{{1,7}}{_HOLE})', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_VARIABLE = re.compile(r"\$\{([A-Za-z0-9_]{1,255})\}")


class JsonTexts:
    """Reads texts that are JSON, as long as there are not too many of them."""

    def __init__(self) -> None:
        self._left = TOTAL_TEXT

    def object_in(self, value: Value, variables: Mapping[str, Value]) -> Mapping[str, Value] | None:
        """The object that a text is, with values for the ``${variables}`` in it; None where none can be read.

        A value of the deploy within it is what it is in a template: a reference, or unknown.
        """
        if not isinstance(value, (str, Text)):
            return None
        pieces = list(_substituted(value.pieces if isinstance(value, Text) else (value,), variables))
        flat = "".join(
            each.replace(_HOLE, "") if isinstance(each, str) else f"{_HOLE}{number}{_HOLE}"
            for number, each in enumerate(pieces)
        )
        self._left -= len(flat)
        if len(flat) > TEXT or self._left < 0:
            return None
        try:
            data: Value = json.loads(
                _QUOTED_OR_HOLE.sub(lambda found: found[1] or f'"{found[2]}"', flat), parse_constant=str
            )
            if _SURROGATE.search(flat):
                json.dumps(data, ensure_ascii=False).encode()  # half a character cannot be written into any report
            found = _each_text(data, lambda text: _one(_unfolded(text, pieces)))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, Mapping) else None

    def substituted(self, value: Mapping[str, Value], variables: Mapping[str, Value]) -> Mapping[str, Value]:
        """An object with values for the ``${variables}`` in its texts."""
        found = _each_text(value, self._filled(variables)) if variables else value
        return found if isinstance(found, Mapping) else {}

    def _filled(self, variables: Mapping[str, Value]) -> Callable[[str], Value]:
        def fill(text: str) -> Value:
            value = _one(list(_substituted((text,), variables)))
            self._left -= len(value) if isinstance(value, str) else len(text)
            return value if self._left >= 0 else UNKNOWN

        return fill


def _substituted(pieces: Sequence[Value], variables: Mapping[str, Value]) -> Iterator[Value]:
    length = 0
    for piece in pieces:
        if not isinstance(piece, str):
            yield piece
            continue
        position = 0
        for match in _VARIABLE.finditer(piece):
            if match[1] not in variables:
                continue
            yield piece[position : match.start()]
            position = match.end()
            value = variables[match[1]]
            length += len(value) if isinstance(value, str) else 1
            if length > TEXT:
                yield UNKNOWN
                return
            yield from value.pieces if isinstance(value, Text) else (_as_text(value),)
        yield piece[position:]


def _as_text(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _unfolded(text: str, pieces: Sequence[Value]) -> list[Value]:
    """A text with its numbered holes as the pieces that they stand for."""
    if _HOLE not in text:
        return [text]
    return [
        pieces[int(each)] if index % 2 and int(each) < len(pieces) else each
        for index, each in enumerate(_NUMBERED.split(text))
    ]


def _one(pieces: Sequence[Value]) -> Value:
    """What pieces come to: one text where all are texts, the only piece that there is, or all of them in order."""
    merged: list[str | Reference | Placeholder | Unknown | DynamicReference] = []
    for each in pieces:
        last = merged[-1] if merged else None
        if isinstance(each, str) and isinstance(last, str):
            merged[-1] = last + each
        elif each != "":
            merged.append(each if isinstance(each, (str, Reference, Placeholder, DynamicReference)) else UNKNOWN)
    if len(merged) > 1:
        return Text(tuple(UNKNOWN if isinstance(each, DynamicReference) else each for each in merged))
    first = merged[0] if merged else ""
    return UNKNOWN if isinstance(first, Placeholder) else first


def _each_text(value: Value, change: Callable[[str], Value], depth: int = DEPTH) -> Value:
    """The same with each text changed; what is nested too deeply is unknown."""
    if isinstance(value, str):
        return change(value)
    if depth <= 0:
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: _each_text(each, change, depth - 1) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [_each_text(each, change, depth - 1) for each in value]
    return value
