"""JSON: values, keys that are written twice, and the line of a path, which is looked for when somebody asks."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]

from gpu_constructs.template.limits import DEPTH, JSON_MARKS
from gpu_constructs.template.node import Node, Path, decimal, deeper_than, integer, paths_to
from gpu_constructs.template.unreadable import UnreadableError

__all__ = ["JsonLines", "parse_json"]


def parse_json(text: str, *, file: str) -> tuple[Node, tuple[Path, ...]]:
    """The values of a JSON text, and the paths of keys that are written twice; the last of them counts.

    ``NaN`` and numbers without an end stay the texts that they are.

    Args:
        text: The text.
        file: The file, for errors.

    Raises:
        UnreadableError: If it is no JSON, or too much of it.
    """
    if sum(map(text.count, ",[{")) > JSON_MARKS:
        raise UnreadableError(f"more than {JSON_MARKS:,} values", file=file, allowed="a template of at most 1 MB")
    repeated: list[tuple[dict[str, Node], tuple[str, ...]]] = []

    def gather(pairs: list[tuple[str, Node]]) -> dict[str, Node]:
        members = dict(pairs)
        if len(members) != len(pairs):
            repeated.append((members, _twice(pairs)))
        return members

    try:
        data: Node = json.loads(
            text, object_pairs_hook=gather, parse_int=integer, parse_float=decimal, parse_constant=str
        )
    except json.JSONDecodeError as error:
        raise UnreadableError(_reason(error, text), file=file, line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise _too_deep(file) from None
    if deeper_than(data, DEPTH):
        raise _too_deep(file)
    if _SURROGATE.search(text) and not _can_be_written(data):
        raise UnreadableError(r"no JSON: half a character, such as \ud800 alone", file=file)
    if not repeated:
        return data, ()
    keys = {id(members): names for members, names in repeated}
    return data, tuple((*path, name) for path, node in paths_to(data, set(keys)) for name in keys[id(node)])


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _can_be_written(data: Node) -> bool:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _twice(pairs: list[tuple[str, Node]]) -> tuple[str, ...]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for key, _ in pairs:
        if key in seen:
            twice[key] = None
        seen.add(key)
    return tuple(twice)


def _reason(error: json.JSONDecodeError, text: str) -> str:
    reason = error.msg[0].lower() + error.msg[1:]
    ended = " (the file ends there)" if error.pos >= len(text.rstrip()) else ""
    return f"no JSON: {reason}{ended}"


def _too_deep(file: str) -> UnreadableError:
    return UnreadableError("lists and objects are nested too deeply", file=file, allowed=f"at most {DEPTH} levels")


_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class JsonLines:
    """Lines of the values of one JSON text; what lies beside the path is skipped as fast as JSON is parsed.

    Args:
        text: A text that `parse_json` has read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._children: dict[Path, dict[str | int, tuple[int, int]]] = {}

    def find(self, path: Path) -> int | None:
        """The line of a path, or of the deepest part of it that is there; None if no part is.

        Args:
            path: Keys and indexes from the top.
        """
        start, value = -1, self._skip(0)
        for depth, step in enumerate(path):
            children = self._members(path[:depth], value)
            found = children.get(step) or _any_case(children, step)
            if found is None:
                break
            start, value = found
        return self._text.count("\n", 0, start) + 1 if start >= 0 else None

    def _skip(self, position: int) -> int:
        match = _BLANK.match(self._text, position)
        return match.end() if match else position

    def _members(self, path: Path, position: int) -> dict[str | int, tuple[int, int]]:
        """Where each key or item of a list or object starts, and where its value does."""
        if path not in self._children:
            self._children[path] = self._scan(position)
        return self._children[path]

    def _scan(self, position: int) -> dict[str | int, tuple[int, int]]:
        members: dict[str | int, tuple[int, int]] = {}
        opening, text = self._text[position : position + 1], self._text
        if opening not in ("{", "["):
            return members
        position = self._skip(position + 1)
        while text[position] not in "}]":
            start, key = position, len(members)
            name: str | int = key
            if opening == "{":
                name, position = scanstring(text, position + 1, True)  # noqa: FBT003 - a C function without names
                position = self._skip(self._skip(position) + 1)
            members[name] = start, position
            _, position = _DECODER.raw_decode(text, position)
            position = self._skip(position)
            if text[position] == ",":
                position = self._skip(position + 1)
        return members


def _any_case(children: dict[str | int, tuple[int, int]], step: str | int) -> tuple[int, int] | None:
    """The member whose name is another spelling: a task definition's ``memory`` is CloudFormation's ``Memory``."""
    if not isinstance(step, str):
        return None
    wanted = step.lower()
    return next((place for name, place in children.items() if isinstance(name, str) and name.lower() == wanted), None)
