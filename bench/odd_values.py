"""Every template that this repository has, with a value of another kind at each of its places.

A file that somebody else wrote may hold a list where a text belongs. What `check`, `plan`, `explain` and the rule pack
of cfn-lint make of it may be a finding, a remark or a refusal, never an exception.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import cycle, zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from cfnlint.template import Template as Linted

from gpu_constructs import lint
from gpu_constructs.check.planning import plan
from gpu_constructs.check.report import check_files
from gpu_constructs.cli.program import main
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.rules import all_rules
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.documents.node import Path as Place
from tools.rule_examples import example_of

__all__ = ["VALUES", "asked", "at_once", "everywhere", "kind_of_place", "places", "put", "templates"]

Template = dict[str, Node]
"""A template with its functions in their long form."""

VALUES: Mapping[str, Node] = MappingProxyType(
    {
        "a list": [["a"], {"B": ["c"]}, 1, None],
        "an object": {"A": ["b"], "B": {}},
        "a number": -7.5,
        "true": True,
        "null": None,
        "a long text": "é\n${x}," * 600,
    }
)
"""What is put where something else belongs."""

_TESTS = Path(__file__).parents[1] / "tests"


def templates() -> Iterator[tuple[str, Template]]:
    """The examples of the rules, the reference stacks and the acceptance files, each with its name."""
    for rule in all_rules():
        example = example_of(rule.id)
        for part in ("wrong", "right"):
            yield f"{rule.id} {part}", _parsed(example.file(getattr(example, part)).encode(), f"{rule.id}.yaml")
    stacks = _TESTS / "stacks" / "__snapshots__" / "test_reference_stacks"
    for path in sorted([*stacks.iterdir(), *(_TESTS / "acceptance").rglob("*")]):
        if path.suffix in {".json", ".yaml", ".yml"} and "expected" not in path.parts:
            yield path.name, _parsed(path.read_bytes(), path.name)


def everywhere(each: int) -> tuple[int, list[str]]:
    """Puts every value at every place: to the check and the plan, and at the first of those alike to every door.

    Args:
        each: At how many places that are alike.

    Returns:
        How many templates that made, and what went wrong with which of them.
    """
    seen, made, wrong = Counter[tuple[str, ...]](), 0, list[str]()
    for name, template in templates():
        for place, _ in places(template):
            kind = kind_of_place(template, place)
            seen[kind] += 1
            for word, value in VALUES.items() if seen[kind] <= each else ():
                made += 1
                try:
                    (asked_everywhere if seen[kind] == 1 else asked)(cast("Template", put(template, place, value)))
                except Exception as error:  # noqa: BLE001 - that is what is looked for
                    wrong.append(f"{word} at {place} of {name}: {type(error).__name__} {error}")
    return made, wrong


def at_once(*values: Node) -> Iterator[Template]:
    """Templates with a value at one place of each resource, until one was once at each kind of place that holds a text.

    Args:
        *values: What is put there, another one in each template.
    """
    seen, in_turn = set[tuple[str, ...]](), cycle(values)
    for _, template in templates():
        new: dict[object, list[Place]] = {}
        for place, node in places(template):
            kind = kind_of_place(template, place)
            if isinstance(node, str) and kind not in seen:
                seen.add(kind)
                new.setdefault(place[1:2], []).append(place)
        for together, value in zip(zip_longest(*new.values()), in_turn, strict=False):
            changed: Node = template
            for place in filter(None, together):
                changed = put(changed, place, value)
            yield cast("Template", changed)


def places(node: Node, *above: str | int) -> Iterator[tuple[Place, Node]]:
    """Every place below the top of a template, with what is there."""
    for step, child in node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ()):
        yield (*above, step), child
        yield from places(child, *above, step)


def put(node: Node, place: Place, value: Node) -> Node:
    """A template with another value at a place; what is not on the way is shared.

    Args:
        node: The template.
        place: Keys and indexes from its top.
        value: What is to be there.
    """
    if not place:
        return value
    copy: Any = cast("Any", node).copy()
    copy[place[0]] = put(copy[place[0]], place[1:], value)
    return cast("Node", copy)


def kind_of_place(template: Template, place: Place) -> tuple[str, ...]:
    """What places of all templates are alike by: the type of the resource and the keys, without names and indexes."""
    keys = ["#" if isinstance(each, int) else each for each in place[2:]]
    resource: Any = template.get("Resources") if place[0] == "Resources" else None
    body = resource.get(place[1]) if isinstance(resource, dict) and len(place) > 1 else None
    return str(body.get("Type") if isinstance(body, dict) else place[0]), *keys


def asked(template: Template) -> None:
    """Puts a template to the check and the plan.

    Args:
        template: A template.

    Raises:
        Exception: They failed otherwise than with an error of this library.
    """
    try:
        plan(check_files([template]).fleet)
    except GpuConstructsError:
        return


def asked_everywhere(template: Template) -> None:
    """Puts a template to the command line and to cfn-lint.

    Args:
        template: A template.

    Raises:
        AssertionError: One of them met an exception.
    """
    try:
        fleet = check_files([template]).fleet
    except GpuConstructsError:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(template, file)
        file.flush()
        tasks = [each.name for each in fleet.tasks if "\0" not in each.name]
        for command in (["check"], ["plan"], *(["explain", "--", each] for each in tasks)):
            said = StringIO()
            with redirect_stdout(StringIO()), redirect_stderr(said):
                main([*command, file.name])
            if "internal error" in said.getvalue():
                raise AssertionError(f"{' '.join(command)}: {said.getvalue()}")
    # The rule that says why nothing was checked.
    with redirect_stderr(StringIO()):
        unread = vars(lint)["E9500"]().match(Linted("template", template, ["us-east-1"]))
    for found in unread:
        raise AssertionError(f"cfn-lint: {found.message}")


def _parsed(content: bytes, file: str) -> Template:
    data = Document.read(content, file=file).data
    return data if isinstance(data, dict) else {"containerDefinitions": data}
