"""Expressions that hold on no host whatever."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from gpu_constructs.placement.query.arguments import count_of, moment_of, version_of
from gpu_constructs.placement.query.ast import And, Comparison, Condition, Exists, In, Matches, Not, Or, Query
from gpu_constructs.placement.query.evaluate import evaluate
from gpu_constructs.placement.query.hosts import Host
from gpu_constructs.placement.query.printer import describe
from gpu_constructs.placement.query.subjects import Attribute, Field, Operator, Subject

__all__ = ["Contradiction", "contradicts"]

_Key = TypeVar("_Key", int, tuple[int, ...], dt.datetime)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Parts of an expression that no host satisfies together.

    Attributes:
        parts: The parts, one or more, in the order in which they are written.
    """

    parts: tuple[Query, ...]

    def __str__(self) -> str:
        return " and ".join(f"`{describe(part)}`" for part in self.parts)


def contradicts(query: Query) -> Contradiction | None:
    """The parts of an expression that no host whatever satisfies together; None if none are found.

    What it finds is certain. It does not find everything: alternatives are tried one by one and not in combination,
    and two different patterns are never compared with each other.

    Args:
        query: The expression.
    """
    return _contradiction(query, ())


@dataclass(frozen=True, slots=True)
class _Literal:
    """A condition that must hold, or must not."""

    condition: Condition
    holds: bool

    @property
    def query(self) -> Query:
        return self.condition if self.holds else Not(self.condition)


@dataclass(slots=True)
class _Parts:
    """What must hold together: single literals, and choices of which one must."""

    literals: list[_Literal] = field(default_factory=list)
    choices: list[tuple[tuple[Query, ...], bool]] = field(default_factory=list)

    def add(self, query: Query, *, holds: bool) -> None:
        if isinstance(query, Not):
            self.add(query.term, holds=not holds)
        elif not isinstance(query, And | Or):
            self.literals.append(_Literal(query, holds))
        elif isinstance(query, And) is holds:
            for term in query.terms:
                self.add(term, holds=holds)
        else:
            self.choices.append((query.terms, holds))


def _contradiction(query: Query, known: tuple[_Literal, ...], *, holds: bool = True) -> Contradiction | None:
    parts = _Parts()
    parts.add(query, holds=holds)
    literals = tuple(dict.fromkeys((*known, *parts.literals)))
    found = _conflict(literals)
    for terms, wanted in parts.choices:
        if found is not None:
            break
        found = _no_choice(terms, literals, holds=wanted)
    return found


def _no_choice(terms: tuple[Query, ...], known: tuple[_Literal, ...], *, holds: bool) -> Contradiction | None:
    """The contradiction of all of some alternatives, if each has one."""
    parts: dict[Query, None] = {}
    for term in terms:
        found = _contradiction(term, known, holds=holds)
        if found is None:
            return None
        parts.update(dict.fromkeys(found.parts))
    return Contradiction(tuple(parts))


def _conflict(literals: tuple[_Literal, ...]) -> Contradiction | None:
    by_subject: dict[Subject, list[_Literal]] = {}
    for literal in literals:
        by_subject.setdefault(literal.condition.subject, []).append(literal)
    for subject, group in by_subject.items():
        if _cannot_hold(subject, group):
            return Contradiction(tuple(each.query for each in _fewest(subject, group)))
    return None


def _fewest(subject: Subject, literals: list[_Literal]) -> list[_Literal]:
    """Literals that cannot hold together, none of which can be left out."""
    for each in literals:
        fewer = [other for other in literals if other is not each]
        if fewer and _cannot_hold(subject, fewer):
            return _fewest(subject, fewer)
    return literals


def _cannot_hold(subject: Subject, literals: list[_Literal]) -> bool:
    """Whether no value of the subject, nor its absence, satisfies all literals."""
    wanted = {each.condition for each in literals if each.holds}
    if any(each.condition in wanted for each in literals if not each.holds):
        return True
    if subject is Field.TASK_GROUP:
        return False  # a host has any number of groups
    if isinstance(subject, Attribute):
        bare = Host(attributes={subject.name: None})
        if _possible(literals, Host()) or _possible(literals, bare):
            return False
    # From here on the subject has a value.
    named = _named_values(literals)
    if named is not None:
        return not any(_possible(literals, _host_with(subject, each)) for each in named)
    return _needs_absence(literals) or _opposite_patterns(literals) or _empty_interval(subject, literals)


def _possible(literals: Iterable[_Literal], host: Host) -> bool:
    return all(evaluate(each.query, host) is not False for each in literals)


