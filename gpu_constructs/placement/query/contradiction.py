"""Expressions that hold on no host whatever."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.placement.query.ast import And, Comparison, Condition, In, Not, Or, Query, conditions, describe
from gpu_constructs.placement.query.evaluate import Host, evaluate
from gpu_constructs.placement.query.subjects import Attribute, Field, Operator, Subject, count_of
from gpu_constructs.values import dataclass

_MOST_CONDITIONS = 400
"""Conditions of an expression that is looked at: each may be held against all others."""


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
    patterns are not compared with each other, and neither are ``<`` and ``>``.
    """
    if sum(1 for _ in conditions(query)) > _MOST_CONDITIONS:
        return None
    parts = _contradiction(query, (), holds=True)
    return None if parts is None else Contradiction(parts)


@dataclass(frozen=True, slots=True)
class _Literal:
    """A condition that must hold, or must not."""

    condition: Condition
    holds: bool

    @property
    def query(self) -> Query:
        return self.condition if self.holds else Not(self.condition)

    @property
    def named(self) -> tuple[str, ...]:
        """The only values that the subject can have, if it names them."""
        condition = self.condition
        if isinstance(condition, In) and condition.negated is not self.holds:
            return condition.values
        equal = Operator.EQUALS if self.holds else Operator.NOT_EQUALS
        return (condition.argument,) if isinstance(condition, Comparison) and condition.operator is equal else ()


def _contradiction(query: Query, known: tuple[_Literal, ...], *, holds: bool) -> tuple[Query, ...] | None:
    parts = list(_parts(query, holds=holds))
    literals = tuple(dict.fromkeys((*known, *(each for each in parts if isinstance(each, _Literal)))))
    found = _clash(literals)
    for part in parts:
        if found is None and not isinstance(part, _Literal):
            each_has = [_contradiction(term, literals, holds=part[1]) for term in part[0]]
            if all(each is not None for each in each_has):
                found = tuple(dict.fromkeys(part for each in each_has if each is not None for part in each))
    return found


def _parts(query: Query, *, holds: bool) -> Iterator[_Literal | tuple[tuple[Query, ...], bool]]:
    """What must hold together: single literals, and alternatives of which one must."""
    if isinstance(query, Not):
        yield from _parts(query.term, holds=not holds)
    elif not isinstance(query, And | Or):
        yield _Literal(query, holds)
    elif isinstance(query, And) is holds:
        for term in query.terms:
            yield from _parts(term, holds=holds)
    else:
        yield query.terms, holds


def _clash(literals: tuple[_Literal, ...]) -> tuple[Query, ...] | None:
    by_subject: dict[Subject, list[_Literal]] = {}
    for literal in literals:
        by_subject.setdefault(literal.condition.subject, []).append(literal)
    for subject, group in by_subject.items():
        blamed = _blamed(subject, group)
        if blamed:
            return tuple(each.query for each in group if each in blamed)
    return None


def _blamed(subject: Subject, literals: list[_Literal]) -> set[_Literal]:
    """Literals that cannot hold together, whatever value the subject has, or with none."""
    wanted = {each.condition for each in literals if each.holds}
    for each in literals:
        if not each.holds and each.condition in wanted:
            return {each, _Literal(each.condition, holds=True)}
    if subject is Field.TASK_GROUP:
        return set()  # a host has any number of groups
    by_name = sorted(literals, key=lambda each: not each.named)
    hosts = [_host_with(subject, each) for each in by_name[0].named] or [_host_with(subject, None)]
    if isinstance(subject, Attribute):
        hosts += [Host(), Host(attributes={subject.name: None})]
    blamed = {each for each in by_name[:1] if each.named}
    for each in by_name:
        left = [host for host in hosts if evaluate(each.query, host) is not False]
        if len(left) < len(hosts):
            blamed.add(each)
        if not left:
            return blamed
        hosts = left
    return set()


@lru_cache(maxsize=1024)
def _host_with(subject: Subject, value: str | None) -> Host:
    """A host with this value of a subject, or with any where that says nothing about it."""
    if isinstance(subject, Attribute):
        return Host(attributes={subject.name: UNKNOWN if value is None else value})
    host = Host()  # a date can stand for several instants, and `agentConnected` can be asked for any text
    if value is None:
        return host
    if subject is Field.RUNNING_TASKS_COUNT:
        host = Host(running_tasks_count=count_of(value) or 0)
    elif subject is Field.EC2_INSTANCE_ID:
        host = Host(ec2_instance_id=value)
    elif subject is Field.AGENT_VERSION:
        host = Host(agent_version=value)
    elif subject is Field.AGENT_CONNECTED and value in {"true", "false"}:
        host = Host(agent_connected=value == "true")
    return host
