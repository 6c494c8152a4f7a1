"""The cluster query language: which hosts a ``memberOf`` placement constraint accepts.

Written from the developer guide alone, ``subject operator [argument]``, combined with ``and``, ``or``, ``not`` (or
``&&``, ``||``, ``!``) and parentheses
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html). What cannot be read is an
error, never "true": a constraint that silently accepts every host is how a GPU task ends up where it cannot run.

Two things the guide leaves open are settled here: ``=~`` matches the whole value, as Java's ``String.matches`` does,
and a host without the attribute equals nothing, so ``!=``, ``!in`` and ``!~`` hold for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["Expression", "ExpressionError", "Subjects", "parse"]

MAX_LENGTH = 2000
"""Longest expression that RegisterTaskDefinition takes."""


class ExpressionError(ValueError):
    """The expression is not one that ECS documents."""


@dataclass(frozen=True)
class Subjects:
    """What an expression can ask about one host.

    Args:
        attributes: Attribute name to value; an attribute without a value has None.
        instance_id: The EC2 instance.
        agent_connected: Whether its agent is connected.
        running_tasks: How many tasks run on it.
        task_groups: The groups of those tasks, such as ``service:web``.
    """

    attributes: Mapping[str, str | None]
    instance_id: str = ""
    agent_connected: bool = True
    running_tasks: int = 0
    task_groups: frozenset[str] = field(default_factory=frozenset)


Expression = Callable[[Subjects], bool]
"""A parsed expression: true for the hosts it accepts."""

_Values = Callable[[Subjects], frozenset[str]]
_Test = Callable[[frozenset[str]], bool]

_OPERATORS = {
    "==": "==", "equals": "==",
    "!=": "!=", "not_equals": "!=",
    "=~": "=~", "matches": "=~",
    "!~": "!~", "not_matches": "!~",
    ">=": ">=", "greater_than_equal": ">=",
    "<=": "<=", "less_than_equal": "<=",
    ">": ">", "greater_than": ">",
    "<": "<", "less_than": "<",
    "exists": "exists",
    "!exists": "!exists", "not_exists": "!exists",
    "in": "in",
    "!in": "!in", "not_in": "!in",
}  # fmt: skip
_OPERATOR = re.compile(
    r"[=!]=|=~|!~|[<>]=?|!exists\b|!in\b|"
    r"(?:not_equals|equals|not_matches|matches|greater_than_equal|greater_than|less_than_equal|less_than"
    r"|not_exists|exists|not_in|in)\b"
)
_SUBJECT = re.compile(r"attribute:[A-Za-z0-9._\-/\\]+|task:group|agentConnected|ec2InstanceId|runningTasksCount")
_WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s()\[\],\"']+)")
_NOT = re.compile(r"not\b|!(?![=~]|in\b|exists\b)")


def parse(text: str) -> Expression:
    """Read an expression.

    Args:
        text: The expression of one ``memberOf`` constraint.

    Returns:
        A function that is true for the hosts the expression accepts.

    Raises:
        ExpressionError: The text is not an expression that ECS documents.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression has {len(text)} characters, more than {MAX_LENGTH}")
    reader = _Reader(text)
    expression = reader.alternatives()
    if not reader.at_end():
        raise reader.error("the end of the expression")
    return expression


