"""Texts that are JSON, with values of the deploy and ``${variables}`` in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpu_constructs.facts.budget import DEPTH, TEXT, work
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.model import DynamicReference, Placeholder, Reference, Text, Value

_CHARACTERS_OF_STEP = 10
# Stands on both sides of a number in a text for a piece that is not text.
_HOLE = "\ue001"
_NUMBERED = re.compile(f"{_HOLE}([0-9]{{1,7}}){_HOLE}")
# A text in quotes, be it one that is not closed, so that each character is looked at once; or a piece outside of one.
_QUOTED_OR_HOLE = re.compile(rf'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|({_HOLE}[0-9]{{1,7}}{_HOLE})', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_VARIABLE = re.compile(r"\$\{([A-Za-z0-9_]{1,255})\}")


def object_in(value: Value, variables: Mapping[str, Value]) -> Mapping[str, Value] | None:
    """The object that a value is, or that a text is as JSON, with its variables filled; None where none can be read.

    A value of the deploy within it is what it is in a template: a reference, or unknown.
    """
    if isinstance(value, Mapping):
        found = _each_text(value, lambda text: _filled(text, variables)) if variables else value
    elif isinstance(value, (str, Text)):
        found = _parsed(list(_pieces(value, variables)))
    else:
        return None
    return found if isinstance(found, Mapping) else None


def _parsed(pieces: Sequence[Value]) -> Value:
    """What pieces of a text are as JSON; None where they are none, or too long."""
    flat = "".join(
        each.replace(_HOLE, "") if isinstance(each, str) else f"{_HOLE}{number}{_HOLE}"
        for number, each in enumerate(pieces)
    )
    if len(flat) > TEXT or not work().takes(len(flat) // _CHARACTERS_OF_STEP):
        return None
    quoted = _QUOTED_OR_HOLE.sub(lambda found: found[1] or f'"{found[2]}"', flat)
    try:
        data: Value = json.loads(quoted, parse_constant=str)
        if _SURROGATE.search(flat):
            json.dumps(data, ensure_ascii=False).encode()  # half a character cannot be written into any report
    except (ValueError, RecursionError):
        return None
    return _each_text(data, lambda text: _joined(_unfolded(text, pieces)))


def _unfolded(text: str, pieces: Sequence[Value]) -> Iterator[Value]:
    for index, each in enumerate(_NUMBERED.split(text)):
        yield pieces[int(each)] if index % 2 and int(each) < len(pieces) else each


def _filled(text: str, variables: Mapping[str, Value]) -> Value:
    value = _joined(_pieces(text, variables))
    length = len(value) if isinstance(value, str) else len(text)
    return value if work().takes(length // _CHARACTERS_OF_STEP) else UNKNOWN


def _pieces(value: str | Text, variables: Mapping[str, Value]) -> Iterator[Value]:
    """A text in pieces, with values in the place of variables; unknown from where these are too long together."""
    length = 0
    for piece in value.pieces if isinstance(value, Text) else (value,):
        if not isinstance(piece, str):
            yield piece
            continue
        for index, part in enumerate(_VARIABLE.split(piece)):
            if index % 2 == 0:
                yield part
                continue
            filled = variables.get(part, f"${{{part}}}")
            length += len(filled) if isinstance(filled, str) else 1
            if length > TEXT:
                yield UNKNOWN
                return
            yield from filled.pieces if isinstance(filled, Text) else (_as_text(filled),)


def _as_text(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _joined(pieces: Iterator[Value]) -> Value:
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
