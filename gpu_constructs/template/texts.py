"""Texts of which some pieces are only known at deploy time: putting together, splitting, comparing, reading as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from gpu_constructs.facts.budget import DEPTH, TEXT, work
from gpu_constructs.fleet import PIECE, RESOLVED_LATER, UNKNOWN, Unknown, is_resolved_later
from gpu_constructs.template.model import DynamicReference, Placeholder, Reference, Text, Value, pieces_of

_Piece = str | Reference | DynamicReference | Placeholder | Unknown

HOLE = f"{PIECE}([0-9]{{1,7}}){PIECE}"
"""What stands in a text for a piece that is not text: the number of the piece."""


# A placeholder of Jinja, as Sceptre takes it, that is a whole text.
_UNFILLED = r"\{\{ *[A-Za-z_][\w.]{0,255} *\}\}"


def with_holes(pieces: Iterable[Value]) -> tuple[str, list[Value]]:
    """Pieces as one text, and those that are not text, each of which has a hole in it."""
    parts: list[str] = []
    held: list[Value] = []
    for each in pieces:
        if isinstance(each, str):
            parts.append(each.replace(PIECE, ""))
        else:
            parts.append(_hole(len(held)))
            held.append(each)
    return "".join(parts), held


def without_holes(text: str, held: Sequence[Value]) -> Iterator[Value]:
    """The pieces of a text, or of a part of it, in which pieces have holes."""
    for index, each in enumerate(re.split(HOLE, text)):
        yield held[int(each)] if index % 2 and int(each) < len(held) else each


def _hole(number: int) -> str:
    return f"{PIECE}{number}{PIECE}"


def written(value: Value) -> str | None:
    """A plain value as CloudFormation writes it into a text; None if it is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else None


def resolvable(text: str) -> str | Reference | DynamicReference | Text | Unknown:
    """A text as the deploy will see it: what it resolves is unknown, and what a program fills in before."""
    if text[:2] == "{{" and re.fullmatch(_UNFILLED, text):
        return UNKNOWN
    return joined([text]) if is_resolved_later(text) else text


def _without_later(pieces: Iterable[_Piece]) -> Iterator[Value]:
    """The same with unknowns in place of dynamic references, of which each may span several pieces."""
    text, held = with_holes(pieces)
    if not held and text[:1] == "{" and RESOLVED_LATER.fullmatch(text):
        return iter([DynamicReference(text)])
    return without_holes(RESOLVED_LATER.sub(_hole(len(held)), text), [*held, UNKNOWN])


def joined(values: Iterable[Value]) -> str | Reference | DynamicReference | Text | Unknown:
    """One text of many values, of which a list or an object is unknown; unknown if it would be too long."""
    pieces = _merged(values)
    if sum(len(each) if isinstance(each, str) else 1 for each in pieces) > TEXT:
        return UNKNOWN
    if any(isinstance(each, str) and is_resolved_later(each) for each in pieces):
        pieces = _merged(_without_later(pieces))
    return _one(pieces)


def _one(pieces: Sequence[_Piece]) -> str | Reference | DynamicReference | Text | Unknown:
    if len(pieces) > 1:
        return Text(tuple(UNKNOWN if isinstance(each, DynamicReference) else each for each in pieces))
    first = pieces[0] if pieces else ""
    return UNKNOWN if isinstance(first, Placeholder) else first


def _merged(values: Iterable[Value]) -> list[_Piece]:
    """The pieces of values, of which texts that follow each other are one, and so are unknowns."""
    found: list[_Piece] = []
    for kind, run in groupby((each for value in values for each in map(_piece, pieces_of(value)) if each != ""), type):
        if kind is str:
            found.append("".join(map(str, run)))
        else:
            found += [UNKNOWN] if kind is Unknown else run
    return found


def _piece(value: Value) -> _Piece:
    if isinstance(value, (Reference, DynamicReference, Placeholder)):
        return value
    text = written(value)
    return UNKNOWN if text is None else text


