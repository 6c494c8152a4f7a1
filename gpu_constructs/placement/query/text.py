"""An expression as text, and where a word of it ends: for the reader and the printer, so that the two cannot disagree.

An argument stands bare where it can. Quotes are documented in one example alone, ``ec2InstanceId in ['i-abcd1234',
'i-wxyx7890']`` (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html), so they are
printed only where a bare word would end too early.
"""

from __future__ import annotations

import re

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.hardware.aws_limits import MAX_EXPRESSION_LENGTH, MAX_PLACEMENT_CONSTRAINTS
from gpu_constructs.placement.query.ast import And, Comparison, Condition, Exists, In, Not, Or, Query

CONNECTIVES = frozenset({"and", "or", "not"})
QUOTES = "'\""
_DELIMITERS = frozenset("()[]," + QUOTES)
# What an operator is made of: a word that begins so is far more likely a mistyped operator.
_OPERATOR_CHARACTERS = frozenset("=!<>~&|")
# An escape, a class or any other character; `]` stands for itself where a class begins.
_PATTERN_PART = re.compile(
    r"""
    \\[^\s'"]
    | \[ (?:\^|(?!\^)) (?:\]|\\[^\s'"]|[^\]\\\s'"]) (?:\\[^\s'"]|[^\]\\\s'"])* \]
    | [^\s'"\\\[]
    """,
    re.VERBOSE,
)
_UNCLOSED = re.compile(r"[\\\[][^\s'\"]*")


def bare_value_end(text: str, start: int) -> int:
    """Where the bare value ends that begins here; the start itself if none begins."""
    if text[start : start + 1] in _OPERATOR_CHARACTERS:
        return start
    at = start
    while at < len(text) and text[at] not in _DELIMITERS and _goes_on(text, at):
        at += 1
    return at


def bare_pattern_end(text: str, start: int) -> tuple[int, bool]:
    r"""Where the bare pattern ends that begins here, and whether its groups, classes and escapes are closed there.

    Groups and classes belong to the pattern, as in ``(p[2,3]|g[3,4]|f[1]).*``, which stitchfix/flotilla sends to ECS
    (execution/adapter/ecs_adapter.go); a parenthesis that closes none of them belongs to the expression.
    """
    if text[start : start + 1] in _OPERATOR_CHARACTERS:
        return start, True
    at, groups = start, 0
    while (part := _PATTERN_PART.match(text, at)) and part.group().isprintable():
        if groups == 0 and (part.group() == ")" or text[at : at + 2] in {"&&", "||"}):
            break
        groups += {"(": 1, ")": -1}.get(part.group(), 0)
        at = part.end()
    rest = _UNCLOSED.match(text, at)
    return (rest.end(), False) if rest else (at, groups == 0)


def write_value(value: str) -> str:
    """A value as an argument: bare where it can be, else quoted."""
    bare = value not in CONNECTIVES and bare_value_end(value, 0) == len(value)
    return value if bare else _quoted(value)


def write_pattern(pattern: str) -> str:
    """A pattern as an argument: bare where it can be, else quoted."""
    bare = pattern not in CONNECTIVES and bare_pattern_end(pattern, 0) == (len(pattern), True)
    return pattern if bare else _quoted(pattern)


def _goes_on(text: str, at: int) -> bool:
    each = text[at]
    return each.isprintable() and not each.isspace() and text[at : at + 2] not in {"&&", "||"}


def _quoted(text: str) -> str:
    quote = '"' if "'" in text else "'"
    return f"{quote}{text}{quote}"


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
