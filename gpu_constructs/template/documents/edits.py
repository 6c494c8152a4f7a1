"""Changes in the text of a file: only the lines of a value are written anew; comments, order and style stay.

JSON is read as YAML, which it is but for tabs. What cannot be changed by itself, such as a value that an alias of YAML
repeats, is refused. Whoever changes a text reads the new one before it is shown.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from gpu_constructs.template.documents.node import Node, Path, of_any_case
from gpu_constructs.template.documents.yaml_text import plain_value

_TAGGED = re.compile(r"Ref|Condition|Fn::\w+")
_SAFE = re.compile(r"[A-Za-z/][\w./:@+-]*(?<!:)")
_NEXT_LINE = re.compile(r"\n(?=[^\r\n])")
_STEP = "  "


class EditError(ValueError):
    """A value cannot be changed by itself."""


class _Place(NamedTuple):
    """A value in PyYAML's tree of a text, with its key, what is around it, and which of the members there it is."""

    key: Any
    value: Any
    around: Any
    number: int


class TextEdits:
    """One text and its changes, each of which raises `EditError` where it cannot be made.

    Attributes:
        left: Characters that may still be read, as the whole text is for each change.
    """

    def __init__(self, text: str, left: int = 2**30) -> None:
        self.text, self.left = text, left
        self._line = "\r\n" if "\r\n" in text else "\n"
        self._is_json = text.lstrip()[:1] in {"{", "["}
        self._tree: Any = None

    def names(self, path: Path) -> list[str]:
        """The keys of an object, or the single values of a list."""
        return [each.value if isinstance(each.value, str) else "" for each in map(_first, self._at(path).value.value)]

    def put(self, path: Path, value: Node) -> None:
        """Writes another value; a single one as the old one was written, in quotes or without."""
        key, old, around, _ = self._at(path)
        start, end = _start(old), self._end(old)
        if not isinstance(value, (dict, list)):
            if isinstance(old.value, list) or old.style in {"|", ">"} or start == end:
                raise EditError("not a single value")
            self._exchange(start, end, self._single(value, old.style))
        elif key is None or around.flow_style:
            self._exchange(start, end, json.dumps(value, ensure_ascii=False))
        else:
            self._exchange(self._colon(key), end, self._block(value, f"{' ' * key.start_mark.column}{_STEP}"))

    def rename(self, path: Path, name: str) -> None:
        """Writes another key."""
        key = self._at(path).key
        self._exchange(_start(key), key.end_mark.index, self._single(name, key.style))

    def add(self, path: Path, name: str, value: Node) -> None:
        """Writes a further member of an object, behind all others."""
        around = self._at(path).value
        if not isinstance(around.value, list) or not around.value or not isinstance(around.value[0], tuple):
            raise EditError("not an object with members")
        first, end = around.value[0][0], self._end(around.value[-1][1])
        if around.flow_style:
            is_long = first.start_mark.line != around.start_mark.line
            space = f"{self._line}{self._margin(first)}" if is_long else " "
            self._exchange(end, end, f",{space}{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
            return
        found = re.compile(r"[^\r\n]*").match(self.text, end)  # a comment may follow
        end, margin = found.end() if found else end, " " * first.start_mark.column
        self._exchange(end, end, f"{self._line}{margin}{name}:{self._block(value, f'{margin}{_STEP}')}")

    def remove(self, path: Path) -> None:
        """Takes a member or an item out; with the last one what is around it."""
        key, value, around, number = self._at(path)
        if around is None:
            raise EditError("nothing would be left")
        members = around.value
        if len(members) == 1:
            self.remove(path[:-1])
            return
        begin, end, is_last = _start(_first(members[number])), self._end(value), number == len(members) - 1
        following = end if is_last else _start(_first(members[number + 1]))
        line = self.text.rfind("\n", 0, begin) + 1
        if around.flow_style:
            before = members[number - 1]
            start = self._end(before[1] if isinstance(before, tuple) else before) if is_last else begin
            self._exchange(start, following, "")
        elif self.text[line:begin].strip() == ("-" if key is None else ""):
            stop = self.text.find("\n", end) + 1
            self._exchange(line if stop else line - 1, stop or len(self.text), "")
        elif key is not None and not is_last:  # the first member of an item: - Name: train
            self._exchange(begin, following, "")
        else:
            raise EditError("it shares its line")

    def wrap(self, path: Path, name: str) -> None:
        """Puts an object with one key around a value, which is indented by one step more."""
        key, value, around, _ = self._at(path)
        start, end, margin = _start(value), self._end(value), self._margin(key)
        if not around.flow_style:
            start, margin = self._colon(key), " " * key.start_mark.column
        first = _first(value.value[0]) if isinstance(value.value, list) and value.value else value
        width = first.start_mark.column - len(margin) if first.start_mark.line > key.end_mark.line else 0
        step = "\t" if "\t" in margin else " " * width or _STEP
        body, within = _NEXT_LINE.sub(f"\n{step}", self.text[start:end]), f"{self._line}{margin}{step}"
        new = f"{within}{name}:{body}"
        if around.flow_style and "\n" in body:
            new = f'{{{within}"{name}": {body}{self._line}{margin}}}'
        elif around.flow_style:
            new = f'{{"{name}": {body}}}'
        self._exchange(start, end, new)

    def exchange_words(self, pattern: str, new: str) -> None:
        """Writes other words wherever a pattern finds some, whatever they are in."""
        self.text, self._tree = re.sub(pattern, new, self.text), None

    def tried(self, edit: Callable[[TextEdits], None]) -> str:
        """Makes several changes, or none of them and says why."""
        before = self.text
        try:
            edit(self)
        except EditError as error:
            self.text, self._tree = before, None
            return str(error)
        return ""

    # -- where it is and how it is written -----------------------------------------------------------------------

    def _at(self, path: Path) -> _Place:
        if self._tree is None:
            self.left -= len(self.text)
            if self.left < 0:
                raise EditError("too much is to be changed at once")
            yaml = importlib.import_module("yaml")
            text = self.text.replace("\t", " ") if self._is_json else self.text
            try:
                self._tree = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            except (yaml.YAMLError, RecursionError) as error:
                raise EditError("not read as YAML") from error
        place = _Place(None, self._tree, None, 0)
        for step in path:
            node = place.value
            if isinstance(step, str) and node.tag.startswith("!") and _TAGGED.fullmatch(step):
                continue
            members = node.value if isinstance(node.value, list) else []
            is_object = bool(members) and isinstance(members[0], tuple)
            keys = {each[0].value if is_object else number: number for number, each in enumerate(members)}
            if (found := of_any_case(keys, step)) is None:
                raise EditError("not there")
            number = found[1]
            key, value = members[number] if is_object else (None, members[number])
            place = _Place(key, value, node, number)
            self._require_no_alias(place)
        return place

    @staticmethod
    def _require_no_alias(place: _Place) -> None:
        """Refuses what stands elsewhere: before its key, or before the item that it follows."""
        siblings, number = place.around.value, place.number
        before = place.key if place.key is not None else siblings[number - 1] if number else None
        if _start(place.value) < _start(place.around) or (before is not None and _start(place.value) <= _start(before)):
            raise EditError("an alias of YAML repeats it")

    def _end(self, node: Any) -> int:  # noqa: ANN401
        """Where the text of a value ends, without the blanks and the comments behind it."""
        if isinstance(node.value, list) and not node.flow_style and node.value:
            key, value = node.value[-1] if isinstance(node.value[-1], tuple) else (None, node.value[-1])
            self._require_no_alias(_Place(key, value, node, len(node.value) - 1))
            return self._end(value)
        return _start(node) + len(self.text[_start(node) : node.end_mark.index].rstrip())

    def _margin(self, node: Any) -> str:  # noqa: ANN401
        found = re.compile(r"[ \t]*").match(self.text, self.text.rfind("\n", 0, _start(node)) + 1)
        return found[0] if found else ""

    def _colon(self, key: Any) -> int:  # noqa: ANN401
        return self.text.index(":", key.end_mark.index) + 1

    def _exchange(self, start: int, end: int, new: str) -> None:
        self.text, self._tree = f"{self.text[:start]}{new}{self.text[end:]}", None

    def _single(self, value: Node, style: str | None = None) -> str:
        """A single value as the one before it was written."""
        if isinstance(value, str) and style == "'" and "\n" not in value:
            return "'{}'".format(value.replace("'", "''"))
        is_text = isinstance(value, str) and _SAFE.fullmatch(value) and isinstance(plain_value(value), str)
        return str(value) if is_text and not style and not self._is_json else json.dumps(value, ensure_ascii=False)

    def _block(self, value: Node, margin: str) -> str:
        """What stands behind a colon in YAML: functions in short, lists and objects on lines of their own."""
        if isinstance(value, dict) and list(value) == ["Ref"]:
            return f" !Ref {value['Ref']}"
        if isinstance(value, dict) and list(value) == ["Fn::GetAtt"] and isinstance(value["Fn::GetAtt"], list):
            return f" !GetAtt {'.'.join(map(str, value['Fn::GetAtt']))}"
        start, below = f"{self._line}{margin}", f"{margin}{_STEP}"
        if isinstance(value, dict):
            return "".join(f"{start}{key}:{self._block(each, below)}" for key, each in value.items())
        if isinstance(value, list):
            return "".join(f"{start}- {self._block(each, below).strip()}" for each in value)
        return f" {self._single(value)}"


def _first(member: Any) -> Any:  # noqa: ANN401
    return member[0] if isinstance(member, tuple) else member


def _start(node: Any) -> int:  # noqa: ANN401
    return int(node.start_mark.index)
