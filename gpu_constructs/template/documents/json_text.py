"""JSON: values, keys that are written twice, and the line of a path, which is looked for when somebody asks."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]

from gpu_constructs.facts.budget import DEPTH, JSON_MARKS
from gpu_constructs.template.documents.node import Node, Path, Position, decimal, deeper_than, integer, of_any_case
from gpu_constructs.template.model import UnreadableError


def parse_json(text: str, *, file: str) -> tuple[Node, list[str]]:
    """The values of a JSON text, and the keys that are written twice; the last of them counts.

    ``NaN`` and numbers without an end stay the texts that they are.
    """
    if len(text) > JSON_MARKS and sum(map(text.count, ",[{")) > JSON_MARKS:
        raise UnreadableError(f"more than {JSON_MARKS:,} values", file=file, allowed="a template of at most 1 MB")
    twice: list[str] = []

    def gather(pairs: list[tuple[str, Node]]) -> dict[str, Node]:
        members = dict(pairs)
        if len(members) != len(pairs):
            twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return members

    try:
        data: Node = json.loads(
            text, object_pairs_hook=gather, parse_int=integer, parse_float=decimal, parse_constant=str
        )
    except json.JSONDecodeError as error:
        unfilled = re.compile(_PLACEHOLDER).search(text, max(error.pos - 1, 0), error.pos + 2)
        fix = "fill the placeholders in first" if unfilled else None
        raise UnreadableError(_reason(error, text), file=file, line=error.lineno, column=error.colno, fix=fix) from None
    except RecursionError:
        raise too_deep(file) from None
    if deeper_than(data, DEPTH):
        raise too_deep(file)
    if "\\ud" in text.lower() and not _can_be_written(data):
        raise UnreadableError(r"not JSON: half a character, such as \ud800 alone", file=file)
    return data, twice


# Of Terraform and of Jinja, where no text is.
_PLACEHOLDER = r"[$%]\{|\{[{%]"


def _can_be_written(data: Node) -> bool:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


# What Python's parser says, by how it begins, in the words of whoever wrote the file.
_REASONS = {
    "Expecting value": "a value is missing",
    "Expecting property name": "a key in double quotes is missing",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Extra data": "something follows after the end",
    "Illegal trailing comma": "a comma stands before a closing bracket",
    "Invalid control character": "a line break or a tab stands in a text",
    "Unterminated string": "a text is not closed",
}


def _reason(error: json.JSONDecodeError, text: str) -> str:
    said = error.msg[0].lower() + error.msg[1:]
    reason = next((words for start, words in _REASONS.items() if error.msg.startswith(start)), said)
    ended = " (the file ends there)" if error.pos >= len(text.rstrip()) else ""
    return f"not JSON: {reason}{ended}"


def too_deep(file: str, line: int | None = None) -> UnreadableError:
    """The error for a file in which too much is nested."""
    reason = "lists and objects are nested too deeply"
    return UnreadableError(reason, file=file, line=line, allowed=f"at most {DEPTH} levels")


_BETWEEN = r"[ \t\n\r]*[:,]?[ \t\n\r]*"  # two keys, values or items
_BLOCK = 4 * 1024  # characters that are counted again for each line that is asked for
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class JsonLines:
    """Lines of the values of one JSON text; what stands before them is skipped as fast as JSON is parsed."""

    def __init__(self, text: str, twice: Container[str | int] = ()) -> None:
        self._text = text
        self._twice = twice
        self._children: dict[Path, tuple[dict[str | int, tuple[int, int]], Iterator[str | int]]] = {}
        self._blocks: list[tuple[int, int]] = []

    def find(self, path: Path) -> Position | None:
        """The position of a path, or of the deepest part of it that is there; None if no part is."""
        start, value = -1, self._skip(0)
        spelled: Path = ()
        for step in path:
            if spelled not in self._children:
                known: dict[str | int, tuple[int, int]] = {}
                self._children[spelled] = known, self._scan(value, known)
            known, others = self._children[spelled]
            if step in self._twice:
                list(others)  # the last of these keys counts
            found = (step, known[step]) if step in known or step in others else of_any_case(known, step)
            if found is None:
                break
            name, (start, value) = found
            spelled = (*spelled, name)
        if start < 0:
            return None
        return Position(spelled, *self._line_and_column(start))

    def _line_and_column(self, position: int) -> tuple[int, int]:
        """The place of a character; lines are counted through the text once, whatever the number of positions."""
        if not self._blocks:
            line, last = 1, -1
            for begin in range(0, len(self._text) + 1, _BLOCK):
                self._blocks.append((line, last))
                line += self._text.count("\n", begin, begin + _BLOCK)
                last = max(last, self._text.rfind("\n", begin, begin + _BLOCK))
        block = position // _BLOCK
        line, last = self._blocks[block]
        begin = block * _BLOCK
        last = max(last, self._text.rfind("\n", begin, position))
        return line + self._text.count("\n", begin, position), position - last

    def _skip(self, position: int) -> int:
        match = re.compile(_BETWEEN).match(self._text, position)
        return match.end() if match else position

    def _scan(self, position: int, known: dict[str | int, tuple[int, int]]) -> Iterator[str | int]:
        """Each key or index of an object or list, once it is known where it starts, and where its value does."""
        opening, text = self._text[position : position + 1], self._text
        if opening not in ("{", "["):
            return
        position = self._skip(position + 1)
        while text[position] not in "}]":
            start, key = position, len(known)
            name: str | int = key
            if opening == "{":
                name, position = scanstring(text, position + 1, True)  # noqa: FBT003 - a C function without names
                position = self._skip(position)
            known[name] = start, position
            yield name
            _, position = _DECODER.raw_decode(text, position)
            position = self._skip(position)
