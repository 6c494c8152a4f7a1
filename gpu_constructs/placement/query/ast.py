"""An expression as a tree of frozen values; every tree that can be made can be printed and read back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.placement.query.pattern import MalformedPatternError, read_pattern
from gpu_constructs.placement.query.subjects import (
    MAX_NESTING,
    Attribute,
    Operator,
    Subject,
    argument_problem,
    operators_of,
    text_problem,
)
from gpu_constructs.values import dataclass

INSTANCE_TYPE = Attribute("ecs.instance-type")

_COMPARISONS = frozenset({Operator.EQUALS, Operator.NOT_EQUALS}) | {each for each in Operator if each.is_order}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A subject against one value: ``==``, ``!=``, ``>``, ``>=``, ``<``, ``<=``."""

    subject: Subject
    operator: Operator
    argument: str

    def __post_init__(self) -> None:
        if self.operator not in _COMPARISONS:
            raise InvalidValueError(f"`{self.operator}` compares with no value", value=self.operator)
        _require_operator(self.subject, self.operator)
        _require_argument(self.argument, argument_problem(self.subject, self.operator, self.argument))


@dataclass(frozen=True, slots=True)
class In:
    """Whether the subject is one of some values: ``in``, ``!in``.

    Args:
        subject: What is looked for.
        values: At least one, in the order in which they are written.
        negated: Whether it must be none of them.
    """

    subject: Subject
    values: tuple[str, ...]
    negated: bool = False

    def __post_init__(self) -> None:
        _require_operator(self.subject, self.operator)
        if not self.values:
            raise InvalidValueError(f"`{self.operator}` takes at least one value", value=self.values)
        for each in self.values:
            _require_argument(each, argument_problem(self.subject, self.operator, each))

    @property
    def operator(self) -> Operator:
        """The operator that is written."""
        return Operator.NOT_IN if self.negated else Operator.IN


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether the subject is there, with any value: ``exists``, ``!exists``."""

    subject: Subject
    negated: bool = False

    def __post_init__(self) -> None:
        _require_operator(self.subject, self.operator)

    @property
    def operator(self) -> Operator:
        """The operator that is written."""
        return Operator.NOT_EXISTS if self.negated else Operator.EXISTS


@dataclass(frozen=True, slots=True)
class Matches:
    """Whether a pattern matches the whole value of the subject: ``=~``, ``!~``.

    Attributes:
        read: The pattern for `matches_whole`, or a text that says why it is not judged.
    """

    subject: Subject
    pattern: str
    negated: bool = False
    read: re.Pattern[str] | str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_operator(self.subject, self.operator)
        _require_argument(self.pattern, text_problem(self.pattern))
        try:
            object.__setattr__(self, "read", read_pattern(self.pattern))
        except MalformedPatternError as error:
            problem = f"{self.pattern!r} is not a regular expression: {error.problem}"
            raise InvalidValueError(problem, value=self.pattern) from None

    @property
    def operator(self) -> Operator:
        """The operator that is written."""
        return Operator.NOT_MATCHES if self.negated else Operator.MATCHES


@dataclass(frozen=True, slots=True)
class _Joined:
    """Several terms; one of the same kind among them is taken apart, which changes nothing."""

    terms: tuple[Query, ...]
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind = type(self)
        flat = tuple(each for term in self.terms for each in (term.terms if isinstance(term, kind) else (term,)))
        if len(flat) < 2:  # noqa: PLR2004 # "both sides of"
            raise InvalidValueError(f"`{kind.__name__.lower()}` joins at least two expressions", value=flat)
        object.__setattr__(self, "terms", flat)
        object.__setattr__(self, "depth", _depth_above(flat))


class And(_Joined):
    """All of several terms."""

    __slots__ = ()


class Or(_Joined):
    """One of several terms at least."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Not:
    """The contrary of a term."""

    term: Query
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _depth_above((self.term,)))


Condition = Comparison | In | Exists | Matches
"""One question: what the documentation calls a single expression."""

Query = Condition | And | Or | Not
"""An expression."""


def conditions(query: Query) -> Iterator[Condition]:
    """Every single condition of an expression, in the order in which they are written."""
    if isinstance(query, And | Or):
        for term in query.terms:
            yield from conditions(term)
    elif isinstance(query, Not):
        yield from conditions(query.term)
    else:
        yield query


def instance_type_in(names: Iterable[str]) -> In:
    """True on hosts of exactly these instance types.

    A list names what is meant; the pattern ``g5.*`` would also match g5g, which is arm64.
    """
    return In(INSTANCE_TYPE, tuple(dict.fromkeys(names)))


def _require_operator(subject: Subject, operator: Operator) -> None:
    allowed = operators_of(subject)
    if operator not in allowed:
        raise InvalidValueError(
            f"`{subject}` cannot be asked with `{operator}`",
            value=operator,
            allowed=", ".join(each.value for each in Operator if each in allowed),
        )


def _require_argument(argument: str, problem: str | None) -> None:
    if problem is not None:
        raise InvalidValueError(problem, value=argument)


def _depth_above(terms: tuple[Query, ...]) -> int:
    depth = 1 + max(term.depth if isinstance(term, And | Or | Not) else 0 for term in terms)
    if depth > MAX_NESTING:
        raise InvalidValueError("expressions are nested too deep", allowed=f"at most {MAX_NESTING} deep")
    return depth
