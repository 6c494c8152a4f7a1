"""Placement expressions as rules look at them: each is read once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.facts.aws_limits import MAX_EXPRESSION_LENGTH
from gpu_constructs.facts.catalogue import recorded_type
from gpu_constructs.fleet import PlacementConstraint, Task, Workload
from gpu_constructs.placement.query.ast import INSTANCE_TYPE, And, Comparison, Condition, In, Or, Query, conditions
from gpu_constructs.placement.query.evaluate import evaluate, host_of
from gpu_constructs.placement.query.parser import QuerySyntaxError, parse
from gpu_constructs.placement.query.subjects import Attribute, Operator
from gpu_constructs.rules.finding import or_list
from gpu_constructs.rules.rule import Context

_MOST_QUESTIONS = 20_000
"""Instance types times conditions of an expression that is tried on each of them."""


def constrained(context: Context) -> Iterator[Task | Workload]:
    """Every task and workload that has placement constraints."""
    things: tuple[Task | Workload, ...] = (*context.tasks, *context.fleet.workloads)
    return (each for each in things if each.constraints)


def inherited(about: Task | Workload) -> tuple[PlacementConstraint, ...]:
    """The constraints that hold for the tasks of a workload besides its own: those of its task."""
    return about.task.constraints if isinstance(about, Workload) and about.task is not None else ()


def readable(constraints: tuple[PlacementConstraint, ...]) -> tuple[str, ...]:
    """The expressions that are known and can be read."""
    return tuple(
        each.expression
        for each in constraints
        if isinstance(each.expression, str) and each.type != "distinctInstance" and _read(each.expression) is not None
    )


@lru_cache(maxsize=4096)
def syntax_problem(expression: str) -> tuple[str, str, str] | None:
    """What is wrong with an expression: the problem, the piece of the text around it, and what to write; None if fine.

    Nothing is said of one that is longer than ECS takes.
    """
    if len(expression) > MAX_EXPRESSION_LENGTH:
        return None
    try:
        parse(expression)
    except QuerySyntaxError as error:
        return (
            error.problem,
            error.excerpt.strip(),
            error.fix or (f"allowed: {error.expected}" if error.expected else ""),
        )
    return None


@lru_cache(maxsize=4096)
def joined(expressions: tuple[str, ...]) -> Query | None:
    """All of several expressions; None if there are none, or if they are too deep to be joined."""
    queries = [each for each in map(_read, dict.fromkeys(expressions)) if each is not None]
    if len(queries) < 2:  # noqa: PLR2004 - one stands for itself
        return queries[0] if queries else None
    try:
        return And(tuple(queries))
    except GpuConstructsError:
        return None


@lru_cache(maxsize=4096)
def contradiction(expressions: tuple[str, ...]) -> str | None:
    """Why none of the instance types that expressions list satisfies them; None where one does, or they list none.

    A type that is newer than the catalogue could satisfy anything but a list of names.
    """
    query = joined(expressions)
    if query is None or (named := _named_types(query)) is None:
        return None
    types = [recorded_type(each) for each in sorted(named)]
    if len(named) * sum(1 for _ in conditions(query)) > _MOST_QUESTIONS:
        return None
    if any(each is None or evaluate(query, host_of(each)) is not False for each in types):
        return None
    return f"they only allow {or_list(sorted(named))}, and no such host satisfies the rest of them"


@lru_cache(maxsize=4096)
def required_attributes(expression: str) -> tuple[str, ...]:
    """The attributes that an expression requires of every host, by name."""
    query = joined((expression,))
    terms = query.terms if isinstance(query, And) else (query,)
    wanted = [each.subject for each in terms if isinstance(each, Condition) and not _excludes(each)]
    return tuple([each.name for each in wanted if isinstance(each, Attribute)])


def _read(expression: str) -> Query | None:
    try:
        return parse(expression)
    except QuerySyntaxError:
        return None


def _named_types(query: Query) -> frozenset[str] | None:
    """The only instance types that can satisfy an expression; None if it does not list any."""
    if isinstance(query, And):
        lists = [each for each in map(_named_types, query.terms) if each is not None]
        return min(lists, key=len) if lists else None
    if isinstance(query, Or):
        known = [each for each in map(_named_types, query.terms) if each is not None]
        return frozenset().union(*known) if len(known) == len(query.terms) else None
    if isinstance(query, Comparison) and query.subject == INSTANCE_TYPE and query.operator is Operator.EQUALS:
        return frozenset({query.argument})
    if isinstance(query, In) and query.subject == INSTANCE_TYPE and not query.negated:
        return frozenset(query.values)
    return None


def _excludes(condition: Condition) -> bool:
    if isinstance(condition, Comparison):
        return condition.operator is not Operator.EQUALS
    return condition.negated
