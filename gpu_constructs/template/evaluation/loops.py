"""Loops of a template written out: ``Fn::ForEach``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpu_constructs.facts.budget import LOOPED
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.evaluation.texts import written

if TYPE_CHECKING:
    from gpu_constructs.template.evaluation.evaluator import Evaluator

FOR_EACH = "Fn::ForEach::"
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]")


class LoopedTooMuchError(Exception):
    """Loops make more entries of one object than anybody means."""


def unrolled(section: dict[str, Node], at: Evaluator) -> dict[str, Node]:
    """An object with every ``Fn::ForEach`` in it written out; a loop that cannot be is left out and remarked.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-foreach.html
    """
    if not any(key.startswith(FOR_EACH) for key in section):
        return section
    result: dict[str, Node] = {}
    looped = 0
    for key, value in section.items():
        rounds = _rounds(key, value, section, at) if key.startswith(FOR_EACH) else {key: value}
        looped += len(rounds) if key.startswith(FOR_EACH) else 0
        if looped > LOOPED:
            raise LoopedTooMuchError
        result.update(rounds)
    return result


def _rounds(key: str, loop: Node, section: dict[str, Node], at: Evaluator) -> dict[str, Node]:
    name, collection, body = loop if isinstance(loop, list) and len(loop) == 3 else (None, None, None)  # noqa: PLR2004
    if not isinstance(name, str) or not isinstance(body, dict):
        at.remark(f"{key} takes a name, a list and an object", section)
        return {}
    items = at.value(collection)
    texts = [written(item) for item in items] if isinstance(items, list) else [None]
    result: dict[str, Node] = {}
    for text in texts:
        if text is None:
            at.remark(f"{key} goes over a list that is only known at deploy time", section)
            return {}
        written_out = _replaced(body, _replacement(name, text), at)
        if not isinstance(written_out, dict):
            at.remark(f"{key} makes too much", section)
            return {}
        result.update(unrolled(written_out, at))
        if len(result) > LOOPED:
            raise LoopedTooMuchError
    return result


def _replacement(name: str, item: str) -> Callable[[Node], Node]:
    plain, letters = f"${{{name}}}", f"&{{{name}}}"

    def replace(node: Node) -> Node:
        if node == {"Ref": name}:
            return item
        if isinstance(node, str) and name in node:
            return node.replace(plain, item).replace(letters, _NOT_A_NAME.sub("", item))
        return node

    return replace


def _replaced(node: Node, replace: Callable[[Node], Node], at: Evaluator) -> Node:
    """A copy with the loop's name replaced; None once there is more than may be made."""
    node = replace(node)
    if isinstance(node, str):
        return node if at.spend(text=len(node)) else None
    if isinstance(node, dict) and at.spend(nodes=len(node) + 1):
        return {str(replace(key)): _replaced(child, replace, at) for key, child in node.items()}
    if isinstance(node, list) and at.spend(nodes=len(node) + 1):
        return [_replaced(child, replace, at) for child in node]
    return None if isinstance(node, (dict, list)) else node