def separated(value: Value, delimiter: str) -> list[Value] | Unknown:
    """A text split at every delimiter; unknown where it is not certain how many items that gives.

    A reference stands for an id, a name or an ARN, and none of them holds a comma; every other delimiter may be in one.
    """
    text = written(value)
    if text is not None:
        return list(text.split(delimiter)) if delimiter else [text]
    if isinstance(value, Reference) and value.attribute is None and delimiter == ",":
        return [value]
    if not isinstance(value, Text) or delimiter != ",":
        return UNKNOWN
    items: list[list[Value]] = [[]]
    for piece in value.pieces:
        if isinstance(piece, str):
            first, *others = piece.split(delimiter)
            items[-1].append(first)
            items += [[each] for each in others]
        elif isinstance(piece, Reference) and piece.attribute is None:
            items[-1].append(piece)
        else:
            return UNKNOWN
    return [joined(item) for item in items]


def _is_never_blank(value: Value) -> bool:
    """Whether a value is certainly not the empty text, though it may not be known itself.

    Parameter Store takes no empty value (github.com/getmoto/moto/issues/3794 has the refusal).
    """
    if isinstance(value, Text):
        return any(isinstance(piece, (str, Reference)) for piece in value.pieces)
    is_stored = isinstance(value, DynamicReference) and value.text.startswith("{{resolve:ssm:")
    return is_stored or isinstance(value, Reference)


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


# A text in quotes, be it one that is not closed, so that each character is looked at once; or a piece outside of one.
_QUOTED_OR_HOLE = rf'(?s)("(?:[^"\\]|\\.)*(?:"|\\?\Z))|({HOLE})'
_VARIABLE = r"\$\{([A-Za-z0-9_]{1,255})\}"
_CHARACTERS_OF_STEP = 10


def object_in(value: Value, variables: Mapping[str, Value]) -> Mapping[str, Value] | None:
    """The object that a value is, or that a text is as JSON, with its variables filled; None where none can be read.

    A value of the deploy within it is what it is in a template: a reference, or unknown.
    """
    if isinstance(value, Mapping):
        found = each_text(value, lambda text: _filled(text, variables)) if variables else value
    elif isinstance(value, (str, Text)):
        found = _parsed(_with_variables(value, variables))
    else:
        return None
    return found if isinstance(found, Mapping) else None


def _parsed(pieces: Iterable[Value]) -> Value:
    """What pieces of a text are as JSON; None where they are none, or too long."""
    flat, held = with_holes(pieces)
    if len(flat) > TEXT or not work().takes(len(flat) // _CHARACTERS_OF_STEP):
        return None
    quoted = re.sub(_QUOTED_OR_HOLE, lambda found: found[1] or f'"{found[2]}"', flat)
    try:
        data: Value = json.loads(quoted, parse_constant=str)
        if re.search(r"\\u[dD][89a-fA-F]", flat):
            json.dumps(data, ensure_ascii=False).encode()  # half a character cannot be written into any report
    except (ValueError, RecursionError):
        return None
    return each_text(data, lambda text: joined(without_holes(text, held)) if PIECE in text else text)


def _filled(text: str, variables: Mapping[str, Value]) -> Value:
    value = joined(_with_variables(text, variables))
    length = len(value) if isinstance(value, str) else len(text)
    return value if work().takes(length // _CHARACTERS_OF_STEP) else UNKNOWN


def _with_variables(value: str | Text, variables: Mapping[str, Value]) -> Iterator[Value]:
    """A text in pieces, with values in the place of variables; unknown from where these are too long together."""
    length = 0
    for piece in pieces_of(value):
        for index, part in enumerate(re.split(_VARIABLE, piece) if isinstance(piece, str) else [piece]):
            if index % 2 == 0:
                yield part
                continue
            filled = variables.get(str(part), f"${{{part}}}")
            length += len(filled) if isinstance(filled, str) else 1
            if length > TEXT:
                yield UNKNOWN
                return
            yield from map(_piece, pieces_of(filled))


def each_text(
    value: Value, change: Callable[[str], Value], *, named: Callable[[str], str] = str, depth: int = DEPTH
) -> Value:
    """The same with each text changed, and each key named anew; what is nested too deeply is unknown."""
    if isinstance(value, str):
        return change(value)
    if depth <= 0:
        return UNKNOWN
    if isinstance(value, Mapping):
        return {named(key): each_text(each, change, named=named, depth=depth - 1) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [each_text(each, change, named=named, depth=depth - 1) for each in value]
    return value
