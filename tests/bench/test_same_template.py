from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from bench import kinds_library, kinds_plain
from bench.kinds import KINDS
from bench.same import Template, canonical, differences
from bench.sizes import WORKLOADS

SMALL: Template = {
    "Resources": {
        "RoleA": {"Type": "AWS::IAM::Role", "Properties": {"Tags": [{"Key": "Name", "Value": "Stack/RoleA"}]}},
        "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "RoleA"}]}},
    },
    "Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["RoleA", "Arn"]}}},
}


COMPARED = [
    # The larger ones only repeat these capacities, several types and eight GPUs among them, and are compared when they
    # are measured.
    WORKLOADS["tensorflow-benchmark"],
    replace(WORKLOADS["100 over 5 stacks"], name="6 over 2 stacks", clusters=((1,), (5,))),
    *(replace(each, clusters=((1,),)) for each in KINDS.values()),
]


@pytest.fixture(scope="module")
def different() -> dict[str, list[str]]:
    return differences(COMPARED)


@pytest.mark.parametrize("name", [each.name for each in COMPARED])
def test_the_bench_compares_apps_with_the_same_templates(different: dict[str, list[str]], name: str) -> None:
    assert different[name] == []


def test_every_kind_is_written_both_ways() -> None:
    assert KINDS.keys() == kinds_library.WRITTEN.keys() == kinds_plain.WRITTEN.keys()


def test_logical_ids_and_construct_paths_make_no_difference() -> None:
    renamed = {
        "Resources": {
            "Profile": SMALL["Resources"]["Profile"] | {"Properties": {"Roles": [{"Ref": "HostRole"}]}},
            "HostRole": {"Type": "AWS::IAM::Role", "Properties": {"Tags": [{"Key": "Name", "Value": "HostRole"}]}},
        },
        "Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["HostRole", "Arn"]}}},
    }
    assert canonical(renamed) == canonical(SMALL)


def test_a_property_makes_a_difference() -> None:
    other = deepcopy(SMALL)
    other["Resources"]["RoleA"]["Properties"]["Description"] = "hosts"
    assert canonical(other) != canonical(SMALL)


def test_a_reference_to_something_else_makes_a_difference() -> None:
    two_roles = deepcopy(SMALL)
    two_roles["Resources"]["RoleB"] = {"Type": "AWS::IAM::Role", "Properties": {"Description": "another"}}
    other = deepcopy(two_roles)
    other["Resources"]["Profile"]["Properties"]["Roles"] = [{"Ref": "RoleB"}]
    assert canonical(other) != canonical(two_roles)
