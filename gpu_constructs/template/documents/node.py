"""What a parsed file is made of, before any function of CloudFormation is worked out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gpu_constructs.facts.budget import DEPTH, DIGITS, YAML_NODES

_Child = TypeVar("_Child")

Node: TypeAlias = "bool | int | float | str | list[Node] | dict[str, Node] | None"
"""Plain lists, plain objects, texts, finite numbers, booleans and null."""

Path: TypeAlias = "tuple[str | int, ...]"
"""Keys and indexes from the top of the file."""


class Position(NamedTuple):
    """Where something is in a text.

    Attributes:
        path: Keys and indexes from the top of the file, as the file spells them.
        line: Its line, from 1; 0 where the text is all on one.
        column: Its column, from 1, likewise.
    """

    path: Path
    line: int
    column: int


class TooDeepError(ValueError):
    """Lists and objects are nested too deeply, or there is no end to them."""


def members(node: object) -> dict[str, Node]:
    """What an object holds by its keys; nothing for anything else."""
    return node if isinstance(node, dict) else {}


def items(node: object) -> list[Node]:
    """What a list holds; nothing for anything else."""
    return node if isinstance(node, list) else []


def listed(node: Node) -> list[Node]:
    """What a list holds, where one item may stand alone; nothing for null."""
    return node if isinstance(node, list) else [] if node is None else [node]


def under(node: object, *keys: str) -> Node:
    """What an object holds under a key, and that one under the next; None where there is nothing."""
    for key in keys:
        node = members(node).get(key)
    return node  # type: ignore[return-value] # a node as long as it is one of a file


def referred(node: Node) -> str | None:
    """What an object that is a ``Ref`` alone refers to; None for anything else."""
    name = node.get("Ref") if isinstance(node, dict) and len(node) == 1 else None
    return name if isinstance(name, str) else None


def nodes_in(node: Node) -> Iterator[Node]:
    """A node and everything in it."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += each.values() if isinstance(each, dict) else items(each)


def integer(text: str) -> int | str:
    """A whole number; a text where it is longer than any number that means something."""
    return int(text) if len(text) <= DIGITS else text


def decimal(text: str) -> float | str:
    """A number; a text where it is not a finite one, so that nothing that follows meets an infinity."""
    number = float(text)
    return number if math.isfinite(number) else text


def deeper_than(node: Node, depth: int) -> bool:
    """Whether lists and objects are nested more deeply, found without recursion."""
    level = [node] if isinstance(node, (dict, list)) else []
    for _ in range(depth):
        if not level:
            return False
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
    return bool(level)


def of_any_case(children: Mapping[Any, _Child], step: str | int) -> tuple[Any, _Child] | None:
    """A key or an index with its child; a key in another spelling counts too, as ``memory`` for ``Memory``."""
    if step in children:
        return step, children[step]
    wanted = step.lower() if isinstance(step, str) else None
    found = (each for each in children.items() if isinstance(each[0], str) and each[0].lower() == wanted)
    return next(found, None) if wanted is not None else None


def plain_values(value: object) -> Node:
    """What somebody else parsed, as nodes: copies, of exact types, with texts for whatever else it holds."""
    return _plain(value, DEPTH, [YAML_NODES])


def _plain(value: object, depth: int, left: list[int]) -> Node:
    left[0] -= 1
    if depth < 0 or left[0] < 0:
        raise TooDeepError
    if isinstance(value, str):  # as most are, and to ask for a mapping takes longer
        return _text(value)
    if isinstance(value, Mapping):
        return {_text(key): _plain(child, depth - 1, left) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(child, depth - 1, left) for child in value]
    return _scalar(value)


def _scalar(value: object) -> Node:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 10**DIGITS else _text(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _text(value)
    return _text(value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return str.__str__(value) if value.isascii() else value.encode(errors="replace").decode()
    try:
        return str(value)
    except ValueError:  # a whole number of more than 4300 digits
        return "a very large number"
