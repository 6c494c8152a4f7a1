"""Every function of a template gives what CloudFormation would, or says that only the deploy knows."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.model import DynamicReference, Placeholder, Reference, Text
from tests.template.written import in_service, not_read, only_stack, read, worked_out

OTHER = Reference("template", "Other")
ZONE = Text((Placeholder("template", "Fn::GetAZs 0"),))
PARAMETERS = {
    "Given": {"Type": "String", "Default": "given"},
    "Asked": {"Type": "String"},
    "Numbers": {"Type": "List<Number>", "Default": "1, 2"},
    "Zone": {"Type": "List<AWS::EC2::AvailabilityZone::Name>"},
}
MAPPINGS = {"Images": {"eu-west-1": {"Gpu": "ami-1", "Sizes": [1, 2]}}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # a name becomes what stands behind it
        ({"Ref": "Given"}, "given"),
        ({"Ref": "Asked"}, UNKNOWN),
        ({"Ref": "Other"}, OTHER),
        ([1, {"Ref": "AWS::NoValue"}, 2], [1, 2]),
        ({"Fn::GetAtt": ["Other", {"Ref": "Asked"}]}, UNKNOWN),
        # a text has its variables filled in
        ({"Fn::Sub": "no variable"}, "no variable"),
        ({"Fn::Sub": "${Given}-${AWS::Region}"}, "given-eu-west-1"),
        ({"Fn::Sub": "${Asked}"}, UNKNOWN),
        ({"Fn::Sub": "echo ${!HOME} ${Given}"}, "echo ${HOME} given"),
        # a join keeps what is known of a text
        ({"Fn::Join": ["-", ["a", 1, True, 2.5]]}, "a-1-true-2.5"),
        ({"Fn::Join": ["", []]}, ""),
        ({"Fn::Join": ["-", ["a", {"Ref": "AWS::NoValue"}, "b"]]}, "a-b"),
        ({"Fn::Join": [",", {"Ref": "Zone"}]}, UNKNOWN),
        # lists and texts are taken apart as far as they are known
        ({"Fn::Select": [0, {"Fn::GetAZs": "eu-west-1"}]}, ZONE),
        ({"Fn::Select": [{"Ref": "Asked"}, ["a"]]}, UNKNOWN),
        ({"Fn::Select": [1, {"Ref": "Numbers"}]}, 2),
        ({"Fn::Split": [",", {"Fn::Join": [",", [{"Ref": "Other"}, "b"]]}]}, [OTHER, "b"]),
        ({"Fn::Split": [",", {"Fn::Sub": "a,${Asked}"}]}, UNKNOWN),
        ({"Fn::Split": [":", {"Fn::GetAtt": ["Other", "Arn"]}]}, UNKNOWN),
        ({"Fn::Length": [1, 2, 3]}, UNKNOWN),
        ({"Fn::Cidr": ["10.0.0.0/16", 3, 8]}, UNKNOWN),
        ({"Fn::ToJsonString": {"a": 1}}, UNKNOWN),
        ({"Fn::Transform": {"Name": "Macro"}}, UNKNOWN),
    ],
)
def test_a_function_is_worked_out_as_far_as_it_is_known(value: Any, expected: Any) -> None:
    assert worked_out(value, Parameters=PARAMETERS, region="eu-west-1") == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["Images", "eu-west-1", {"Ref": "Asked"}], UNKNOWN),
        (["Images", "nowhere", "Gpu", {"DefaultValue": {"Ref": "Given"}}], "given"),
        ([{"Ref": "Asked"}, "a", "b"], UNKNOWN),
    ],
)
def test_a_mapping_is_looked_up(keys: list[Any], expected: Any) -> None:
    found = worked_out({"Fn::FindInMap": keys}, Parameters=PARAMETERS, Mappings=MAPPINGS, region="eu-west-1")
    assert found == expected


def test_a_mapping_by_region_is_unknown_where_the_region_is() -> None:
    value = {"Fn::FindInMap": ["Images", {"Ref": "AWS::Region"}, "Gpu"]}
    assert worked_out(value, Mappings=MAPPINGS) is UNKNOWN


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"Ref": ["Other"]}, "Ref takes a name"),
        ({"Fn::GetAtt": ["Misspelled", "Arn"]}, "Fn::GetAtt of 'Misspelled', which is not a resource of this template"),
        ({"Fn::GetAtt": "Other"}, "Fn::GetAtt takes a resource and an attribute"),
        ({"Fn::Sub": 5}, "Fn::Sub takes a text, or a text and an object of its variables"),
        ({"Fn::Join": "a"}, "Fn::Join takes a delimiter and a list"),
        ({"Fn::Select": [2, ["a", "b"]]}, "Fn::Select takes an index of one of its 2 items"),
        ({"Fn::Select": [-1, ["a", "b"]]}, "Fn::Select takes an index of one of its 2 items"),
        ({"Fn::Select": 1}, "Fn::Select takes an index and a list"),
        ({"Fn::Split": "a"}, "Fn::Split takes a delimiter and a text"),
        ({"Fn::If": ["Condition"]}, "Fn::If takes a condition and two values"),
        ({"Fn::If": ["Misspelled", 1, 2]}, "no condition 'Misspelled'"),
        ({"Fn::FindInMap": ["Misspelled", "a", "b"]}, "no mapping 'Misspelled'"),
        ({"Fn::FindInMap": ["Images", "a"]}, "Fn::FindInMap takes a mapping and two keys"),
        ({"Fn::FindInMap": ["Images", "us-east-1", "Gpu"]}, "mapping 'Images' has nothing for 'us-east-1' and 'Gpu'"),
        ({"Fn::GetStackOutput": "a"}, "Fn::GetStackOutput takes an object with StackName and OutputName"),
        ({"Fn::Nonsense": 1}, "a function that is not known: Fn::Nonsense"),
        ({"Ref": "Other", "Beside": 1}, "Ref with other keys"),
    ],
)
def test_what_makes_no_sense_is_unknown_and_said(value: Any, words: str) -> None:
    stacks = read(value, Mappings=MAPPINGS)
    assert (in_service(stacks), not_read(stacks)) == (UNKNOWN, [words])


def test_a_text_with_a_misspelled_variable_keeps_the_rest() -> None:
    stacks = read({"Fn::Sub": "a${Misspelled}b"})
    assert in_service(stacks) == Text(("a", UNKNOWN, "b"))
    assert len(stacks.remarks) == 1


def test_what_a_macro_adds_is_unknown_and_what_is_beside_it_is_not() -> None:
    stacks = read({"Fn::Transform": {"Name": "AWS::Include"}, "Beside": 1})
    assert in_service(stacks) == {"Beside": 1}
    assert not_read(stacks) == ["a macro adds to this, which only the deploy knows"]


def test_a_remark_points_at_the_place_that_is_odd() -> None:
    (remark,) = read({"a": [0, {"b": {"Ref": "Misspelled"}}]}).remarks
    assert remark.origin.resource == "Service"
    assert remark.origin.path == ("Resources", "Service", "Properties")


AMI = "{{resolve:ssm:/aws/service/ami}}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (AMI, DynamicReference(AMI)),
        ({"Fn::Sub": AMI}, DynamicReference(AMI)),
        ({"Fn::Sub": ["${It}", {"It": AMI}]}, DynamicReference(AMI)),
        ({"Fn::Join": ["", ["{{resolve:ssm:", "/aws/service/ami", "}}"]]}, DynamicReference(AMI)),
        (f"{AMI}{AMI}", UNKNOWN),
        ("{{ sceptre_user_data.gpus }}", UNKNOWN),
        ("docker inspect -f {{.State}}", "docker inspect -f {{.State}}"),
        ({"Fn::Sub": f"{AMI}-${{Other}}"}, Text((UNKNOWN, "-", OTHER))),
    ],
)
def test_what_the_deploy_resolves_is_unknown_but_for_where_it_is_kept(value: Any, expected: Any) -> None:
    assert worked_out(value) == expected


def test_what_loops_make_is_unknown_and_said() -> None:
    loop = ["Name", ["A", "B"], {"Cluster${Name}": {"Type": "AWS::ECS::Cluster"}}]
    stacks = read({"Fn::ForEach::It": ["Name", ["a"], {"${Name}": 1}]}, Resources={"Fn::ForEach::Clusters": loop})
    assert in_service(stacks) is UNKNOWN
    assert only_stack(stacks).resources.keys() == {"Service", "Other"}
    assert not stacks.whole
    assert not_read(stacks) == [
        "Fn::ForEach::Clusters is a loop, which is not written out",
        "a function that is not known: Fn::ForEach::It",
    ]
