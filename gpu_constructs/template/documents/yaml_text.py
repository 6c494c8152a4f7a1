"""YAML: values with CloudFormation's short tags in their long form, and where they stand.

It is read event by event, from libyaml where PyYAML was built with it, so that nothing can nest or multiply its way
past a limit, and nothing in a file is ever made into anything but plain values.

What YAML and CloudFormation mean by a plain word, a tag and an alias:
https://yaml.org/type/ and
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-formats.html
"""

from __future__ import annotations

import importlib
import re
from dataclasses import field
from typing import Any, NamedTuple

from gpu_constructs.errors import shown
from gpu_constructs.facts.budget import DEPTH, DIGITS, YAML_DIRECTIVES, YAML_NODES
from gpu_constructs.facts.values import dataclass
from gpu_constructs.template.documents.json_text import too_deep
from gpu_constructs.template.documents.node import Node, Path, Position, decimal, integer, of_any_case
from gpu_constructs.template.model import UnreadableError

_YAML = "tag:yaml.org,2002:"
_TYPED = frozenset(f"{_YAML}{kind}" for kind in ("int", "float", "bool", "null"))
_QUOTED = 100  # characters of a name in an error
_PLAIN_WORDS: dict[str, Node] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_OTHER_BASE = re.compile(r"([-+]?)0(x[0-9a-fA-F_]+|b[01_]+|[0-7_]+)")
_DECIMAL = re.compile(r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)")
_BASES = {"x": 16, "b": 2}

# `!Ref` and `!Condition` have no prefix in their long form.
_LONG_FORM = {"!Ref": "Ref", "!Condition": "Condition"}


class _Start(NamedTuple):
    """Where a key or an item starts, and its text without the quotes where it is a single value."""

    line: int
    column: int
    text: str | None = None


@dataclass(slots=True)
class _Frame:
    """A list or an object that is not at its end yet, and where what is in it starts."""

    node: list[Node] | dict[str, Node]
    tag: str | None
    anchor: str | None
    start: _Start
    key: str | None = None
    key_start: _Start | None = None
    starts: dict[str | int, _Start] = field(default_factory=dict)
    size: int = 1
    height: int = 1
    merged: list[Node] = field(default_factory=list)

    @property
    def wants_key(self) -> bool:
        return type(self.node) is dict and self.key is None


@dataclass(slots=True)
class _Anchor:
    """What an alias stands for; ``height`` is 0 for a plain value."""

    node: Node
    size: int
    height: int


