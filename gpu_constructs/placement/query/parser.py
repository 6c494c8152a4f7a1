"""Reads an expression.

The grammar, from https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html::

    expression  = term { ("or" | "||") term }
    term        = factor { ("and" | "&&") factor }
    factor      = ("not" | "!") factor | "(" expression ")" | condition
    condition   = subject operator [ argument ]

The page gives ``and``, ``or`` and ``not`` no order; they bind as everywhere, ``not`` before ``and`` before ``or``.
Every character is looked at a bounded number of times and the depth is bounded, so any text is answered at once.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeVar

from gpu_constructs.errors import GpuConstructsError, InvalidValueError
from gpu_constructs.facts.aws_limits import MAX_EXPRESSION_LENGTH
from gpu_constructs.placement.query.ast import (
    CONNECTIVES,
    QUOTES,
    And,
    Comparison,
    Condition,
    Exists,
    In,
    Matches,
    Not,
    Or,
    Query,
    bare_pattern_end,
    bare_value_end,
)
from gpu_constructs.placement.query.subjects import (
    MAX_NESTING,
    NAME_CHARACTERS,
    Attribute,
    Field,
    MalformedPatternError,
    Operator,
    Subject,
    argument_problem,
    operators_of,
    read_pattern,
    text_problem,
)

_SPACE = " \t\r\n"
_SUBJECT_CHARACTERS = NAME_CHARACTERS | {":"}
_WORDS = {each.word: each for each in Operator}
# Longer ones first, so that `>=` is not read as `>`.
_SYMBOLS = sorted((each for each in Operator if not each.value.isalpha()), key=lambda each: -len(each.value))
_SUBJECTS = f"attribute:<name>, {', '.join(each.value for each in Field)}"
_A_VALUE = "a value, in quotes if it has spaces, quotes, commas, brackets or parentheses"
_SHOWN = 20
_INSTANCES = "['i-abcd1234', 'i-wxyx7890']"
_EXCERPT = 50
"""Characters shown on each side of the column."""


@lru_cache(maxsize=4096)
def parse(expression: str) -> Query:
    """Reads the text of one ``memberOf`` constraint; one that was read before is remembered.

    Raises:
        QuerySyntaxError: If the documentation has no such expression; it says where and what is expected.
    """
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise QuerySyntaxError(
            f"the expression has {len(expression)} characters",
            expression=expression,
            column=MAX_EXPRESSION_LENGTH + 1,
            expected=f"at most {MAX_EXPRESSION_LENGTH} characters",
        )
    return _Reader(expression).whole()


_Inner = TypeVar("_Inner", Query, tuple[Query, ...])


class _Reader:
    """Recursive descent, one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[int] = []

    def whole(self) -> Query:
        query = self._expression()
        if self._at < len(self._text):
            closes = self._text[self._at] == ")"
            raise self._error(
                "`)` closes no parenthesis" if closes else f"unexpected {self._found()}",
                expected=None if closes else "and, or, the end",
                fix=self._connective_fix(),
            )
        return query

    def _expression(self) -> Query:
        start, terms = self._at, [self._term()]
        while self._take_connective("or"):
            terms.append(self._term())
        return terms[0] if len(terms) == 1 else self._nested(start, Or, tuple(terms))

    def _term(self) -> Query:
        start, factors = self._at, [self._factor()]
        while self._take_connective("and"):
            factors.append(self._factor())
        return factors[0] if len(factors) == 1 else self._nested(start, And, tuple(factors))

    def _factor(self) -> Query:
        self._skip_space()
        start, negations = self._at, 0
        while self._take_not():
            negations += 1
        query = self._parenthesis() if self._peek() == "(" else self._condition()
        for _ in range(negations):
            query = self._nested(start, Not, query)
        return query

    def _nested(self, start: int, kind: Callable[[_Inner], Query], inner: _Inner) -> Query:
        try:
            return kind(inner)
        except InvalidValueError:
            raise self._too_deep(start) from None

    def _too_deep(self, at: int) -> QuerySyntaxError:
        return self._error(
            "expressions are nested too deep", at=at, expected=f"at most {MAX_NESTING} deep", fix="name fewer of them"
        )

    def _parenthesis(self) -> Query:
        start = self._at
        if len(self._open) == MAX_NESTING:
            raise self._too_deep(start)
        self._open.append(start)
        self._at += 1
        query = self._expression()
        if self._peek() != ")":
            raise self._error(
                f"the parenthesis of column {start + 1} is not closed, found {self._found()}",
                expected="and, or, `)`",
                fix=self._connective_fix(),
            )
        self._open.pop()
        self._at += 1
        return query

    def _condition(self) -> Condition:
        subject = self._subject()
        operator = self._operator(subject)
        self._skip_space()
        if operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
            return Exists(subject, negated=operator is Operator.NOT_EXISTS)
        if operator in {Operator.IN, Operator.NOT_IN}:
            return In(subject, self._values(subject, operator), negated=operator is Operator.NOT_IN)
        if operator in {Operator.MATCHES, Operator.NOT_MATCHES}:
            return Matches(subject, self._pattern(), negated=operator is Operator.NOT_MATCHES)
        return Comparison(subject, operator, self._value(subject, operator))

    def _subject(self) -> Subject:
        self._skip_space()
        start, word = self._at, self._word()
        end = start + len(word)
        kind, colon, name = word.partition(":")
        if colon and kind == "attribute":
            self._at = end
            try:
                return Attribute(name)
            except InvalidValueError as error:
                at = start + len("attribute:")
                raise self._error(error.problem, at=at, expected=error.allowed) from None
        known = next((each for each in Field if each.value == word), None)
        if known is None:
            raise self._error(f"expected a subject, found {self._found()}", expected=_SUBJECTS, fix=_subject_fix(word))
        self._at = end
        return known

    def _operator(self, subject: Subject) -> Operator:
        self._skip_space()
        start, allowed = self._at, operators_of(subject)
        operator = self._take_operator()
        if operator in allowed:
            return operator
        listed = ", ".join(each.value for each in Operator if each in allowed)
        if operator is not None:
            raise self._error(f"`{subject}` cannot be asked with `{operator}`", at=start, expected=listed)
        fix = "`==` compares" if self._peek() == "=" else None
        raise self._error(f"expected an operator, found {self._found()}", expected=listed, fix=fix)

    def _take_operator(self) -> Operator | None:
        for symbol in _SYMBOLS:
            if self._text.startswith(symbol.value, self._at):
                end = self._at + len(symbol.value)
                if symbol.value[-1].isalpha() and self._text[end : end + 1] in _SUBJECT_CHARACTERS:
                    continue
                self._at = end
                return symbol
        word = self._word()
        if word in _WORDS:
            self._at += len(word)
        return _WORDS.get(word)

    def _values(self, subject: Subject, operator: Operator) -> tuple[str, ...]:
        start = self._at
        if self._peek() != "[":
            example = _INSTANCES if subject is Field.EC2_INSTANCE_ID else "[g6.xlarge, g6.2xlarge]"
            raise self._error(f"expected a list, found {self._found()}", expected=f"a list such as {example}")
        values: list[str] = []
        while not values or self._peek() == ",":
            self._at += 1
            self._skip_space()
            values.append(self._value(subject, operator))
            self._skip_space()
        if self._peek() != "]":
            raise self._error(
                f"the list of column {start + 1} is not closed, found {self._found()}", expected="`,`, `]`"
            )
        self._at += 1
        return tuple(values)

    def _value(self, subject: Subject, operator: Operator) -> str:
        start = self._at
        value = self._quoted()
        if value is None:
            end = bare_value_end(self._text, start)
            value = self._text[start:end]
            if not value or value in CONNECTIVES:
                raise self._error(f"expected a value, found {self._found()}", expected=_A_VALUE)
            self._at = end
        problem = argument_problem(subject, operator, value)
        if problem is not None:
            raise self._error(problem, at=start)
        return value

    def _pattern(self) -> str:
        start = self._at
        pattern, offset = self._quoted(), start + 1
        if pattern is None:
            end, _ = bare_pattern_end(self._text, start)
            pattern, offset = self._text[start:end], start
            if not pattern or pattern in CONNECTIVES:
                raise self._error(
                    f"expected a regular expression, found {self._found()}", expected="a regular expression of Java"
                )
            self._at = end
        problem = text_problem(pattern)
        if problem is not None:
            raise self._error(problem, at=start)
        try:
            read_pattern(pattern)
        except MalformedPatternError as error:
            raise self._error(
                f"`{_shortened(pattern)}` is not a regular expression: {error.problem}",
                at=offset + error.position,
                expected="a regular expression of Java",
            ) from None
        return pattern

    def _quoted(self) -> str | None:
        quote, start = self._peek(), self._at
        if not quote or quote not in QUOTES:
            return None
        end = self._text.find(quote, start + 1)
        if end < 0:
            raise self._error("the quote is not closed", expected=f"a second {quote}")
        self._at = end + 1
        return self._text[start + 1 : end]

    def _take_not(self) -> bool:
        self._skip_space()
        end = self._at
        if self._peek() == "!":
            end += 1
        elif self._text.startswith("not", end) and self._text[end + 3 : end + 4] not in _SUBJECT_CHARACTERS:
            end += 3
        taken, self._at = end > self._at, end
        self._skip_space()
        return taken

    def _take_connective(self, wanted: str) -> bool:
        self._skip_space()
        symbol = self._text[self._at : self._at + 2]
        end = self._at + len(wanted)
        if {"&&": "and", "||": "or"}.get(symbol) == wanted:
            self._at += len(symbol)
            return True
        if self._text.startswith(wanted, self._at) and self._text[end : end + 1] not in _SUBJECT_CHARACTERS:
            self._at = end
            return True
        return False

    def _connective_fix(self) -> str | None:
        word = self._word()
        if word.lower() in CONNECTIVES:
            return f"write `{word.lower()}`"
        return "a value with spaces stands in quotes" if word else None

    def _found(self) -> str:
        if self._at == len(self._text):
            return "the end"
        word = self._word() or self._text[self._at]
        return f"`{_shortened(word)}`" if word.isprintable() else repr(word)

    def _word(self) -> str:
        end = self._at
        while end < len(self._text) and self._text[end] in _SUBJECT_CHARACTERS:
            end += 1
        return self._text[self._at : end]

    def _error(
        self, problem: str, *, at: int | None = None, expected: str | None = None, fix: str | None = None
    ) -> QuerySyntaxError:
        column = (self._at if at is None else at) + 1
        return QuerySyntaxError(problem, expression=self._text, column=column, expected=expected, fix=fix)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _subject_fix(word: str) -> str | None:
    if word.startswith("ecs."):
        return f"did you mean attribute:{word}?"
    near = get_close_matches(word[:_SHOWN], [each.value for each in Field], n=1)
    return f"did you mean {near[0]}?" if near else None


class QuerySyntaxError(GpuConstructsError):
    """A text is not an expression of the cluster query language.

    Args:
        column: Where, counted from 1; one past the end if something is missing there.
    """

    def __init__(
        self, problem: str, *, expression: str, column: int, expected: str | None = None, fix: str | None = None
    ) -> None:
        self.expression = expression
        self.column = column
        self.expected = expected
        super().__init__(f"column {column}: {problem}", value=expression, allowed=expected, fix=fix)

    @property
    def excerpt(self) -> str:
        """The part of the expression around the column, on one line."""
        start, end = max(0, self.column - 1 - _EXCERPT), self.column - 1 + _EXCERPT
        before, after = "..." if start else "", "..." if end < len(self.expression) else ""
        return f"{before}{''.join(each if each.isprintable() else ' ' for each in self.expression[start:end])}{after}"
