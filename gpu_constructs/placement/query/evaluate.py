"""Whether a host satisfies an expression: yes, no, or not to be known.

What the documentation settles (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
and task-placement-constraints.html):

- ``attribute:stack != prod`` "lists the instances with the custom attribute stack unless the attribute value is prod":
  a host without an attribute satisfies no question about its value, negated or not. ``not (...)`` turns the answer
  around, so ``not (attribute:stack == prod)`` also holds on a host without the attribute.
- ``==`` is "string equality"; versions compare by their numbers (``agentVersion < 1.14.5``).

What it leaves open is answered only where every reading gives the same answer, else it is unknown with the reason, such
as the order of attribute values. When a host registers, and which tasks run on it, is unknown before the deploy. A
pattern has to match the whole value, see `subjects`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum, auto
from functools import lru_cache
from operator import ge, gt, le, lt
from types import MappingProxyType
from typing import Any, TypeAlias

from gpu_constructs.facts import Architecture, InstanceType
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.placement.query.ast import And, Comparison, Condition, Exists, In, Matches, Not, Or, Query, describe
from gpu_constructs.placement.query.subjects import Attribute, Field, Operator, count_of, matches_whole, version_of

BUILT_IN_ATTRIBUTES = frozenset(
    {
        "ecs.ami-id",
        "ecs.availability-zone",
        "ecs.cpu-architecture",
        "ecs.instance-type",
        "ecs.os-family",
        "ecs.os-type",
        "ecs.subnet-id",
        "ecs.vpc-id",
    }
)
"""Attributes that every container instance has, because ECS "automatically applies" them.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html#attributes
"""


ZONE, SUBNET = "ecs.availability-zone", "ecs.subnet-id"


@dataclass(frozen=True, slots=True)
class Beginning:
    """A value of which only the beginning is known, such as the region of a zone."""

    text: str

    def __str__(self) -> str:
        return f"{self.text}…"


AttributeValue: TypeAlias = str | Beginning | Unknown | None
"""A value that only exists at deploy time is unknown; an attribute without one, as of a capability, is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What an expression can ask about one container instance.

    Args:
        complete: Whether `attributes` lists everything the host has, so that what is missing does not exist. Where it
            does not, a missing one may exist; the built-in ones always do.
        absent: Attributes that it does not have, where others that are missing may exist.
    """

    attributes: Mapping[str, AttributeValue] = field(default_factory=dict, hash=False)
    complete: bool = True
    absent: frozenset[str] = frozenset()
    agent_connected: bool | Unknown = UNKNOWN
    agent_version: str | Unknown = UNKNOWN
    ec2_instance_id: str | Unknown = UNKNOWN
    running_tasks_count: int | Unknown = UNKNOWN

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))


def host_of(
    instance_type: InstanceType,
    *,
    attributes: Mapping[str, AttributeValue] | None = None,
    absent: frozenset[str] = frozenset(),
) -> Host:
    """A host of an instance type, as far as it is known before it runs.

    Its type and architecture are known; its AMI and what its agent registers are not, so every attribute that is not
    given may exist.
    """
    if attributes or absent:
        known = {**_known(instance_type.name, instance_type.architecture), **(attributes or {})}
        return Host(attributes=known, complete=False, absent=absent)
    return _bare(instance_type.name, instance_type.architecture)


# Every expression is asked about every type that there is, one after the other.
@lru_cache(maxsize=4096)
def _bare(name: str, architecture: Architecture) -> Host:
    return Host(attributes=_known(name, architecture), complete=False)


def _known(name: str, architecture: Architecture) -> dict[str, AttributeValue]:
    return {"ecs.instance-type": name, "ecs.cpu-architecture": str(architecture)}


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """An answer, and what keeps it from being known.

    Attributes:
        reasons: Why it cannot be known, in words; empty if it is known.
    """

    holds: bool | Unknown
    reasons: tuple[str, ...] = ()


class _Missing(Enum):
    ATTRIBUTE = auto()
    VALUE = auto()
    KNOWLEDGE = auto()


_TRUE, _FALSE = QueryAnswer(holds=True), QueryAnswer(holds=False)
_ORDERS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.GREATER_THAN: gt,
    Operator.GREATER_THAN_EQUAL: ge,
    Operator.LESS_THAN: lt,
    Operator.LESS_THAN_EQUAL: le,
}


def evaluate(query: Query, host: Host) -> bool | Unknown:
    """Whether a host satisfies an expression; `UNKNOWN` where that cannot be known, by Kleene's logic."""
    return judge(query, host).holds


def judge(query: Query, host: Host) -> QueryAnswer:
    """Whether a host satisfies an expression, with the reasons if it cannot be known."""
    if isinstance(query, And):
        return _joined((judge(term, host) for term in query.terms), decisive=_FALSE)
    if isinstance(query, Or):
        return _joined((judge(term, host) for term in query.terms), decisive=_TRUE)
    if isinstance(query, Not):
        return _contrary(judge(query.term, host))
    if query.subject is Field.TASK_GROUP:
        return _unknown("the tasks on the host are unknown at synth")
    return _of_one(query, host)