class YamlText:
    """One YAML text.

    Attributes:
        twice: Keys that are written twice; the last of them counts.
    """

    def __init__(self, text: str, *, file: str) -> None:
        self.data: Node = None
        self.twice: list[str] = []
        self._file = file
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchor | None] = {}
        self._starts: dict[int, dict[str | int, _Start]] = {}
        self._documents = 0
        self._read(text)

    def find(self, path: Path) -> Position | None:
        """The position of a path, or of the deepest part of it that is there; None if no part is."""
        node, spelled, last = self.data, (), None
        for step in path:
            found = of_any_case(self._starts.get(id(node), {}), step)
            if found is None:
                break
            name, last = found
            node, spelled = node[name], (*spelled, name)  # type: ignore[assignment,index]
        return None if last is None else Position(spelled, last.line, last.column)

    def written(self, path: Path) -> str | None:
        """The text of a value without its quotes; None for a list, an object, and where there is nothing."""
        node: Any = self.data
        for step in path[:-1]:
            node = node.get(step) if isinstance(node, dict) else None
        found = self._starts.get(id(node), {}).get(path[-1])
        return None if found is None else found.text

    def _read(self, text: str) -> None:
        _require_few_directives(text, self._file)
        yaml = importlib.import_module("yaml")  # a plain import would need its types
        take = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: lambda event: self._open(event, {}),
            yaml.SequenceStartEvent: lambda event: self._open(event, []),
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }
        try:
            next_event = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text).get_event
            while (event := next_event()) is not None:
                if type(event) in take:
                    take[type(event)](event)
        except yaml.YAMLError as error:
            raise _failure(error, self._file) from None
        except (UnicodeError, RecursionError, MemoryError) as error:
            raise UnreadableError(f"not YAML: {type(error).__name__}", file=self._file) from None

    def _document(self, event: Any) -> None:  # noqa: ANN401 - PyYAML comes without types
        self._documents += 1
        if self._documents > 1:
            raise self._error("a second document starts here", _start(event), allowed="one document in a file")

    def _scalar(self, event: Any) -> None:  # noqa: ANN401
        start = _start(event)
        if self._frames and self._frames[-1].wants_key:
            # A key is the text that is written: 012345678901 and true are names here.
            self._frames[-1].key, self._frames[-1].key_start = event.value, start
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchor(event.value, 1, 0)
            return
        node, height = self._value(event, start)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(node, 1 + height, height)
        self._add(node, 1 + height, height, start)

    def _value(self, event: Any, start: _Start) -> tuple[Node, int]:  # noqa: ANN401
        tag = event.tag
        if tag is None:
            return (plain_value(event.value) if event.implicit[0] else event.value), 0
        if tag in {"!", f"{_YAML}str"}:
            return event.value, 0
        if tag in _TYPED:
            return plain_value(event.value), 0
        return self._function(tag, event.value, start)

    def _function(self, tag: str, node: Node, start: _Start) -> tuple[Node, int]:
        """A short tag in its long form, and how much deeper that is."""
        if tag.startswith(_YAML):
            raise self._error(f"a tag that templates do not have: {shown(tag)}", start)
        long = _LONG_FORM.get(tag, f"Fn::{tag.removeprefix('!')}")
        is_attribute = tag == "!GetAtt" and isinstance(node, str)
        result: dict[str, Node] = {long: [*str(node).split(".", 1)] if is_attribute else node}
        self._starts[id(result)] = {long: start}
        return result, 2 if is_attribute else 1

    def _open(self, event: Any, node: list[Node] | dict[str, Node]) -> None:  # noqa: ANN401
        start = _start(event)
        if len(self._frames) >= DEPTH:
            raise too_deep(self._file, start.line)
        if self._frames and self._frames[-1].wants_key:
            # {{ name }} outside of quotes is an object as the key of another one.
            fix = "fill the placeholders in first" if event.flow_style else None
            raise self._error("a key that is not text", start, allowed="names", fix=fix)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        tag = None if event.tag in {"!", f"{_YAML}map", f"{_YAML}seq"} else event.tag
        self._frames.append(_Frame(node, tag, event.anchor, start))

    def _close(self, _event: object) -> None:
        frame = self._frames.pop()
        node: Node = frame.node
        if frame.merged and isinstance(node, dict):
            node = self._merge(node, frame)
        self._starts[id(node)] = frame.starts
        height = frame.height
        if frame.tag is not None:
            node, deeper = self._function(frame.tag, node, frame.start)
            height += deeper
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchor(node, frame.size, height)
        self._add(node, frame.size, height, frame.start)

    def _merge(self, node: dict[str, Node], frame: _Frame) -> dict[str, Node]:
        """Members of the objects under ``<<``, of which the first one counts; the object's own ones before all."""
        result: dict[str, Node] = {}
        for each in reversed(frame.merged):
            for part in reversed(each) if isinstance(each, list) else (each,):
                if not isinstance(part, dict):
                    raise self._error("'<<' takes an object, or a list of objects", frame.start)
                result |= part
        return result | node

    def _alias(self, event: Any) -> None:  # noqa: ANN401
        start, name = _start(event), event.anchor
        if name not in self._anchors:
            raise self._error(f"no anchor &{name[:_QUOTED]} comes before *{name[:_QUOTED]}", start)
        anchor = self._anchors[name]
        if anchor is None:
            raise self._error(f"*{name[:_QUOTED]} is a part of itself", start)
        if len(self._frames) + anchor.height > DEPTH:
            raise too_deep(self._file, start.line)
        if self._frames and self._frames[-1].wants_key:
            if not isinstance(anchor.node, str):
                raise self._error("a key that is not text", start, allowed="names")
            self._frames[-1].key, self._frames[-1].key_start = anchor.node, start
            return
        self._add(anchor.node, anchor.size, anchor.height, start)

    def _add(self, node: Node, size: int, height: int, start: _Start) -> None:
        if not self._frames:
            self.data = node
            return
        frame = self._frames[-1]
        frame.size += size
        if frame.size > YAML_NODES:
            raise self._error(f"more than {YAML_NODES:,} values once aliases are written out", start)
        if height >= frame.height:
            frame.height = height + 1
            if len(self._frames) + height > DEPTH:
                raise too_deep(self._file, start.line)
        if type(frame.node) is list:
            frame.starts[len(frame.node)] = start
            frame.node.append(node)
            return
        members: Any = frame.node
        key, at = frame.key or "", frame.key_start or start
        frame.key = None
        if key == "<<":
            frame.merged.append(node)
            return
        if key in members:
            self.twice.append(key)
        frame.starts[key] = _Start(at.line, at.column, start.text)
        members[key] = node

    def _error(
        self, reason: str, start: _Start, *, allowed: str | None = None, fix: str | None = None
    ) -> UnreadableError:
        return UnreadableError(reason, file=self._file, line=start.line, allowed=allowed, fix=fix)


