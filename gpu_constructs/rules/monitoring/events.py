"""Rules of Amazon EventBridge on events of ECS: can an event ever match?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from gpu_constructs.budget import brief
from gpu_constructs.fleet import EventRule, EventValue, Unknown
from gpu_constructs.hardware.aws_events import ECS_EVENTS, EVENT_FIELDS, EVENT_NAMES, EVENT_VALUES
from gpu_constructs.hardware.cloudwatch import is_slip_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error

_EVENTS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html"
_SOURCE = "aws.ecs"
_LETTERS = re.compile(r"[^a-z]+")
_MOST_NAMED = 10
_MEANS_SOURCE = frozenset({"amazonecs", "awsecs", "ecs", "ecsamazonawscom"})


@error(
    "GPU381",
    question="can an event of ECS match the pattern?",
    because="EventBridge compares the source, the type and each field of an event letter by letter: a pattern with a "
    "text that ECS never sends matches nothing, without an error",
    softer="where the pattern also has texts that match, or another pattern in its place may",
    source=_EVENTS,
)
def may_match(context: Context) -> Problems:
    for rule in context.fleet.event_rules:
        fields = {each.path: each for each in rule.fields}
        types = _texts(fields.get("detail-type"))
        yield from _sources(rule, fields.get("source"), types)
        yield from _types(rule, fields.get("detail-type"), types)
        if types is not None and len(types) == 1:
            for each in rule.fields:
                yield from islice(_values(rule, each, types[0]), _MOST_NAMED)
        for each in rule.fields:
            yield from _keys(rule, each, types)
            yield from _names(rule, each)


@error(
    "GPU382",
    question="are all texts of the pattern in lists?",
    because="EventBridge refuses a pattern in which the value of a field is not a list: “must be an object or an "
    "array”",
    source="https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern.html",
)
def texts_are_in_lists(context: Context) -> Problems:
    for rule in context.fleet.event_rules:
        for each in rule.fields:
            if not each.is_list:
                text = each.values[0] if isinstance(each.values[0], str) else "a value"
                message = f"{each.path} of {rule.name} is {brief(str(text))} without a list"
                yield replace(_problem(rule, each, text, message, f"[{text}]"), is_certain=True)


def _sources(rule: EventRule, field: EventValue | None, types: tuple[str, ...] | None) -> Iterator[Problem]:
    sources = _texts(field)
    if field is None or sources is None or _SOURCE in sources:
        return
    slips = [each for each in sources if _LETTERS.sub("", each.lower()) in _MEANS_SOURCE]
    asks_for_ecs = types is None or any(each.lower().startswith("ecs ") for each in types)
    if slips and len(slips) == len(sources) and asks_for_ecs:
        message = f"{rule.name} waits for events of the source {brief(slips[0])}, and those of ECS are of {_SOURCE}"
        yield _problem(rule, field, slips[0], message, _SOURCE)


def _types(rule: EventRule, field: EventValue | None, types: tuple[str, ...] | None) -> Iterator[Problem]:
    if field is None:
        return
    slips = {
        each: name for each in field.values if isinstance(each, str) for name in ECS_EVENTS if is_slip_of(each, name)
    }
    for each, name in islice(slips.items(), _MOST_NAMED):
        if each in ECS_EVENTS:
            continue
        message = f"{rule.name} waits for events of the type {brief(each)}, and ECS calls them {name}"
        is_only = types is not None and all(one in slips for one in types)
        yield _problem(rule, field, each, message, name, is_certain=is_only)


def _values(rule: EventRule, field: EventValue, event: str) -> Iterator[Problem]:
    """Texts of a field that events of this type never have."""
    allowed = EVENT_VALUES.get((event, field.path))
    names = EVENT_NAMES.get((event, field.path), ())
    is_only = len(set(field.values)) == 1
    for each in dict.fromkeys(field.values):
        if not isinstance(each, str):
            continue
        meant = next((one for one in allowed or names if is_slip_of(each, one)), "")
        if (allowed is not None and each not in allowed) or (each not in names and meant and allowed is None):
            said = brief(each) or "an empty text"
            message = f"{rule.name} waits for {field.path.removeprefix('detail.')} {said}, which ECS never sends"
            fix = meant or or_list(allowed or names)
            yield _problem(rule, field, each, message, fix, is_certain=is_only)


def _keys(rule: EventRule, field: EventValue, types: tuple[str, ...] | None) -> Iterator[Problem]:
    """A field of the detail in other letters than those of ECS."""
    steps = field.path.split(".")
    path = ".".join(steps[:2])
    if steps[0] != "detail" or types is None or not set(types) <= set(ECS_EVENTS) or path in EVENT_FIELDS:
        return
    meant = next((each for each in EVENT_FIELDS if each.lower() == path.lower()), "")
    if meant:
        message = f"{rule.name} asks for {path}, and events of ECS have {meant}"
        yield _problem(rule, field, path, message, meant)


def _names(rule: EventRule, field: EventValue) -> Iterator[Problem]:
    if field.path != "detail.clusterArn":
        return
    plain = [each for each in field.values if isinstance(each, str) and not each.startswith("arn:")]
    for each in islice((*field.names, *plain), _MOST_NAMED):
        message = f"{rule.name} asks for the clusterArn {brief(each)}, which is a name, not an ARN"
        fix = f"!GetAtt {each}.Arn" if each in field.names else "the ARN of the cluster"
        yield _problem(rule, field, each, message, fix, is_certain=len(field.values) == 1)


def _texts(field: EventValue | None) -> tuple[str, ...] | None:
    """What a field has to be, where all of that is texts."""
    if field is None or any(isinstance(each, Unknown) for each in field.values):
        return None
    return tuple(map(str, field.values))


def _problem(
    rule: EventRule, field: EventValue, value: object, message: str, fix: str, *, is_certain: bool = True
) -> Problem:
    return Problem(
        about=rule,
        property_name=field.path.rpartition(".")[2],
        value=value,
        message=message,
        allowed=fix,
        fix=fix,
        is_certain=is_certain and not rule.is_one_of,
    )
