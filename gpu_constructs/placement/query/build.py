"""Expressions from typed values, of the forms that the documentation prints.

What is built here is narrower than what is read: names and values have the characters that ECS allows in an attribute
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html#attributes), and patterns
no parentheses, because "a single expression can't contain parentheses"
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html).
"""

from __future__ import annotations

from collections.abc import Iterable

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.placement.query.ast import And, Comparison, Exists, In, Matches, Not, Or, Query
from gpu_constructs.placement.query.automaton import why_not_judged
from gpu_constructs.placement.query.limits import MAX_ATTRIBUTE_LENGTH, MAX_CONSTRAINTS
from gpu_constructs.placement.query.printer import render
from gpu_constructs.placement.query.subjects import NAME_CHARACTERS, Attribute, Field, Operator

__all__ = [
    "all_of",
    "any_of",
    "attribute_absent",
    "attribute_equals",
    "attribute_exists",
    "attribute_in",
    "attribute_not_equals",
    "attribute_not_in",
    "expressions",
    "instance_type_in",
    "matches",
    "not_",
    "runs_task_group",
]

_VALUE_CHARACTERS = NAME_CHARACTERS | frozenset("@: ")
_NOT_IN_PATTERNS = frozenset("()'\" \t")
_INSTANCE_TYPE = "ecs.instance-type"


def instance_type_in(names: Iterable[str]) -> In:
    """True on hosts of exactly these instance types.

    A list names what is meant; the pattern ``g5.*`` would also match g5g, which is arm64.

    Args:
        names: Instance types, such as ``g6.xlarge``. Repeated names count once; the order is kept.
    """
    return attribute_in(_INSTANCE_TYPE, names)


def attribute_equals(name: str, value: str) -> Comparison:
    """True on hosts whose attribute has this value.

    Args:
        name: The attribute, such as ``ecs.availability-zone``.
        value: The value.
    """
    return Comparison(Attribute(name), Operator.EQUALS, _value(value))


def attribute_not_equals(name: str, value: str) -> Comparison:
    """True on hosts whose attribute has another value; false on hosts without the attribute.

    Args:
        name: The attribute.
        value: The value that it must not have.
    """
    return Comparison(Attribute(name), Operator.NOT_EQUALS, _value(value))


def attribute_in(name: str, values: Iterable[str]) -> In:
    """True on hosts whose attribute has one of these values.

    Args:
        name: The attribute.
        values: At least one. Repeated values count once; the order is kept.
    """
    return In(Attribute(name), _values(values))


def attribute_not_in(name: str, values: Iterable[str]) -> In:
    """True on hosts whose attribute has none of these values; false on hosts without the attribute.

    Args:
        name: The attribute.
        values: At least one. Repeated values count once; the order is kept.
    """
    return In(Attribute(name), _values(values), negated=True)


def attribute_exists(name: str) -> Exists:
    """True on hosts that have the attribute, with any value.

    Args:
        name: The attribute.
    """
    return Exists(Attribute(name))


def attribute_absent(name: str) -> Exists:
    """True on hosts that do not have the attribute.

    Args:
        name: The attribute.
    """
    return Exists(Attribute(name), negated=True)


def matches(name: str, pattern: str) -> Matches:
    """True on hosts where a pattern matches the attribute's whole value.

    Args:
        name: The attribute.
        pattern: A regular expression of Java that can be judged before anything is deployed.
    """
    outside = sorted(_NOT_IN_PATTERNS.intersection(pattern))
    if outside:
        raise InvalidValueError(
            f"the pattern {pattern!r} has {', '.join(map(repr, outside))}",
            value=pattern,
            allowed="a regular expression without parentheses, quotes and spaces",
            fix="join several patterns with any_of, or list the values with attribute_in",
        )
    condition = Matches(Attribute(name), pattern)
    reason = why_not_judged(pattern)
    if reason is not None:
        raise InvalidValueError(reason, value=pattern, fix="list the values with attribute_in")
    return condition


def runs_task_group(group: str) -> Comparison:
    """True on hosts that run a task of this group: affinity; with `not_` around it, anti-affinity.

    Args:
        group: Such as ``service:production``.
    """
    return Comparison(Field.TASK_GROUP, Operator.EQUALS, _value(group))


def all_of(*terms: Query) -> Query:
    """True where every term is.

    Args:
        terms: At least one.
    """
    return terms[0] if len(terms) == 1 else And(terms)


def any_of(*terms: Query) -> Query:
    """True where one term is, at least.

    Args:
        terms: At least one.
    """
    return terms[0] if len(terms) == 1 else Or(terms)


def not_(term: Query) -> Query:
    """True where the term is false, so also on hosts without the attribute that a comparison asks for.

    Args:
        term: What must not hold.
    """
    return term.term if isinstance(term, Not) else Not(term)


def expressions(*queries: Query) -> tuple[str, ...]:
    """The texts of the constraints of one task, all of which its host must satisfy.

    Args:
        queries: One for each constraint.
    """
    if len(queries) > MAX_CONSTRAINTS:
        raise InvalidValueError(
            f"{len(queries)} placement constraints",
            value=len(queries),
            allowed=f"at most {MAX_CONSTRAINTS} for one task, those of its task definition included",
            fix="join some of them with all_of",
        )
    return tuple(map(render, queries))


def _values(values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise InvalidValueError(f"{values!r} is one text", value=values, allowed="a list", fix=f"[{values!r}]")
    listed = tuple(dict.fromkeys(_value(each) for each in values))
    if not listed:
        raise InvalidValueError("the list is empty, no host satisfies it", value=listed, allowed="at least one value")
    return listed


def _value(value: str) -> str:
    if (
        not isinstance(value, str)
        or not 1 <= len(value) <= MAX_ATTRIBUTE_LENGTH
        or not _VALUE_CHARACTERS.issuperset(value)
        or value != value.strip()
    ):
        raise InvalidValueError(
            f"{value!r} is no value of an attribute",
            value=value,
            allowed=f"1 to {MAX_ATTRIBUTE_LENGTH} letters, digits, - _ . @ / \\ : and spaces between them",
        )
    return value