def _named_values(literals: Iterable[_Literal]) -> tuple[str, ...] | None:
    """The only values that the subject can have, if a literal names them."""
    for each in literals:
        condition = each.condition
        if isinstance(condition, In) and condition.negated is not each.holds:
            return condition.values
        if isinstance(condition, Comparison):
            asked = Operator.EQUALS if each.holds else Operator.NOT_EQUALS
            if condition.operator is asked:
                return (condition.argument,)
    return None


def _host_with(subject: Subject, value: str) -> Host:
    if isinstance(subject, Attribute):
        return Host(attributes={subject.name: value})
    if subject is Field.RUNNING_TASKS_COUNT:
        count = count_of(value)
        return Host() if count is None else Host(running_tasks_count=count)
    if subject is Field.EC2_INSTANCE_ID:
        return Host(ec2_instance_id=value)
    if subject is Field.AGENT_VERSION:
        return Host(agent_version=value)
    if subject is Field.AGENT_CONNECTED and value in {"true", "false"}:
        return Host(agent_connected=value == "true")
    # A date can stand for several instants; with nothing known of the host, nothing is certain.
    return Host()


def _needs_absence(literals: Iterable[_Literal]) -> bool:
    return any(isinstance(each.condition, Exists) and each.condition.negated is each.holds for each in literals)


def _opposite_patterns(literals: Iterable[_Literal]) -> bool:
    """Whether one pattern must match and must not."""
    signs = {
        (each.condition.pattern, each.condition.negated is each.holds)
        for each in literals
        if isinstance(each.condition, Matches)
    }
    return any((pattern, not negative) in signs for pattern, negative in signs)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A literal that sets a bound: more than something, or less."""

    operator: Operator
    argument: str

    @property
    def is_low(self) -> bool:
        return self.operator in {Operator.GREATER_THAN, Operator.GREATER_THAN_EQUAL}

    @property
    def is_strict(self) -> bool:
        return self.operator in {Operator.GREATER_THAN, Operator.LESS_THAN}


_CONTRARY = {
    Operator.GREATER_THAN: Operator.LESS_THAN_EQUAL,
    Operator.GREATER_THAN_EQUAL: Operator.LESS_THAN,
    Operator.LESS_THAN: Operator.GREATER_THAN_EQUAL,
    Operator.LESS_THAN_EQUAL: Operator.GREATER_THAN,
}


def _empty_interval(subject: Subject, literals: Iterable[_Literal]) -> bool:
    """Whether the bounds that the literals set leave nothing between them."""
    bounds = list(_bounds(literals))
    if subject is Field.RUNNING_TASKS_COUNT:
        # No host runs fewer than no tasks; between two whole numbers nothing is left by `> 1 and < 2` either.
        lows = [0, *(_count(each) + each.is_strict for each in bounds if each.is_low)]
        highs = [_count(each) - each.is_strict for each in bounds if not each.is_low]
        return bool(highs) and max(lows) > min(highs)
    if subject is Field.AGENT_VERSION:
        return _is_empty(bounds, _version, _version)
    if subject is Field.REGISTERED_AT:
        return _is_empty(bounds, _earliest, _latest)
    return False


def _bounds(literals: Iterable[_Literal]) -> Iterator[_Bound]:
    for each in literals:
        if isinstance(each.condition, Comparison) and each.condition.operator.is_order:
            operator = each.condition.operator
            yield _Bound(operator if each.holds else _CONTRARY[operator], each.condition.argument)


def _is_empty(bounds: list[_Bound], low_of: Callable[[_Bound], _Key], high_of: Callable[[_Bound], _Key]) -> bool:
    for low in (each for each in bounds if each.is_low):
        for high in (each for each in bounds if not each.is_low):
            least, most = low_of(low), high_of(high)
            if least > most:
                return True
            # Two spellings of one version, 1.14 and 1.14.0, may be two versions.
            if low.argument == high.argument and least == most and (low.is_strict or high.is_strict):
                return True
    return False


def _count(bound: _Bound) -> int:
    return count_of(bound.argument) or 0


def _version(bound: _Bound) -> tuple[int, ...]:
    version = version_of(bound.argument) or ()
    while version and version[-1] == 0:
        version = version[:-1]
    return version


def _earliest(bound: _Bound) -> dt.datetime:
    moment = moment_of(bound.argument)
    return moment.earliest if moment else dt.datetime.min.replace(tzinfo=dt.timezone.utc)


def _latest(bound: _Bound) -> dt.datetime:
    moment = moment_of(bound.argument)
    return moment.latest if moment else dt.datetime.max.replace(tzinfo=dt.timezone.utc)
