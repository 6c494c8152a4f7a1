"""Examples of rules: templates in which a rule finds something, and the same ones corrected.

A file for each rule in ``tests/rules/examples`` says which shared templates it starts from, and what differs::

    base: [service, warm-pool]
    wrong: |
      Resources:
        Warm:
          Properties: {PoolState: Hibernated}
    right: |
      Resources:
        Warm:
          Properties: {PoolState: Stopped}

What differs is merged deeply: lists and functions replace each other, and null removes a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from itertools import chain
from pathlib import Path
from typing import Any, cast

from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.documents.yaml_text import YamlText

__all__ = ["BASES", "EXAMPLES", "Example", "Template", "base_paths", "example_of"]

EXAMPLES = Path(__file__).parents[1] / "tests" / "rules" / "examples"
"""Where the examples are, in a file for each rule."""

BASES = EXAMPLES / "bases"
"""Where the templates are that several of them share."""

Template = dict[str, Node]
"""A template with its functions in their long form."""

_FUNCTION = re.compile(r"Ref|Condition|Fn::\w+")
_RESOURCE = re.compile(r"  (\w+):(?!:)")
_REMOVED = re.compile(r"^( +)(\w+): null$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """How a rule is broken, and how it is kept.

    Attributes:
        wrong: The part of a template that the rule is about, so that the rule finds something.
        right: The same part as it should be.
        base: Names of shared templates that are merged in this order; without any, both parts are whole files.
        also: Ids of rules that find the same mistake, each with the reason why it is a second finding.
    """

    wrong: str
    right: str
    base: tuple[str, ...] = ()
    also: Mapping[str, str] = field(default_factory=dict)

    def file(self, part: str) -> str:
        """The whole file of which a part is shown.

        Args:
            part: `wrong` or `right`.
        """
        return json.dumps(self.template(part)) if self.base else part

    def shown(self, part: str) -> str:
        """A part as a reader sees it: with the types of its resources, and a comment for what it removes.

        Args:
            part: `wrong` or `right`.
        """
        if not self.base:
            return part
        return _REMOVED.sub(r"\1# no \2", "".join(_typed(part, self.template(part))))

    def template(self, *parts: str, base: Sequence[str] | None = None) -> Template:
        """The shared templates with parts of one example or of several.

        Args:
            parts: `wrong` or `right`.
            base: Names of shared templates instead of its own.
        """
        return reduce(_merged, (*map(_shared, self.base if base is None else base), *map(_parsed, parts)))

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        """Where the parts differ from the shared templates: the keys that lead to each value."""
        return frozenset(chain(_paths(_parsed(self.wrong)), _paths(_parsed(self.right))))


def base_paths(names: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """The keys that lead to each value of shared templates.

    Args:
        names: Their names.
    """
    return frozenset(chain.from_iterable(_paths(_shared(each)) for each in names))


@cache
def example_of(rule: str) -> Example:
    """The example of a rule.

    Args:
        rule: Its id.
    """
    written: dict[str, Any] = {**_read(EXAMPLES / f"{rule}.yaml")}
    return Example(**{**written, "base": tuple(written.get("base", ()))})


@cache
def _shared(name: str) -> Template:
    return _read(BASES / f"{name}.yaml")


def _read(file: Path) -> Template:
    return _parsed(file.read_text(encoding="utf-8"), file=file.name)


def _parsed(text: str, *, file: str = "example") -> Template:
    template = YamlText(text, file=file).data
    return cast("Template", template)


def _merged(one: Template, other: Template) -> Template:
    merged = {**one}
    for key, new in other.items():
        old = one.get(key)
        both = isinstance(old, dict) and isinstance(new, dict) and not _is_function(old) and not _is_function(new)
        merged[key] = _merged(cast("Template", old), cast("Template", new)) if both else new
    return {key: value for key, value in merged.items() if value is not None}


def _paths(value: Node, *above: str) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict) and not _is_function(value):
        for key, below in value.items():
            yield from _paths(below, *above, str(key))
    else:
        yield above


def _is_function(value: Template) -> bool:
    return len(value) == 1 and _FUNCTION.fullmatch(next(iter(value))) is not None


def _typed(part: str, template: Template) -> Iterator[str]:
    """The lines of a part, with the types of its resources where the shared templates say them."""
    resources = cast("dict[str, Template]", template["Resources"])
    section = ""
    lines = part.splitlines(keepends=True)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        yield line
        section = section if line.startswith(" ") else line.rstrip()
        named = _RESOURCE.match(line) if section == "Resources:" else None
        if named and named[1] in resources and "Type:" not in following:
            yield f"    Type: {resources[named[1]]['Type']}\n"
