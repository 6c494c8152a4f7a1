"""Conditions, which hold, do not hold, or hold depending on a value of the deploy.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-conditions.html
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.evaluation.context import Context, Function
from gpu_constructs.template.evaluation.texts import same

__all__ = ["CONDITIONS", "truth"]


def truth(node: Node, call: Node, at: Context) -> bool | Unknown:
    """Whether a condition holds."""
    if isinstance(node, dict) and len(node) == 1 and isinstance(name := node.get("Condition"), str):
        return at.condition(name, node)
    value = at.value(node)
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    if not isinstance(value, Unknown):
        at.remark("a condition is a function such as Fn::Equals", call)
    return UNKNOWN


def _equals(argument: Node, call: Node, at: Context) -> bool | Unknown:
    if not isinstance(argument, list) or len(argument) != 2:  # noqa: PLR2004
        at.remark("Fn::Equals takes two values", call)
        return UNKNOWN
    return same(at.value(argument[0]), at.value(argument[1]))


def _and(argument: Node, call: Node, at: Context) -> bool | Unknown:
    return _decided(argument, call, at, by=False)


def _or(argument: Node, call: Node, at: Context) -> bool | Unknown:
    return _decided(argument, call, at, by=True)


def _decided(argument: Node, call: Node, at: Context, *, by: bool) -> bool | Unknown:
    """One that is false decides an ``And``, one that is true an ``Or``; else one that is unknown leaves it open."""
    if not isinstance(argument, list):
        at.remark("Fn::And and Fn::Or take a list of conditions", call)
        return UNKNOWN
    result: bool | Unknown = not by
    for each in argument:
        holds = truth(each, call, at)
        if holds is by:
            return by
        if isinstance(holds, Unknown):
            result = UNKNOWN
    return result


def _not(argument: Node, call: Node, at: Context) -> bool | Unknown:
    if not isinstance(argument, list) or len(argument) != 1:
        at.remark("Fn::Not takes a list of one condition", call)
        return UNKNOWN
    holds = truth(argument[0], call, at)
    return holds if isinstance(holds, Unknown) else not holds


CONDITIONS: Mapping[str, Function] = {
    "Fn::And": _and,
    "Fn::Equals": _equals,
    "Fn::Not": _not,
    "Fn::Or": _or,
}
"""What works out each condition function, by its long name."""
