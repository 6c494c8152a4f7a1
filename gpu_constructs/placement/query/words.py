"""Where a word of an expression ends, for the reader and for the printer, so that the two cannot disagree.

An argument stands bare where it can. Quotes are documented in one example alone, ``ec2InstanceId in ['i-abcd1234',
'i-wxyx7890']`` (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html), so they are
printed only where a bare word would end too early.
"""

from __future__ import annotations

import re

__all__ = ["CONNECTIVES", "QUOTES", "bare_pattern_end", "bare_value_end", "write_pattern", "write_value"]

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
