"""An expression as text: what is read from the text is the same expression."""

from __future__ import annotations

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.hardware.aws_limits import MAX_EXPRESSION_LENGTH, MAX_PLACEMENT_CONSTRAINTS
from gpu_constructs.placement.query.ast import And, Comparison, Condition, Exists, In, Not, Or, Query
from gpu_constructs.placement.query.words import write_pattern, write_value

__all__ = ["describe", "render"]


def render(query: Query) -> str:
    """The expression's text, as ``PlacementConstraint.expression`` takes it.

    Operators are printed as the examples of the documentation print them. Parentheses stand where it leaves open what
    binds tighter: it names ``and``, ``or`` and ``not`` without an order among them, so an ``and`` within an ``or`` has
    parentheses too, and ``not`` always has, as in its example ``not(task:group == database)``.

    Raises:
        InvalidValueError: If the text is longer than ECS takes.
    """
    text = describe(query)
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise InvalidValueError(
            f"the expression has {len(text)} characters",
            value=text,
            allowed=f"at most {MAX_EXPRESSION_LENGTH} characters",
            fix=f"give the parts that are joined by `and` as separate constraints, at most {MAX_PLACEMENT_CONSTRAINTS}",
        )
    return text


def describe(query: Query) -> str:
    """The expression's text however long it is, for messages."""
    if isinstance(query, And):
        return " and ".join(_within(term, Or) for term in query.terms)
    if isinstance(query, Or):
        return " or ".join(_within(term, And) for term in query.terms)
    if isinstance(query, Not):
        return f"not ({describe(query.term)})"
    return _condition(query)


def _within(term: Query, other: type[And | Or]) -> str:
    return f"({describe(term)})" if isinstance(term, other) else describe(term)


def _condition(condition: Condition) -> str:
    start = f"{condition.subject} {condition.operator}"
    if isinstance(condition, Exists):
        return start
    if isinstance(condition, Comparison):
        return f"{start} {write_value(condition.argument)}"
    if isinstance(condition, In):
        return f"{start} [{', '.join(map(write_value, condition.values))}]"
    return f"{start} {write_pattern(condition.pattern)}"