def _start(event: Any) -> _Start:  # noqa: ANN401
    mark = event.start_mark
    return _Start(mark.line + 1, mark.column + 1, getattr(event, "value", None))


def _require_few_directives(text: str, file: str) -> None:
    directives = text.startswith("%") + sum(map(text.count, ("\n%", "\r%", "\x85%", "\u2028%", "\u2029%")))
    if directives > YAML_DIRECTIVES:
        raise UnreadableError(
            f"more than {YAML_DIRECTIVES} lines that begin with %",
            file=file,
            allowed="directives such as %YAML, of which a template needs none",
        )


# What libyaml and PyYAML say, by a part of it, in the words of whoever wrote the file, and what helps.
_REASONS: tuple[tuple[str, str, str | None], ...] = (
    ("tab character", "a tab in the indentation", "indent with spaces"),
    ("cannot start any token", "no value begins like that", "indent with spaces, and quote what begins with @, ` or %"),
    ("mapping values are not allowed", "a colon where no key can stand", "quote a value with a colon in it"),
    ("could not find expected ':'", "a key without a colon", None),
    ("expected ',' or", "a list or an object in brackets is not closed", None),
    ("expected key", "not indented as the lines around it", None),
    ("expected <block end>", "not indented as the lines around it", None),
    ("expected '-' indicator", "not indented as the items around it", None),
    ("unexpected end of stream", "a text in quotes is not closed", None),
    ("unknown escape character", "no such escape in double quotes", "use single quotes"),
)


def _failure(error: Exception, file: str) -> UnreadableError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not understood"
    found = ((words, fix) for part, words, fix in _REASONS if part in problem)
    reason, fix = next(found, (problem, None))
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
    return UnreadableError(f"not YAML: {reason}", file=file, line=line, column=column, fix=fix)


def plain_value(text: str) -> Node:
    """What a word without quotes means; times stay texts, as CloudFormation has none."""
    if text in _PLAIN_WORDS:
        return _PLAIN_WORDS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return integer(text.replace("_", ""))
    if match := _OTHER_BASE.fullmatch(text):
        base = _BASES.get(match[2][0], 8)
        digits = match[2].replace("_", "").removeprefix(match[2][0] if match[2][0] in _BASES else "")
        return int(match[1] + digits, base) if 0 < len(digits) <= DIGITS else text
    if _DECIMAL.fullmatch(text):
        return decimal(text.replace("_", ""))
    return text
