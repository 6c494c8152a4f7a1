"""Whether a role may make a call, as AWS documents the evaluation of policies.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-denyallow.html: an
explicit deny wins, then an allow is needed. What it does not know, an operator or an element, is an error, never an
answer. Tests of policies ask it as well, so that there is one evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

__all__ = ["Call", "UnknownPolicyError", "is_allowed", "is_trusted", "listed"]

_KNOWN = frozenset({"Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition", "Principal"})
_ALL = "ForAllValues:"
_ANY = "ForAnyValue:"
_IF = "IfExists"
_PLAIN = {"Bool", "StringEquals", "StringEqualsIgnoreCase"}
_LIKE = {"StringLike", "ArnLike", "ArnEquals"}
"""``ArnEquals`` and ``ArnLike`` behave identically."""

_NOT = {"StringNotEquals": "StringEquals", "StringNotLike": "StringLike", "ArnNotLike": "ArnLike"}
_ARN_PARTS = 6


class UnknownPolicyError(ValueError):
    """A policy has something that is not evaluated here."""


@dataclass(frozen=True)
class Call:
    """A call of an API.

    Args:
        action: Such as ``ecs:RunTask``.
        resource: Its ARN, or ``*`` where the call has none.
        context: Its condition keys.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.action} on {self.resource} {dict(self.context) or ''}".strip()


def listed(value: Any) -> list[Any]:
    """JSON of policies has one thing or a list of them."""
    return list(value) if isinstance(value, list | tuple) else [value]


def is_allowed(statements: Iterable[Mapping[str, Any]], call: Call) -> bool:
    """Whether the statements allow it."""
    effects = {each["Effect"] for each in statements if _applies(each, call)}
    _know(effects, {"Allow", "Deny"})
    return effects == {"Allow"}


def is_trusted(statements: Iterable[Mapping[str, Any]], service: str, context: Mapping[str, str]) -> bool:
    """Whether a service may assume a role with these statements of trust."""
    for each in statements:
        _know(each, _KNOWN)
        services = listed(each["Principal"].get("Service", []))
        if "sts:AssumeRole" in listed(each["Action"]) and service in services and _meets(each, context):
            return bool(each["Effect"] == "Allow")
    return False


def _know(found: Iterable[str], known: Collection[str]) -> None:
    if unknown := sorted(set(found) - set(known)):
        raise UnknownPolicyError(f"a policy with {', '.join(unknown)}, which the emulator does not evaluate")


def _applies(statement: Mapping[str, Any], call: Call) -> bool:
    _know(statement, _KNOWN)
    action = [each.lower() for each in listed(statement.get("Action", statement.get("NotAction")))]
    named = any(_pattern(each).fullmatch(call.action.lower()) for each in action)
    if named == ("NotAction" in statement):
        return False
    resources = listed(statement.get("Resource", statement.get("NotResource")))
    found = any(_is_arn_like(each, call.resource) for each in resources)
    return found != ("NotResource" in statement) and _meets(statement, call.context)


def _meets(statement: Mapping[str, Any], context: Mapping[str, str | tuple[str, ...]]) -> bool:
    lowered = {key.lower(): [*map(str, listed(value))] for key, value in context.items()}
    return all(
        _holds(operator, [*map(_text, listed(wanted))], lowered.get(key.lower()))
        for operator, keys in statement.get("Condition", {}).items()
        for key, wanted in keys.items()
    )


def _holds(operator: str, wanted: list[str], values: list[str] | None) -> bool:
    if operator == "Null":
        return all((each == "true") == (values is None) for each in wanted)
    if operator.endswith(_IF):
        return values is None or _holds(operator.removesuffix(_IF), wanted, values)
    if operator.startswith(_ALL):
        return all(_one(operator.removeprefix(_ALL), wanted, each) for each in values or [])
    if operator.startswith(_ANY):
        return any(_one(operator.removeprefix(_ANY), wanted, each) for each in values or [])
    if values is None:
        return operator in _NOT
    if len(values) != 1:
        raise UnknownPolicyError(f"{operator} on a key with several values")
    return _one(operator, wanted, values[0])


def _one(operator: str, wanted: list[str], value: str) -> bool:
    if operator in _NOT:
        return not _one(_NOT[operator], wanted, value)
    if operator in _PLAIN:
        if operator == "StringEquals":
            return value in wanted
        return value.lower() in {each.lower() for each in wanted}
    _know([operator], _LIKE)
    if operator == "StringLike":
        return any(_pattern(each).fullmatch(value) for each in wanted)
    return any(_is_arn_like(each, value) for each in wanted)


def _is_arn_like(pattern: str, arn: str) -> bool:
    """Each of the first five parts of an ARN is matched alone; the rest may hold colons."""
    if pattern == "*":
        return True
    patterns, parts = pattern.split(":", _ARN_PARTS - 1), arn.split(":", _ARN_PARTS - 1)
    if len(patterns) != _ARN_PARTS:
        raise UnknownPolicyError(f"a resource that is no ARN: {pattern}")
    return len(parts) == _ARN_PARTS and all(
        _pattern(one).fullmatch(other) for one, other in zip(patterns, parts, strict=True)
    )


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("".join(_WILD.get(each, re.escape(each)) for each in text), re.DOTALL)


_WILD: Final = {"*": ".*", "?": "."}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
