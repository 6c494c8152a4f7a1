"""The events of a YAML text, from libyaml where PyYAML was built with it, and the lines of its values."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpu_constructs.facts.budget import YAML_DIRECTIVES
from gpu_constructs.template.documents.node import Path, Position, of_any_case
from gpu_constructs.template.model import UnreadableError


class Event(NamedTuple):
    """One event.

    Attributes:
        kind: ``scalar``, ``map``, ``list``, ``end`` of one of both, ``alias``, or ``document``.
        line: Where it starts, from 1.
        value: Text of a scalar.
        tag: Its tag, where one is written.
        anchor: The anchor that it gets or, for an alias, that it stands for.
        plain: Whether a scalar has no quotes and no tag.
        column: Where it starts in its line, from 1.
    """

    kind: str
    line: int
    value: str = ""
    tag: str | None = None
    anchor: str | None = None
    plain: bool = False
    column: int = 1


def events(text: str, *, file: str) -> Iterator[Event]:
    """Events one by one, so that a reader can stop at any of them."""
    _require_few_directives(text, file)
    yaml = _yaml(file)
    kinds = {
        yaml.MappingStartEvent: "map",
        yaml.SequenceStartEvent: "list",
        yaml.MappingEndEvent: "end",
        yaml.SequenceEndEvent: "end",
        yaml.AliasEvent: "alias",
        yaml.DocumentStartEvent: "document",
    }
    scalar = yaml.ScalarEvent
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        get_event = loader.get_event
        while (event := get_event()) is not None:
            of = type(event)
            mark = event.start_mark
            line, column = mark.line + 1, mark.column + 1
            if of is scalar:
                tag = event.tag
                yield Event("scalar", line, event.value, tag, event.anchor, tag is None and event.implicit[0], column)
            elif of in kinds:
                tag, anchor = getattr(event, "tag", None), getattr(event, "anchor", None)
                yield Event(kinds[of], line, "", tag, anchor, column=column)
    except yaml.YAMLError as error:
        raise _failure(error, file) from None
    except (UnicodeError, RecursionError, MemoryError) as error:
        raise UnreadableError(f"not YAML: {type(error).__name__}", file=file) from None


def _require_few_directives(text: str, file: str) -> None:
    directives = text.startswith("%") + sum(map(text.count, ("\n%", "\r%", "\x85%", "\u2028%", "\u2029%")))
    if directives > YAML_DIRECTIVES:
        raise UnreadableError(
            f"more than {YAML_DIRECTIVES} lines that begin with %",
            file=file,
            allowed="directives such as %YAML, of which a template needs none",
        )


def _yaml(file: str) -> Any:  # noqa: ANN401 - PyYAML comes without types
    try:
        return importlib.import_module("yaml")
    except ImportError:
        raise UnreadableError(
            "YAML is read with PyYAML, which is not installed", file=file, fix='pip install "gpu-constructs[cli]"'
        ) from None


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


class _Place:
    """Where a value is, and the places below it or its text; an object that is open has the key of its next value."""

    __slots__ = ("children", "column", "is_object", "key", "line", "text")

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column
        self.children: dict[str | int, _Place] = {}
        self.is_object = False
        self.key: Event | None = None
        self.text: str | None = None


class YamlLines:
    """Lines of the values of one YAML text."""

    def __init__(self, text: str, *, file: str) -> None:
        self._top = _Place(1, 1)
        open_ones: list[_Place] = []
        anchors: dict[str | None, _Place] = {}
        for event in events(text, file=file):
            parent = open_ones[-1] if open_ones else None
            if event.kind == "end":
                open_ones.pop()
            elif parent is not None and parent.is_object and parent.key is None:
                parent.key = event
            elif event.kind != "document":
                place = self._top if parent is None else _placed(event, parent)
                if event.kind == "alias":
                    source = anchors.get(event.anchor, place)
                    place.children, place.text = source.children, source.text
                elif event.anchor is not None:
                    anchors[event.anchor] = place
                if event.kind in {"map", "list"}:
                    place.is_object = event.kind == "map"
                    open_ones.append(place)
                elif event.kind == "scalar":
                    place.text = event.value

    def find(self, path: Path) -> Position | None:
        """The position of a path, or of the deepest part of it that is there; None if no part is."""
        place = self._top
        spelled: Path = ()
        for step in path:
            found = of_any_case(place.children, step)
            if found is None:
                break
            spelled, place = (*spelled, found[0]), found[1]
        return Position(spelled, place.line, place.column) if spelled else None

    def written(self, path: Path) -> str | None:
        """The text of a value without its quotes; None for a list, an object, and where there is nothing."""
        place: _Place | None = self._top
        for step in path:
            place = None if place is None else place.children.get(step)
        return None if place is None else place.text


def _placed(event: Event, parent: _Place) -> _Place:
    key, parent.key = parent.key, None
    name, start = (len(parent.children), event) if key is None else (key.value, key)
    place = parent.children[name] = _Place(start.line, start.column)
    return place
