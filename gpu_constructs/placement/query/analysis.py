"""What an expression means for many hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.query.ast import And, Condition, Matches, Not, Or, Query
from gpu_constructs.placement.query.evaluate import evaluate
from gpu_constructs.placement.query.hosts import Host, host_of
from gpu_constructs.placement.query.subjects import Attribute

__all__ = [
    "Matching",
    "conditions",
    "families_matched",
    "instance_type_patterns",
    "matching",
    "satisfiable",
]

_INSTANCE_TYPE = Attribute("ecs.instance-type")


@dataclass(frozen=True, slots=True)
class Matching:
    """Which of some hosts satisfy an expression.

    Attributes:
        certain: Those that do.
        possible: Those of which it cannot be known.
    """

    certain: tuple[Host, ...]
    possible: tuple[Host, ...]


def matching(query: Query, hosts: Iterable[Host]) -> Matching:
    """The hosts that satisfy an expression.

    Args:
        query: The expression.
        hosts: What there is.
    """
    answers = [(host, evaluate(query, host)) for host in hosts]
    return Matching(
        certain=tuple(host for host, holds in answers if holds is True),
        possible=tuple(host for host, holds in answers if isinstance(holds, Unknown)),
    )


def satisfiable(query: Query, hosts: Iterable[Host]) -> bool | Unknown:
    """Whether any of some hosts satisfies an expression.

    Args:
        query: The expression.
        hosts: What there is.
    """
    found = matching(query, hosts)
    if found.certain:
        return True
    return UNKNOWN if found.possible else False


def families_matched(query: Query, instance_types: Iterable[InstanceType]) -> Mapping[str, tuple[str, ...]]:
    """The families whose hosts an expression accepts or may accept, each with the types.

    With the pattern alone (see `instance_type_patterns`) it says what ``=~ g5.*`` matches beside g5: g5g, whose hosts
    are arm64.

    Args:
        query: The expression, or one condition of it.
        instance_types: What is looked at; the order is kept.
    """
    found: dict[str, list[str]] = {}
    for each in instance_types:
        if evaluate(query, host_of(each)) is not False:
            found.setdefault(each.family, []).append(each.name)
    return {family: tuple(names) for family, names in found.items()}


def instance_type_patterns(query: Query) -> tuple[Matches, ...]:
    """The patterns that an expression tries on the instance type, in the order in which they are written.

    Args:
        query: The expression.
    """
    return tuple(each for each in conditions(query) if isinstance(each, Matches) and each.subject == _INSTANCE_TYPE)


def conditions(query: Query) -> Iterator[Condition]:
    """Every single condition of an expression, in the order in which they are written.

    Args:
        query: The expression.
    """
    if isinstance(query, And | Or):
        for term in query.terms:
            yield from conditions(term)
    elif isinstance(query, Not):
        yield from conditions(query.term)
    else:
        yield query