def _of_one(condition: Condition, host: Host) -> QueryAnswer:
    """A question about a subject that has one value at most."""
    subject = condition.subject
    value = _attribute(subject.name, host) if isinstance(subject, Attribute) else _field(subject, host)
    if value is _Missing.KNOWLEDGE:
        return _unknown(f"`{subject}` may be set on the host")
    if isinstance(condition, Exists):
        return _bool((value is not _Missing.ATTRIBUTE) is not condition.negated)
    if isinstance(value, Unknown):
        return _unknown(f"`{subject}` is {value}")
    if not isinstance(value, _Missing):
        return _of_value(condition, value)
    if value is _Missing.VALUE and _is_negative(condition):
        return _unknown(f"`{subject}` has no value, `{describe(condition)}` is not documented for that")
    return _FALSE


def _of_beginning(condition: Condition, value: Beginning) -> QueryAnswer:
    """A question about a value of which the beginning is known: it is none of those that begin otherwise."""
    named = condition.values if isinstance(condition, In) else ()
    if isinstance(condition, Comparison) and not condition.operator.is_order:
        named = (condition.argument,)
    if named and not any(each.startswith(value.text) for each in named):
        return _bool(_is_negative(condition))
    return _unknown(f"`{condition.subject}` is {value}, and only the deploy says which")


def _attribute(name: str, host: Host) -> str | Beginning | Unknown | _Missing:
    if name in host.attributes:
        value = host.attributes[name]
        return _Missing.VALUE if value is None else value
    if host.complete or name in host.absent:
        return _Missing.ATTRIBUTE
    return UNKNOWN if name in BUILT_IN_ATTRIBUTES else _Missing.KNOWLEDGE


def _field(subject: Field, host: Host) -> str | int | Unknown:
    if subject is Field.AGENT_CONNECTED:
        connected = host.agent_connected
        return connected if isinstance(connected, Unknown) else str(connected).lower()
    return {
        Field.AGENT_VERSION: host.agent_version,
        Field.EC2_INSTANCE_ID: host.ec2_instance_id,
        Field.RUNNING_TASKS_COUNT: host.running_tasks_count,
    }.get(subject, UNKNOWN)


def _of_value(condition: Condition, value: str | int | Beginning) -> QueryAnswer:
    """A question about a value that is known, or of which the beginning is."""
    if isinstance(value, Beginning):
        return _of_beginning(condition, value)
    if isinstance(condition, Comparison):
        if condition.operator.is_order:
            return _ordered(condition, value)
        equal = _equal(condition, value, condition.argument)
        return _contrary(equal) if condition.operator is Operator.NOT_EQUALS else equal
    if isinstance(condition, In):
        found = _joined((_equal(condition, value, each) for each in condition.values), decisive=_TRUE)
        return _contrary(found) if condition.negated else found
    if isinstance(condition, Matches):
        return _matched(condition, str(value))
    return _unknown(f"`{describe(condition)}` is documented for attributes only")


def _matched(condition: Matches, value: str) -> QueryAnswer:
    if isinstance(condition.read, str):
        return _unknown(condition.read)
    matched = matches_whole(condition.read, value)
    if matched is None:
        return _unknown(f"`{condition.subject}` has a value that ECS gives no attribute")
    return _bool(matched is not condition.negated)


def _equal(condition: Condition, value: str | int, argument: str) -> QueryAnswer:
    if isinstance(value, int):
        return _bool(value == count_of(argument))
    # DescribeContainerInstances gives agentConnected as a boolean; no page prints another spelling of it.
    if condition.subject is Field.AGENT_CONNECTED and argument not in {"true", "false"}:
        return _unknown(f"`agentConnected` is true or false, what ECS makes of `{argument}` is not documented")
    return _bool(value == argument)


def _ordered(condition: Comparison, value: str | int) -> QueryAnswer:
    order = _ORDERS[condition.operator]
    if isinstance(value, int):
        return _bool(order(value, count_of(condition.argument)))
    if condition.subject is not Field.AGENT_VERSION:
        return _unknown(f"no order of attribute values is documented, `{describe(condition)}` has no known answer")
    version, wanted = version_of(value), version_of(condition.argument)
    if version is None or wanted is None:
        return _unknown(f"the agent's version `{value}` is not made of numbers")
    zeros = (0,) * abs(len(version) - len(wanted))
    padded = (version + zeros)[: max(len(version), len(wanted))], (wanted + zeros)[: max(len(version), len(wanted))]
    if (answer := order(version, wanted)) == order(*padded):
        return _bool(answer)
    return _unknown(f"it is not documented whether `{value}` and `{condition.argument}` are the same version")


def _is_negative(condition: Condition) -> bool:
    if isinstance(condition, Comparison):
        return condition.operator is Operator.NOT_EQUALS
    return condition.negated


def _bool(answer: bool) -> QueryAnswer:  # noqa: FBT001 # a verdict of it
    return _TRUE if answer else _FALSE


def _unknown(reason: str) -> QueryAnswer:
    return QueryAnswer(UNKNOWN, (reason,))


def _contrary(verdict: QueryAnswer) -> QueryAnswer:
    if isinstance(verdict.holds, Unknown):
        return verdict
    return _bool(not verdict.holds)


def _joined(verdicts: Iterable[QueryAnswer], *, decisive: QueryAnswer) -> QueryAnswer:
    """One answer that decides is enough: no among all of them, yes where one has to hold."""
    reasons: list[str] = []
    for verdict in verdicts:
        if verdict.holds is decisive.holds:
            return decisive
        reasons.extend(verdict.reasons)
    return QueryAnswer(UNKNOWN, tuple(dict.fromkeys(reasons))) if reasons else _contrary(decisive)