class _Reader:
    """Recursive descent over the text; one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def alternatives(self) -> Expression:
        terms = [self.conjunction()]
        while self._take(re.compile(r"or\b|\|\|")):
            terms.append(self.conjunction())
        return lambda host: any(term(host) for term in terms)

    def conjunction(self) -> Expression:
        terms = [self.negation()]
        while self._take(re.compile(r"and\b|&&")):
            terms.append(self.negation())
        return lambda host: all(term(host) for term in terms)

    def negation(self) -> Expression:
        if not self._take(_NOT):
            return self.term()
        inner = self.negation()
        return lambda host: not inner(host)

    def term(self) -> Expression:
        if not self._take(re.compile(r"\(")):
            return self.comparison()
        inner = self.alternatives()
        self._expect(re.compile(r"\)"), "`)`")
        return inner

    def comparison(self) -> Expression:
        subject = self._expect(_SUBJECT, "a subject such as `attribute:ecs.instance-type`")
        operator = _OPERATORS[self._expect(_OPERATOR, "an operator such as `==` or `in`")]
        values = _values_of(subject)
        if operator in ("exists", "!exists"):
            if not subject.startswith("attribute:"):
                raise ExpressionError(f"`{operator}` asks for an attribute, not `{subject}`: {self._text}")
            name = subject.removeprefix("attribute:")
            return lambda host: (name in host.attributes) is (operator == "exists")
        test = self._test(subject, operator)
        return lambda host: test(values(host))

    def _test(self, subject: str, operator: str) -> _Test:
        if operator in ("==", "!="):
            wanted = frozenset([self._word()])
            # The guide's `attribute:stack != prod` lists the hosts that have the attribute with another value.
            return lambda values: bool(values) and bool(values & wanted) is (operator == "==")
        if operator in ("in", "!in"):
            listed = self._words()
            return lambda values: bool(values & listed) is (operator == "in")
        if operator in ("=~", "!~"):
            pattern = self._pattern()
            return lambda values: any(map(pattern.fullmatch, values)) is (operator == "=~")
        if subject != "runningTasksCount":
            raise ExpressionError(f"`{operator}` is documented for counts, not for `{subject}`: {self._text}")
        return _numeric(operator, self._number())

    def _words(self) -> frozenset[str]:
        self._expect(re.compile(r"\["), "a list such as `[g6.xlarge, g6.2xlarge]`")
        words = [self._word()]
        while self._take(re.compile(",")):
            words.append(self._word())
        self._expect(re.compile(r"\]"), "`]`")
        return frozenset(words)

    def _word(self) -> str:
        word = self._expect(_WORD, "a value")
        return word[1:-1] if word[0] in "\"'" else word

    def _number(self) -> int:
        word = self._word()
        if not word.isdecimal():
            raise self.error("a number")
        return int(word)

    def _pattern(self) -> re.Pattern[str]:
        """A regular expression: quoted, or up to the next space or the parenthesis that closes an outer one."""
        self._skip_space()
        quoted = re.compile(r"\"([^\"]*)\"|'([^']*)'").match(self._text, self._at)
        if quoted:
            self._at, source = quoted.end(), quoted.group()[1:-1]
        else:
            start, depth = self._at, 0
            while self._at < len(self._text) and not self._text[self._at].isspace():
                depth += {"(": 1, ")": -1}.get(self._text[self._at], 0)
                if depth < 0:
                    break
                self._at += 1
            source = self._text[start : self._at]
        try:
            return re.compile(source)
        except re.error as error:
            raise ExpressionError(f"`{source}` is not a regular expression, {error}: {self._text}") from error

    def at_end(self) -> bool:
        self._skip_space()
        return self._at == len(self._text)

    def error(self, wanted: str) -> ExpressionError:
        return ExpressionError(f"expected {wanted} at character {self._at + 1} of `{self._text}`")

    def _skip_space(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        self._skip_space()
        match = pattern.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match.group()

    def _expect(self, pattern: re.Pattern[str], wanted: str) -> str:
        taken = self._take(pattern)
        if not taken:
            raise self.error(wanted)
        return taken


def _values_of(subject: str) -> _Values:
    if subject.startswith("attribute:"):
        name = subject.removeprefix("attribute:")
        return lambda host: frozenset(value for value in [host.attributes.get(name)] if value is not None)
    if subject == "task:group":
        return lambda host: host.task_groups
    if subject == "agentConnected":
        return lambda host: frozenset([str(host.agent_connected).lower()])
    if subject == "ec2InstanceId":
        return lambda host: frozenset([host.instance_id])
    return lambda host: frozenset([str(host.running_tasks)])


def _numeric(operator: str, bound: int) -> _Test:
    holds: dict[str, Callable[[int], bool]] = {
        ">": lambda value: value > bound,
        ">=": lambda value: value >= bound,
        "<": lambda value: value < bound,
        "<=": lambda value: value <= bound,
    }
    return lambda values: all(holds[operator](int(value)) for value in values)
