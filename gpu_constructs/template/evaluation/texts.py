"""Texts of which some pieces are only known at deploy time: putting together, splitting, comparing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpu_constructs.facts.budget import TEXT
from gpu_constructs.fleet import RESOLVED_LATER, UNKNOWN, Unknown, is_resolved_later
from gpu_constructs.template.model import DynamicReference, Placeholder, Reference, Text, Value

_Piece = str | Reference | DynamicReference | Placeholder | Unknown

# Stands for a piece that is not text while dynamic references are looked for; no text of a template needs it.
_HOLE = "\0"
_HOLE_OR_LATER = re.compile(f"{_HOLE}|{RESOLVED_LATER.pattern}")

# A placeholder of Jinja, as Sceptre takes it, that is a whole text.
_UNFILLED = re.compile(r"\{\{ *[A-Za-z_][\w.]{0,255} *\}\}")


def written(value: Value) -> str | None:
    """A plain value as CloudFormation writes it into a text; None if it is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else None


def resolvable(text: str) -> str | Reference | DynamicReference | Text | Unknown:
    """A text as the deploy will see it: what it resolves is unknown, and what a program fills in before."""
    if text[:2] == "{{" and _UNFILLED.fullmatch(text):
        return UNKNOWN
    return _one(_without_later([text])) if is_resolved_later(text) else text


def _without_later(pieces: Sequence[_Piece]) -> list[_Piece]:
    """The same with unknowns in place of dynamic references, of which each may span several pieces."""
    holes = iter([each for each in pieces if not isinstance(each, str)])
    text = "".join(each.replace(_HOLE, "") if isinstance(each, str) else _HOLE for each in pieces)
    found: list[_Piece] = []
    position = 0
    for match in _HOLE_OR_LATER.finditer(text):
        if match.start() > position:
            found.append(text[position : match.start()])
        position = match.end()
        inside = [next(holes) for _ in range(match[0].count(_HOLE))]
        is_whole = match[0] == text and text[0] == "{" and not inside
        piece = inside[0] if match[0] == _HOLE else DynamicReference(text) if is_whole else UNKNOWN
        if piece is not UNKNOWN or found[-1:] != [UNKNOWN]:
            found.append(piece)
    return [*found, text[position:]] if position < len(text) else found


def _one(pieces: Sequence[_Piece]) -> str | Reference | DynamicReference | Text | Unknown:
    if len(pieces) > 1:
        return Text(tuple(UNKNOWN if isinstance(each, DynamicReference) else each for each in pieces))
    first = pieces[0] if pieces else ""
    return UNKNOWN if isinstance(first, Placeholder) else first


def joined(values: Iterable[Value]) -> str | Reference | DynamicReference | Text | Unknown:
    """One text of many values, of which a list or an object is unknown; unknown if it would be too long."""
    pieces: list[_Piece] = []
    run: list[str] = []
    length = 0
    for piece in _pieces(values):
        if isinstance(piece, str):
            length += len(piece)
            run.append(piece)
        else:
            length += 1
            _flush(run, pieces)
            if piece is not UNKNOWN or pieces[-1:] != [UNKNOWN]:  # an unknown text after another is one
                pieces.append(piece)
        if length > TEXT:
            return UNKNOWN
    _flush(run, pieces)
    if any(isinstance(each, str) and is_resolved_later(each) for each in pieces):
        pieces = _without_later(pieces)
    return _one(pieces)


def _pieces(values: Iterable[Value]) -> Iterable[_Piece]:
    for value in values:
        if isinstance(value, Text):
            yield from value.pieces
        elif isinstance(value, (Reference, DynamicReference)):
            yield value
        else:
            text = written(value)
            yield UNKNOWN if text is None else text


def _flush(run: list[str], pieces: list[_Piece]) -> None:
    text = "".join(run)
    run.clear()
    if text:
        pieces.append(text)


def separated(value: Value, delimiter: str) -> list[Value] | Unknown:
    """A text split at every delimiter; unknown where it is not certain how many items that gives.

    A reference stands for an id, a name or an ARN, and none of them holds a comma; every other delimiter may be in one.
    """
    text = written(value)
    if text is not None:
        return list(text.split(delimiter)) if delimiter else [text]
    if isinstance(value, Reference) and value.attribute is None and delimiter == ",":
        return [value]
    if not isinstance(value, Text) or delimiter != "," or not all(map(_is_one_item, value.pieces)):
        return UNKNOWN
    items: list[list[Value]] = [[]]
    for piece in value.pieces:
        if isinstance(piece, str):
            first, *others = piece.split(delimiter)
            items[-1].append(first)
            items += [[each] for each in others]
        else:
            items[-1].append(piece)
    return [joined(item) for item in items]


def _is_one_item(piece: _Piece) -> bool:
    return isinstance(piece, str) or (isinstance(piece, Reference) and piece.attribute is None)


def _is_never_blank(value: Value) -> bool:
    """Whether a value is certainly not the empty text, though it may not be known itself."""
    if isinstance(value, Text):
        return any(isinstance(piece, (str, Reference)) for piece in value.pieces)
    return isinstance(value, Reference)


def same(one: Value, other: Value) -> bool | Unknown:
    """Whether two values are equal as ``Fn::Equals`` compares them, plain values as texts."""
    if isinstance(one, Reference) and one == other:
        return True
    texts = written(one), written(other)
    if None not in texts:
        return texts[0] == texts[1]
    if ("" in texts) and (_is_never_blank(one) or _is_never_blank(other)):
        return False
    return one == other if _is_whole(one) and _is_whole(other) else UNKNOWN


def _is_whole(value: Value) -> bool:
    if isinstance(value, list):
        return all(map(_is_whole, value))
    return value is None or written(value) is not None
