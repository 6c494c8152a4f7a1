"""Instance types and attributes in placement expressions: whether they exist and match what they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, partial
from itertools import chain, islice

from gpu_constructs.errors import shown
from gpu_constructs.facts import RECORDED, Architecture, InstanceType, accelerated, families, general, may_exist
from gpu_constructs.facts.aws_limits import MAX_EXPRESSION_LENGTH
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.catalogue import declared_types, how_to_declare, recorded_names, recorded_type
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, Fleet, Pool, Task, Unknown, Workload
from gpu_constructs.placement.query.ast import (
    INSTANCE_TYPE,
    Comparison,
    Condition,
    In,
    Matches,
    conditions,
    describe,
    instance_type_in,
)
from gpu_constructs.placement.query.evaluate import BUILT_IN_ATTRIBUTES, evaluate, host_of
from gpu_constructs.placement.query.subjects import Attribute
from gpu_constructs.placement.reach import pools_of
from gpu_constructs.rules.evidence.expressions import constrained, inherited, joined, readable, required_attributes
from gpu_constructs.rules.expressions.constraints import unset_attributes
from gpu_constructs.rules.finding import Way, Ways, and_list, either, or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

# Attributes of that page which only some hosts have; `ecs.capability.` is a family of them.
_OPTIONAL = frozenset({"ecs.awsvpc-trunk-id", "ecs.outpost-arn"})
# The agent registers the version of the driver alone: agent/app/agent_capability.go of github.com/aws/amazon-ecs-agent,
# 2026-11.
_OF_GPUS = r"ecs\.capability\.(?!(?:gpu|nvidia)-driver-version)[\w.-]*(?:cuda|gpu|nvidia)"
_VALUES: Mapping[str, tuple[str, ...]] = {
    "ecs.cpu-architecture": ("x86_64", "arm64"),
    "ecs.os-type": ("linux", "windows"),
}
_ASKED = "no constraint: a task that asks for GPUs is placed on hosts that have them"
_FAMILY = r"[a-z]+[0-9]+[a-z]*(?:-[a-z]+[0-9]+)?"
_NEAR = 0.6
_MOST_DOUBTS = 5
"""Doubts about one expression that are reported at once."""


@error(
    "GPU042",
    question="does something have the instance types and attributes of placement expressions?",
    because="no host has such a name, so the condition is true on no host or excludes none",
    softer="for all but a misspelt built-in attribute, which every host would have: a type may be newer than the "
    "catalogue, and a call of PutAttributes may give a host a custom attribute",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html",
    changes="PlacementConstraints.Expression",
)
def names_exist(context: Context) -> Problems:
    found = tuple(_unknown_names(context))
    yield from found
    misspelt = frozenset().union(*(each.subjects for each in found))
    yield from (each for each in unset_attributes(context) if each.subjects.isdisjoint(misspelt))


def _unknown_names(context: Context) -> Problems:
    named = frozenset(_newer_types(context.fleet))
    set_by_user = [pool.user_data.get(INSTANCE_ATTRIBUTES) or "" for pool in context.fleet.pools]
    for about in constrained(context):
        doubts = dict.fromkeys(each for text in readable(about.constraints) for each in _doubts(text, named))
        slips = {_no_attribute(each) for text in readable(about.constraints) for each in _slips(text)}
        for doubt in doubts:
            custom = doubt.custom
            if not (custom and any(isinstance(each, Unknown) or f'"{custom}"' in each for each in set_by_user)):
                yield Problem(
                    about=about,
                    message=f"in a placement expression of {about.name}, {doubt.message}",
                    fix=doubt.fix,
                    ways=partial(_instead, about, doubt),
                    is_certain=doubt.message in slips,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Doubt:
    """A name in an expression that does not exist.

    Attributes:
        wrong: The name, as written.
        fix: What to write where none of these is right.
        custom: The custom attribute that it may be; empty where it is something else.
        newer: What to write where it is an instance type that is newer than the catalogue; empty where it cannot be.
    """

    message: str
    wrong: str
    instead: tuple[str, ...] = ()
    fix: str = ""
    custom: str = ""
    newer: str = ""


def _instead(about: Task | Workload, doubt: _Doubt) -> Ways:
    """Each name that may be meant, in the place of the wrong one."""
    meant = either(*((each, _with(about, doubt.wrong, each)) for each in doubt.instead))
    return (*meant, (Way(text=doubt.newer),)) if doubt.newer else meant


def _with(about: Task | Workload, wrong: str, right: str) -> Task | Workload:
    name = re.compile(rf"(?<![\w.-]){re.escape(wrong)}(?![\w.-])")
    constraints = tuple(
        replace(each, expression=name.sub(right, each.expression)) if isinstance(each.expression, str) else each
        for each in about.constraints
    )
    return replace(about, constraints=constraints)


@warning(
    "GPU043",
    question="do patterns on the instance type match only the families that they name?",
    because="a pattern is a regular expression, in which a dot stands for any character: g5.* also matches g5g, "
    "which is arm64",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html",
    changes="PlacementConstraints.Expression",
)
def only_named_families(context: Context) -> Problems:
    workloads_of = grouped((each.task.name, each) for each in context.fleet.workloads if each.task is not None)
    for about in constrained(context):
        runs = workloads_of.get(about.name, []) if isinstance(about, Task) else [about]
        task = about if isinstance(about, Task) else about.task
        built_for = None if task is None else task.architecture
        for text in readable(about.constraints):
            for pattern, meant, others in _traps(text):
                left = [
                    each
                    for each in others
                    if _is_possible(readable((*inherited(about), *about.constraints)), each)
                    and not _is_out_of_reach(context, runs, each)
                    and (not isinstance(built_for, Architecture) or _by_family()[each][0].architecture is built_for)
                ]
                if left:
                    yield Problem(
                        about=about,
                        message=f"the pattern {pattern} of {about.name} names {and_list(meant)} and also matches "
                        f"{and_list(f'{each} ({_what(each)})' for each in left)}, because a dot stands for any "
                        "character",
                        fix=_types_meant(pattern, meant),
                    )


def _newer_types(fleet: Fleet) -> Iterator[str]:
    """Types that the catalogue does not have: declared ones, and those of hosts, which GPU051 reports."""
    yield from (each.name for each in (*declared_types(), *fleet.declared))
    for pool in fleet.pools:
        yield from pool.unknown_type_names
        yield from (each.name for each in pool.instance_types if each.declared)


@lru_cache(maxsize=4096)
def _doubts(expression: str, named: frozenset[str]) -> tuple[_Doubt, ...]:
    query = joined((expression,))
    every = (one for each in (() if query is None else conditions(query)) for one in _of_condition(each, named))
    return tuple(dict.fromkeys(islice(every, _MOST_DOUBTS)))


def _of_condition(condition: Condition, named: frozenset[str]) -> Iterator[_Doubt]:
    subject = condition.subject
    if not isinstance(subject, Attribute):
        return
    yield from _of_attribute(subject.name)
    if subject == INSTANCE_TYPE:
        yield from _of_types(condition, named)
    allowed = _VALUES.get(subject.name)
    if allowed:
        for value in _arguments(condition):
            if value not in allowed:
                message = f"{subject.name} is never {shown(value)}"
                yield _Doubt(message=message, wrong=value, instead=allowed, fix=or_list(allowed))


def _of_attribute(name: str) -> Iterator[_Doubt]:
    if re.match(_OF_GPUS, name):
        yield _Doubt(message=_no_attribute(name), wrong=name, fix=_ASKED)
    elif name in BUILT_IN_ATTRIBUTES or name in _OPTIONAL or name.startswith("ecs.capability."):
        return
    elif name.lower().startswith("ecs."):
        near = get_close_matches(name.lower(), BUILT_IN_ATTRIBUTES | _OPTIONAL, n=1, cutoff=_NEAR)
        yield _Doubt(message=_no_attribute(name), wrong=name, instead=tuple(near))
    elif f"ecs.{name}" in BUILT_IN_ATTRIBUTES:
        yield _Doubt(
            message=f"{name} would be a custom attribute, and that of ECS is called ecs.{name}",
            wrong=f"attribute:{name}",
            instead=(f"attribute:ecs.{name}",),
            custom=name,
        )


def _no_attribute(name: str) -> str:
    return f"ECS documents no attribute {name}"


@lru_cache(maxsize=4096)
def _slips(expression: str) -> tuple[str, ...]:
    """Attributes of no host that about one letter tells from a built-in one, which every host has to have."""
    names = (each for each in required_attributes(expression) if each.startswith("ecs.") and len(each) < NAME)
    others = (each for each in names if each not in BUILT_IN_ATTRIBUTES)
    return tuple([each for each in others if get_close_matches(each, BUILT_IN_ATTRIBUTES, n=1, cutoff=0.95)])


def _of_types(condition: Condition, named: frozenset[str]) -> Iterator[_Doubt]:
    for value in _arguments(condition):
        if value not in named and recorded_type(value) is None:
            message = f"no instance type {shown(value)} was known on {RECORDED}"
            newer = how_to_declare(value) if may_exist(value) else ""
            yield _Doubt(message=message, wrong=value, instead=_near_types(value), newer=newer)
    if (
        isinstance(condition, Matches)
        and not isinstance(condition.read, str)
        and not any(_matched(condition, chain(recorded_names(), named)))
    ):
        yield _Doubt(
            message=f"the pattern {condition.pattern} matches no instance type that was known on {RECORDED}",
            wrong=condition.pattern,
            fix=f"a list, as in {INSTANCE_TYPE} in [...]",
        )


@lru_cache(maxsize=4096)
def _near_types(name: str) -> tuple[str, ...]:
    wanted = name.strip().lower()[:NAME]
    if wanted in _by_family():
        return tuple(each.name for each in _by_family()[wanted])[:3]
    # First the family, then the type: there are many more types than families.
    family = wanted.partition(".")[0]
    near = [family] if family in _by_family() else get_close_matches(family, _by_family(), n=2, cutoff=_NEAR)
    types = [each.name for one in near for each in _by_family()[one]]
    return tuple(get_close_matches(wanted, types, n=2, cutoff=_NEAR))


def _arguments(condition: Condition) -> tuple[str, ...]:
    if isinstance(condition, In):
        return condition.values
    if isinstance(condition, Comparison) and not condition.operator.is_order:
        return (condition.argument,)
    return ()


def _matched(condition: Matches, names: Iterable[str]) -> Iterator[str]:
    """The names that a pattern certainly matches, whether they are asked for or excluded."""
    if not isinstance(condition.read, str):
        yield from filter(condition.read.fullmatch, names)


@lru_cache(maxsize=4096)
def _traps(expression: str) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Patterns that also match families unlike those that they name: the pattern, the families named, the others."""
    query = joined((expression,))
    if query is None:
        return ()
    found = []
    for each in conditions(query):
        if not isinstance(each, Matches) or each.subject != INSTANCE_TYPE or each.negated:
            continue
        words = {word for word in re.findall(_FAMILY, each.pattern) if word in families()}
        begun = [family for family in _by_family() if family.startswith(tuple(words))] if words else []
        matched = {family for family in begun if any(_matched(each, (one.name for one in _by_family()[family])))}
        meant = tuple(sorted(words & matched))
        others = tuple(
            sorted(
                family
                for family in matched - words
                if any(family.startswith(name) and _what(family) != _what(name) for name in meant)
            )
        )
        if meant and others:
            found.append((each.pattern, meant, others))
    return tuple(found)


