"""YAML: values with CloudFormation's short tags in their long form.

It is read event by event, so that nothing can nest or multiply its way past a limit, and nothing in a file is ever made
into anything but plain values.

What YAML and CloudFormation mean by a plain word, a tag and an alias:
https://yaml.org/type/ and
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-formats.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from gpu_constructs.errors import shown
from gpu_constructs.facts.budget import DEPTH, DIGITS, YAML_NODES
from gpu_constructs.template.documents.node import Node, Path, decimal, integer
from gpu_constructs.template.documents.yaml_events import Event, events
from gpu_constructs.template.model import UnreadableError

_YAML = "tag:yaml.org,2002:"
_TYPED = frozenset(f"{_YAML}{kind}" for kind in ("int", "float", "bool", "null"))
_QUOTED = 100  # characters of a name in an error
_PLAIN_WORDS: dict[str, Node] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_NUMBER_START = frozenset("-+.0123456789")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_OTHER_BASE = re.compile(r"([-+]?)0(x[0-9a-fA-F_]+|b[01_]+|[0-7_]+)")
_DECIMAL = re.compile(r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)")
_BASES = {"x": 16, "b": 2}

# `!Ref` and `!Condition` have no prefix in their long form.
_LONG_FORM = {"!Ref": "Ref", "!Condition": "Condition"}
_FUNCTIONS = frozenset(
    [
        "And",
        "Base64",
        "Cidr",
        "Equals",
        "FindInMap",
        "GetAZs",
        "GetAtt",
        "GetStackOutput",
        "If",
        "ImportValue",
        "Join",
        "Length",
        "Not",
        "Or",
        "Select",
        "Split",
        "Sub",
        "ToJsonString",
        "Transform",
        "Contains",
        "EachMemberEquals",
        "EachMemberIn",
        "RefAll",
        "ValueOf",
        "ValueOfAll",
    ]
)


@dataclass(slots=True)
class _Frame:
    """A list or an object that is not at its end yet."""

    node: list[Node] | dict[str, Node]
    tag: str | None
    anchor: str | None
    line: int
    key: str | None = None
    size: int = 1
    height: int = 1
    merged: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class _Anchor:
    """What an alias stands for; ``height`` is 0 for a plain value."""

    node: Node
    size: int
    height: int


def parse_yaml(text: str, *, file: str) -> tuple[Node, tuple[Path, ...]]:
    """The values of a YAML text, and the paths of keys that are written twice; the last of them counts."""
    return _Reader(file).read(text)


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchor | None] = {}
        self._twice: dict[Path, None] = {}
        self._size = 0
        self._top: Node = None

    def read(self, text: str) -> tuple[Node, tuple[Path, ...]]:
        documents = 0
        for event in events(text, file=self._file):
            kind = event.kind
            if kind == "scalar":
                self._scalar(event)
            elif kind in {"map", "list"}:
                self._open(event)
            elif kind == "end":
                self._close()
            elif kind == "alias":
                self._alias(event)
            else:
                documents += 1
                if documents > 1:
                    raise self._error("a second document starts here", event.line, allowed="one document in a file")
        return self._top, tuple(self._twice)

    def _scalar(self, event: Event) -> None:
        frames = self._frames
        if frames and type(frames[-1].node) is dict and frames[-1].key is None:
            # A key is the text that is written: 012345678901 and true are names here.
            frames[-1].key = "<<" if event.value == "<<" and event.plain else event.value
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchor(event.value, 1, 0)
            return
        node, height = self._value(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(node, 1 + height, height)
        self._add(node, 1 + height, height, event.line)

    def _value(self, event: Event) -> tuple[Node, int]:
        tag = event.tag
        if tag is None:
            return (_plain(event.value) if event.plain else event.value), 0
        if tag in {"!", f"{_YAML}str"}:
            return event.value, 0
        if tag in _TYPED:
            return _plain(event.value), 0
        if tag.startswith(_YAML):
            raise self._error(f"a tag that templates do not have: {shown(tag)}", event.line)
        return self._function(tag, event.value, event.line)

    def _function(self, tag: str, node: Node, line: int) -> tuple[Node, int]:
        """A short tag in its long form, and how much deeper that is."""
        name = tag.removeprefix("!")
        if tag in _LONG_FORM:
            return {_LONG_FORM[tag]: node}, 1
        if name not in _FUNCTIONS:
            raise self._error(
                f"a tag that templates do not have: {shown(tag)}",
                line,
                fix="one of CloudFormation's functions, such as !Ref",
            )
        if name == "GetAtt" and isinstance(node, str):
            return {"Fn::GetAtt": list(node.split(".", 1))}, 2
        return {f"Fn::{name}": node}, 1

    def _open(self, event: Event) -> None:
        frames = self._frames
        if len(frames) >= DEPTH:
            raise self._too_deep(event.line)
        if frames and type(frames[-1].node) is dict and frames[-1].key is None:
            raise self._error("a key that is not text", event.line, allowed="names")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        tag = None if event.tag in {"!", f"{_YAML}map", f"{_YAML}seq"} else event.tag
        frames.append(_Frame({} if event.kind == "map" else [], tag, event.anchor, event.line))

    def _close(self) -> None:
        frame = self._frames.pop()
        node: Node = frame.node
        if frame.merged and isinstance(node, dict):
            node = self._merge(node, frame)
        height = frame.height
        if frame.tag is not None:
            if frame.tag.startswith(_YAML):
                raise self._error(f"a tag that templates do not have: {shown(frame.tag)}", frame.line)
            node, deeper = self._function(frame.tag, node, frame.line)
            height += deeper
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchor(node, frame.size, height)
        self._add(node, frame.size, height, frame.line)

    def _merge(self, node: dict[str, Node], frame: _Frame) -> dict[str, Node]:
        """Members of the objects under ``<<``, of which the first one counts; the object's own ones before all."""
        result: dict[str, Node] = {}
        for each in reversed(frame.merged):
            for part in reversed(each) if isinstance(each, list) else (each,):
                if not isinstance(part, dict):
                    raise self._error("'<<' takes an object, or a list of objects", frame.line)
                result |= part
        return result | node

    def _alias(self, event: Event) -> None:
        name = event.anchor or ""
        if name not in self._anchors:
            raise self._error(f"no anchor &{name[:_QUOTED]} comes before *{name[:_QUOTED]}", event.line)
        anchor = self._anchors[name]
        if anchor is None:
            raise self._error(f"*{name[:_QUOTED]} is a part of itself", event.line)
        if len(self._frames) + anchor.height > DEPTH:
            raise self._too_deep(event.line)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and type(frame.node) is dict and frame.key is None:
            if not isinstance(anchor.node, str):
                raise self._error("a key that is not text", event.line, allowed="names")
            frame.key = anchor.node
            return
        self._add(anchor.node, anchor.size, anchor.height, event.line)

    def _add(self, node: Node, size: int, height: int, line: int) -> None:
        if not self._frames:
            self._top = node
            return
        frame = self._frames[-1]
        frame.size += size
        if frame.size > YAML_NODES:
            raise self._error(f"more than {YAML_NODES:,} values once aliases are written out", line)
        if height >= frame.height:
            frame.height = height + 1
            if len(self._frames) + height > DEPTH:
                raise self._too_deep(line)
        if type(frame.node) is list:
            frame.node.append(node)
            return
        members: Any = frame.node
        key = frame.key or ""
        frame.key = None
        if key == "<<":
            frame.merged.append(node)
            return
        if key in members:
            above = (each.key or "" if isinstance(each.node, dict) else len(each.node) for each in self._frames[:-1])
            path: Path = (*above, key)
            self._twice[path] = None
        members[key] = node

    def _too_deep(self, line: int) -> UnreadableError:
        return self._error("lists and objects are nested too deeply", line, allowed=f"at most {DEPTH} levels")

    def _error(self, reason: str, line: int, *, allowed: str | None = None, fix: str | None = None) -> UnreadableError:
        return UnreadableError(reason, file=self._file, line=line, allowed=allowed, fix=fix)


def _plain(text: str) -> Node:
    """What a word without quotes means; times stay texts, as CloudFormation has none."""
    if text in _PLAIN_WORDS:
        return _PLAIN_WORDS[text]
    if text[0] not in _NUMBER_START:
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
