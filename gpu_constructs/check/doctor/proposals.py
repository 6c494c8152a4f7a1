"""A change that may be made in a file, and what those who propose one look for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpu_constructs.template.documents.edits import TextEdits
from gpu_constructs.template.documents.node import Node, Path, items, members, of_any_case


class Proposal(NamedTuple):
    """One thing to change: what is wrong at a path of a file, what is to be written instead, and what writes it.

    Attributes:
        rule: The rule that finds it; empty where none does.
        about: What the rule finds it in, where that is another resource.
        property_name: The property that it is about, which has an argument of CDK.
        becomes: The new id of a resource that is named anew.
        is_sure: Whether it is right whatever the check finds once it can read it.
    """

    file: str
    path: Path
    message: str
    change: str
    edit: Callable[[TextEdits], None]
    rule: str = ""
    about: str = ""
    property_name: str = ""
    becomes: str = ""
    is_sure: bool = False


def member(node: Node, name: str) -> tuple[str, Node]:
    """A key of an object in whatever case it is written, with its value; an empty one if it is not there."""
    return of_any_case(members(node), name) or ("", None)


def resources(data: Node) -> Mapping[str, Node]:
    """The resources of a template."""
    return members(member(data, "Resources")[1])


def below(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Everything in a file, in the order of its lines."""
    waiting: list[tuple[Path, Node]] = [(path, node)]
    while waiting:
        here, each = waiting.pop()
        yield here, each
        children = each.items() if isinstance(each, dict) else enumerate(items(each))
        waiting.extend(reversed([((*here, step), child) for step, child in children]))