@lru_cache(maxsize=4096)
def _is_possible(expressions: tuple[str, ...], family: str) -> bool:
    query = joined(expressions)
    return query is not None and any(evaluate(query, host_of(each)) is not False for each in _by_family()[family])


def _is_out_of_reach(context: Context, workloads: list[Workload], family: str) -> bool:
    """Whether all pools of every workload are known, by its strategy or its cluster, and none has this family.

    Tasks with a strategy only run on hosts of its providers
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-capacity-providers.html).
    """
    reached: list[tuple[Pool | None, ...]] = [
        tuple(item.pool for item in each.strategy) if each.strategy else pools_of(context.fleet, each)
        for each in workloads
    ]
    return bool(reached) and all(
        pool is not None and pool.types_are_known and all(each.family != family for each in pool.instance_types)
        for pools in reached
        for pool in pools or (None,)
    )


@lru_cache(maxsize=1)
def _by_family() -> Mapping[str, list[InstanceType]]:
    return grouped((each.family, each) for each in (*accelerated(), *general()))


def _what(family: str) -> str:
    """What makes a family another one for a GPU task: its architecture and its accelerator."""
    first = _by_family()[family][0]
    devices = first.accelerators
    part = "part of an " if first.is_fractional else ""
    return f"{first.architecture}, {part}{devices.model}" if devices is not None else f"{first.architecture}, no GPU"


def _types_meant(pattern: str, meant: tuple[str, ...]) -> str:
    """The list of types that the pattern was meant for, or a shorter fix where that is too long."""
    named = [each for family in meant for each in _by_family()[family]]
    matched = set(_matched(Matches(INSTANCE_TYPE, pattern), (each.name for each in named)))
    types = [each for each in named if each.name in matched]
    offered = [each.name for each in types if each.is_offered_anywhere] or [each.name for each in types]
    text = describe(instance_type_in(offered))
    return text if len(text) <= MAX_EXPRESSION_LENGTH else "attribute:ecs.instance-type in [...] with the types meant"
