"""An expression as a tree of frozen values, and as text; every tree that was read can be printed and read back.

An argument stands bare where it can. Quotes are documented in one example alone, ``ec2InstanceId in ['i-abcd1234',
'i-wxyx7890']`` (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html), so they are
printed only where a bare word would end too early. The reader and the printer share where a word ends, so that the two
cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.aws_limits import MAX_EXPRESSION_LENGTH, MAX_PLACEMENT_CONSTRAINTS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.placement.query.subjects import MAX_NESTING, Attribute, Operator, Subject, read_pattern

INSTANCE_TYPE = Attribute("ecs.instance-type")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A subject against one value: ``==``, ``!=``, ``>``, ``>=``, ``<``, ``<=``."""

    subject: Subject
    operator: Operator
    argument: str


@dataclass(frozen=True, slots=True)
class In:
    """Whether the subject is one of some values: ``in``, ``!in``.

    Args:
        values: At least one, in the order in which they are written.
    """

    subject: Subject
    values: tuple[str, ...]
    negated: bool = False

    @property
    def operator(self) -> Operator:
        """The operator that is written."""
        return Operator.NOT_IN if self.negated else Operator.IN


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether the subject is there, with any value: ``exists``, ``!exists``."""

    subject: Subject
    negated: bool = False

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
        object.__setattr__(self, "read", read_pattern(self.pattern))

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


def _depth_above(terms: tuple[Query, ...]) -> int:
    depth = 1 + max(term.depth if isinstance(term, And | Or | Not) else 0 for term in terms)
    if depth > MAX_NESTING:
        raise InvalidValueError("expressions are nested too deep", allowed=f"at most {MAX_NESTING} deep")
    return depth


CONNECTIVES = frozenset({"and", "or", "not"})
QUOTES = "'\""
_DELIMITERS = frozenset("()[]," + QUOTES)
# What an operator is made of: a word that begins so is far more likely a mistyped operator.
_OPERATOR_CHARACTERS = frozenset("=!<>~&|")
# An escape, a class or any other character; `]` stands for itself where a class begins.
_PATTERN_PART = r"""(?x)
    \\[^\s'"]
    | \[ (?:\^|(?!\^)) (?:\]|\\[^\s'"]|[^\]\\\s'"]) (?:\\[^\s'"]|[^\]\\\s'"])* \]
    | [^\s'"\\\[]
    """
_UNCLOSED = r"[\\\[][^\s'\"]*"


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
    while (part := re.compile(_PATTERN_PART).match(text, at)) and part.group().isprintable():
        if groups == 0 and (part.group() == ")" or text[at : at + 2] in {"&&", "||"}):
            break
        groups += {"(": 1, ")": -1}.get(part.group(), 0)
        at = part.end()
    rest = re.compile(_UNCLOSED).match(text, at)
    return (rest.end(), False) if rest else (at, groups == 0)


def _goes_on(text: str, at: int) -> bool:
    each = text[at]
    return each.isprintable() and not each.isspace() and text[at : at + 2] not in {"&&", "||"}


def _argument(text: str, *, is_bare: bool) -> str:
    """A value or a pattern as an argument: bare where it can be, else quoted."""
    quote = '"' if "'" in text else "'"
    return text if is_bare and text not in CONNECTIVES else f"{quote}{text}{quote}"


def _value(value: str) -> str:
    return _argument(value, is_bare=bare_value_end(value, 0) == len(value))


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
        return f"{start} {_value(condition.argument)}"
    if isinstance(condition, In):
        return f"{start} [{', '.join(map(_value, condition.values))}]"
    pattern = condition.pattern
    return f"{start} {_argument(pattern, is_bare=bare_pattern_end(pattern, 0) == (len(pattern), True))}"
