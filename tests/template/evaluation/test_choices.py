"""Which parameters can change what is found, in which order, and with which values."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.template import REGION, Choice
from tests.template.resources.declared import resource
from tests.template.written import read, read_stacks, save, template

GPUS = {"Type": "Number", "Default": 1, "AllowedValues": [1, 2]}
OPEN = {"Type": "String", "Default": "dev"}


def choices(*resources: dict[str, Any], **sections: Any) -> dict[str, Choice]:
    """The choices of a template of some resources, by name."""
    body = {**sections, "Resources": {f"R{number}": each for number, each in enumerate(resources)}}
    return {each.parameter: each for each in read_stacks([body]).choices}


hosts = partial(resource, "AutoScaling::AutoScalingGroup")


def test_a_choice_has_its_values_and_its_place() -> None:
    (choice,) = read({"Ref": "Count"}, Parameters={"Count": GPUS}).choices
    assert (choice.parameter, choice.stack, choice.default, choice.values) == ("Count", "template", "1", ("1", "2"))
    assert choice.origin.path == ("Parameters", "Count")


@pytest.mark.parametrize(
    "declaration",
    [{"Type": "Number", "Default": 1, "AllowedValues": [1]}, {**GPUS, "NoEcho": True}],
)
def test_one_value_no_known_values_and_hidden_ones_are_no_choice(declaration: dict[str, Any]) -> None:
    assert choices(hosts(MaxSize={"Ref": "Count"}), Parameters={"Count": declaration}) == {}


def test_a_parameter_without_a_default_has_every_value_to_try() -> None:
    declaration = {"Type": "Number", "AllowedValues": [1, 2]}
    found = choices(hosts(MaxSize={"Ref": "Count"}), Parameters={"Count": declaration})
    assert (found["Count"].default, found["Count"].values) == (None, ("1", "2"))


@pytest.mark.parametrize(
    ("properties", "is_one"),
    [
        ({"MaxSize": {"Ref": "It"}}, True),
        ({"Tags": [{"Key": "a", "Value": {"Ref": "It"}}]}, False),
        ({"MaxSize": {"Fn::Sub": "${!It}"}}, False),
    ],
)
def test_a_parameter_that_reaches_something_is_a_choice(properties: dict[str, Any], is_one: bool) -> None:
    assert bool(choices(hosts(**properties), Parameters={"It": GPUS})) is is_one


def test_what_reaches_no_property_of_a_fleet_is_no_choice() -> None:
    logs = {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": {"Ref": "Days"}}}
    assert choices(logs, Parameters={"Days": {"Type": "Number", "Default": 1, "AllowedValues": [1, 3, 5]}}) == {}


def test_a_condition_passes_on_what_it_decides_and_knows_the_values_that_make_a_difference() -> None:
    conditions = {
        "IsProd": {"Fn::Equals": ["prod", {"Ref": "Stage"}]},
        "IsLarge": {"Fn::Or": [{"Condition": "IsProd"}, {"Fn::Equals": [{"Ref": "Size"}, "large"]}]},
        "Unused": {"Fn::Equals": [{"Ref": "Mood"}, "good"]},
    }
    found = choices(
        hosts(MaxSize={"Fn::If": ["IsLarge", 8, 1]}),
        Parameters=dict.fromkeys(("Stage", "Size", "Mood"), OPEN),
        Conditions=conditions,
    )
    assert {name: each.values for name, each in found.items()} == {"Stage": ("prod",), "Size": ("large",)}


def test_a_mapping_knows_the_values_that_it_has_rows_and_columns_for() -> None:
    mappings = {"Sizes": {"dev": {"one": 1, "two": 2}, "prod": {"one": 4, "two": 8}}}
    found = choices(
        hosts(MaxSize={"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, {"Ref": "Column"}]}),
        Parameters={"Stage": OPEN, "Column": {"Type": "String", "Default": "one"}},
        Mappings=mappings,
    )
    assert {name: each.values for name, each in found.items()} == {"Stage": ("dev", "prod"), "Column": ("one", "two")}


IMAGES = {"eu-west-1": {"Id": "ami-1"}, "us-east-1": {"Id": "ami-2"}}
BY_REGION = {"Fn::FindInMap": ["Images", {"Ref": REGION}, "Id"]}


def test_the_region_is_a_choice_where_nothing_says_it_and_something_depends_on_it() -> None:
    body = {
        "Mappings": {"Images": IMAGES},
        "Conditions": {"IsFar": {"Fn::Equals": [{"Ref": REGION}, "ap-southeast-4"]}},
        "Resources": {"Hosts": hosts(ImageId=BY_REGION, MaxSize={"Fn::If": ["IsFar", 1, 2]})},
    }
    (choice,) = read_stacks([body]).choices
    assert (choice.parameter, choice.default) == (REGION, None)
    assert set(choice.values) == {"eu-west-1", "us-east-1", "ap-southeast-4"}
    assert choice.origin.path in {("Mappings", "Images"), ("Conditions", "IsFar")}
    assert read_stacks([body], region="eu-west-1").choices == ()


def test_the_metadata_of_cdk_asks_for_no_region() -> None:
    conditions = {"CDKMetadataAvailable": {"Fn::Equals": [{"Ref": REGION}, "eu-west-1"]}}
    metadata = {"Type": "AWS::CDK::Metadata", "Condition": "CDKMetadataAvailable"}
    assert choices(hosts(MaxSize=1), metadata, Conditions=conditions) == {}


def test_a_parameter_is_followed_into_a_nested_stack(tmp_path: Path) -> None:
    inner = template({"Ref": "Count"}, Parameters={"Count": GPUS, "Mood": OPEN})
    inner["Resources"]["Hosts"] = hosts(MaxSize={"Ref": "Count"})
    save(tmp_path / "inner.json", inner)
    nested = {
        "Type": "AWS::CloudFormation::Stack",
        "Properties": {"TemplateURL": "inner.json", "Parameters": {"Count": {"Ref": "Most"}, "Mood": {"Ref": "Tone"}}},
    }
    outer = {"Parameters": {"Most": GPUS, "Tone": GPUS}, "Resources": {"Inner": nested}}
    (choice,) = read_stacks([save(tmp_path / "outer.json", outer)]).choices
    assert choice.parameter == "Most"


def test_a_long_chain_of_conditions_has_the_choice_at_its_end() -> None:
    chain = {f"C{index}": {"Fn::Not": [{"Condition": f"C{index + 1}"}]} for index in range(5000)}
    conditions = {**chain, "C5000": {"Fn::Equals": [{"Ref": "Count"}, 2]}}
    found = choices({**hosts(), "Condition": "C0"}, Parameters={"Count": GPUS}, Conditions=conditions)
    assert "Count" in found
