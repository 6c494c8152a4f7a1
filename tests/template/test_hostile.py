"""Whatever a file holds, reading it gives stacks or an `UnreadableError`, and neither takes long."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML has no types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs.facts import budget
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template import Stacks, UnreadableError
from gpu_constructs.template.evaluation.functions import FUNCTIONS
from gpu_constructs.template.model import DynamicReference, Reference, Text
from tests.template.large import large_template
from tests.template.written import read_stacks, read_text

QUICKLY = settings(deadline=timedelta(seconds=2), suppress_health_check=[HealthCheck.too_slow])

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["A", "B", "${A}", "${A.B}", "${!A}", "AWS::NoValue", "AWS::Region", "a,b", "Outputs.X", "0"])
)
NAMES = st.sampled_from([*FUNCTIONS, "Condition", "Fn::ForEach::X", "Fn::X", "A", "B", "Type", "Properties"]) | st.text(
    max_size=4
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=25,
)
TYPES = st.sampled_from(
    ["AWS::ECS::Service", "AWS::CloudFormation::Stack", "AWS::SQS::Queue", "AWS::ECS::TaskDefinition"]
)
RESOURCES = st.fixed_dictionaries(
    {"Type": TYPES | VALUES}, optional={"Properties": VALUES, "Condition": SCALARS, "Metadata": VALUES}
)
SECTION = st.dictionaries(NAMES, VALUES, max_size=3)
PARAMETERS = st.dictionaries(
    st.sampled_from("AB"),
    st.fixed_dictionaries(
        {"Type": st.sampled_from(["String", "Number", "List<Number>", "CommaDelimitedList"])},
        optional={"Default": VALUES, "AllowedValues": VALUES},
    ),
)
TEMPLATES = st.fixed_dictionaries(
    {"Resources": st.dictionaries(NAMES, RESOURCES | VALUES, max_size=4) | VALUES},
    optional={
        "Parameters": PARAMETERS | SECTION | VALUES,
        "Mappings": SECTION | VALUES,
        "Conditions": SECTION | VALUES,
        "Outputs": st.dictionaries(
            NAMES, st.fixed_dictionaries({"Value": VALUES}, optional={"Export": SECTION}) | VALUES
        )
        | VALUES,
        "Transform": VALUES,
    },
)


def is_value(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(is_value, value.values()))
    if isinstance(value, list):
        return all(map(is_value, value))
    if isinstance(value, Text):
        texts = [isinstance(piece, str) for piece in value.pieces]
        return len(texts) > 1 and not any(one and other for one, other in pairwise(texts))
    return value is None or isinstance(value, (bool, int, float, str, Unknown, Reference, DynamicReference))


def look_at_everything(stacks: Stacks) -> None:
    for stack in stacks.stacks:
        for resource in stack.resources.values():
            assert is_value(dict(resource.properties))
            assert resource.exists is True or resource.exists is UNKNOWN
            stacks.locate(resource.origin.at("Properties", 0, "x"))
    for remark in stacks.remarks:
        stacks.locate(remark.origin)
        remark.text.encode()


def look_if_read(text: str | bytes) -> None:
    try:
        stacks = read_text(text)
    except UnreadableError:
        return
    look_at_everything(stacks)


@QUICKLY
@given(TEMPLATES)
def test_any_template_becomes_values(template: Any) -> None:
    look_at_everything(read_stacks([template]))


@QUICKLY
@given(TEMPLATES, st.booleans())
def test_any_template_in_a_file_is_read_or_refused(template: Any, as_yaml: bool) -> None:
    text = yaml.safe_dump(template, allow_unicode=False) if as_yaml else json.dumps(template)
    look_if_read(text)


@QUICKLY
@given(st.text() | st.text("{}[]:,-&*!<>|'\"\n aA0#%@`?").map(lambda text: f"Resources: {text}") | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    look_if_read(text)


SMALL = large_template(4)
SMALL_JSON = json.dumps(SMALL, indent=1)
SMALL_YAML = yaml.safe_dump(SMALL)


@QUICKLY
@given(st.data())
def test_a_real_template_with_a_few_changes_is_read_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([SMALL_JSON, SMALL_YAML]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = start + data.draw(st.integers(0, 30))
        text = (
            text[:start] + data.draw(st.text("{}[]:,-&*! \n\"'aR1\0\\", max_size=4) | st.text(max_size=3)) + text[end:]
        )
    look_if_read(text)


@QUICKLY
@given(st.integers(0, len(SMALL_JSON) - 1))
def test_a_template_that_ends_too_early_is_refused(length: int) -> None:
    with pytest.raises(UnreadableError):
        read_text(SMALL_JSON[:length])


def test_the_same_template_gives_the_same_stacks_in_both_forms() -> None:
    template = large_template(40)
    read = [read_text(text).stacks for text in (json.dumps(template), yaml.safe_dump(template))]
    assert read[0] == read[1]
    (parsed,) = read_stacks([template]).stacks
    assert {name: each.properties for name, each in parsed.resources.items()}.keys() == read[0][0].resources.keys()


def test_more_resources_than_any_app_has_are_refused() -> None:
    queues = {f"Queue{index}": {"Type": "AWS::SQS::Queue"} for index in range(budget.RESOURCES + 1)}
    with pytest.raises(UnreadableError, match=f"more than {budget.RESOURCES:,} resources"):
        read_stacks([{"Resources": queues}])


def nested(function: str, times: int) -> Any:
    forms: dict[str, Any] = {
        "Fn::Sub": lambda inner: ["${x}", {"x": inner}],
        "Fn::Select": lambda inner: [0, [inner]],
        "Fn::If": lambda inner: ["Yes", inner, "no"],
        "Fn::Not": lambda inner: [inner],
    }
    value: Any = "a"
    for _ in range(times):
        value = {function: forms[function](value)}
    return value


@pytest.mark.parametrize("function", ["Fn::Sub", "Fn::Select", "Fn::If"])
def test_functions_in_functions_need_no_more_stack_than_there_is(function: str) -> None:
    times = 45 if function == "Fn::If" else 30
    conditions = {f"C{index}": {"Fn::Not": [{"Condition": f"C{index + 1}"}]} for index in range(50)}
    template = {
        "Conditions": {"Yes": nested("Fn::Not", 30), **conditions},
        "Resources": {
            "A": {"Type": "AWS::ECS::Service", "Properties": {"Value": nested(function, times)}, "Condition": "C0"},
            "B": {"Type": "AWS::SQS::Queue", "Properties": {"Value": nested(function, times)}},
        },
    }
    look_at_everything(read_stacks([template]))


def test_looking_from_deep_inside_of_a_program_gives_values() -> None:
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"Value": nested("Fn::Sub", 30)}}
    (stack,) = read_stacks([{"Resources": {"A": queue}}]).stacks

    def descend() -> Any:
        try:
            return descend()
        except RecursionError:
            return dict(stack.resources["A"].properties)

    assert descend() in ({}, {"Value": "a"})
