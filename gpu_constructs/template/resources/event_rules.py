"""Rules of Amazon EventBridge whose patterns ask for events of ECS.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from gpu_constructs.budget import DEPTH, SEARCHED
from gpu_constructs.fleet import UNKNOWN, EventRule, EventValue
from gpu_constructs.template.model import Reference, Value
from gpu_constructs.template.resources.clusters import CLUSTER
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.section import is_list

_RULE = "AWS::Events::Rule"
_PATTERN = "EventPattern"
_OF_ECS = re.compile(r"\becs\b", re.IGNORECASE)
_DECIDING = frozenset({"source", "detail-type"})
_CHOICE = "$or"


def event_rules_of(index: Index, names: Names) -> tuple[EventRule, ...]:
    """Every rule whose source or type of event speaks of ECS; one for each pattern of which one is enough."""
    rules = tuple(index.all(_RULE))
    called = names.unique([(resource, "") for resource in rules])
    return tuple(
        EventRule(
            name=name,
            fields=fields,
            is_one_of=len(patterns) > 1,
            origin=resource.origin.at("Properties", _PATTERN),
        )
        for resource, name in zip(rules, called, strict=True)
        for patterns in [tuple(_patterns(resource.properties.get(_PATTERN)))]
        for fields in (tuple(islice(_fields(each, index), SEARCHED)) for each in patterns)
        if any(each.path in _DECIDING and _speaks_of_ecs(each) for each in fields)
    )


def _patterns(pattern: Value) -> Iterator[Mapping[str, Value]]:
    """A pattern; of one with a choice at its top, each that is one of them, with what all have."""
    if not isinstance(pattern, Mapping):
        return
    choice = pattern.get(_CHOICE)
    rest = {key: value for key, value in pattern.items() if key != _CHOICE}
    if choice is None:
        yield rest
    for each in islice(choice, SEARCHED) if is_list(choice) else ():
        if isinstance(each, Mapping):
            yield {**rest, **each}


def _speaks_of_ecs(field: EventValue) -> bool:
    return any(isinstance(each, str) and _OF_ECS.search(each) for each in field.values)


def _fields(
    pattern: Mapping[str, Value], index: Index, above: tuple[str, ...] = (), depth: int = DEPTH
) -> Iterator[EventValue]:
    for key, value in pattern.items():
        path = (*above, key)
        if isinstance(value, Mapping):
            # Where one of several patterns is enough, none of them has to match.
            if depth > 0 and key != _CHOICE and _CHOICE not in value:
                yield from _fields(value, index, path, depth - 1)
        elif is_list(value):
            yield EventValue(
                path=".".join(path),
                values=tuple(each if isinstance(each, str) else UNKNOWN for each in value),
                names=tuple(filter(None, (_cluster_name(each, index) for each in value))),
            )
        elif isinstance(value, (str, int, float)):
            yield EventValue(path=".".join(path), values=(value if isinstance(value, str) else UNKNOWN,), is_list=False)


def _cluster_name(value: Value, index: Index) -> str:
    """The logical id of a cluster whose name is given; empty for anything else."""
    if isinstance(value, Reference) and value.attribute is None and index.at(value, CLUSTER) is not None:
        return value.logical_id
    return ""
