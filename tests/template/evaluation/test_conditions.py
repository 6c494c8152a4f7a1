"""Conditions hold, do not, or depend on the deploy, and resources with them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.fleet import UNKNOWN, Unknown
from tests.template.written import in_service, not_read, only_stack, read, read_stacks, worked_out

YES: Any = {"Fn::Equals": ["a", "a"]}
NO: Any = {"Fn::Equals": ["a", "b"]}
OPEN: Any = {"Fn::Equals": [{"Ref": "Asked"}, "b"]}
ASKED = {
    "Asked": {"Type": "String"},
    "Stored": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": "/my/image"},
}


def holds(condition: Any, **more: Any) -> Any:
    stacks = read(
        {"Fn::If": ["It", "yes", "no"]}, Conditions={"It": condition, **more}, Parameters=ASKED, region="eu-west-1"
    )
    assert stacks.remarks == ()
    value = in_service(stacks)
    return value if isinstance(value, Unknown) else value == "yes"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (YES, True),
        (OPEN, UNKNOWN),
        ({"Fn::Equals": [True, "true"]}, True),
        ({"Fn::Equals": [{"Ref": "Other"}, {"Ref": "Other"}]}, True),
        ({"Fn::Equals": [{"Ref": "Other"}, ""]}, False),
        ({"Fn::Equals": [{"Fn::Sub": "x${Asked}"}, ""]}, False),
        ({"Fn::Equals": [{"Ref": "Stored"}, ""]}, False),
        ({"Fn::Equals": [{"Ref": "Stored"}, "ami-1"]}, UNKNOWN),
        ({"Fn::Equals": [["a"], ["a"]]}, True),
    ],
)
def test_a_condition_holds_does_not_or_depends(condition: Any, expected: Any) -> None:
    assert holds(condition) is expected


def test_conditions_name_each_other() -> None:
    assert holds(
        {"Fn::And": [{"Condition": "A"}, {"Condition": "B"}]}, A=YES, B={"Fn::Not": [{"Condition": "C"}]}, C=NO
    )


@pytest.mark.parametrize(
    "conditions",
    [
        {"It": {"Condition": "It"}},
        {"It": {"Fn::Not": [{"Condition": "Back"}]}, "Back": {"Fn::Not": [{"Condition": "It"}]}},
        {"It": {"Fn::Equals": [{"Fn::If": ["It", "a", "b"]}, "a"]}},
    ],
)
def test_a_condition_that_depends_on_itself_is_unknown(conditions: Any) -> None:
    assert in_service(read({"Fn::If": ["It", 1, 2]}, Conditions=conditions)) is UNKNOWN


@pytest.mark.parametrize("condition", [None, {}, {"Fn::And": 1}, {"Fn::Not": [YES, NO]}, {"Fn::Equals": [1]}])
def test_what_is_no_condition_is_unknown_and_said(condition: Any) -> None:
    stacks = read({"Fn::If": ["It", 1, 2]}, Conditions={"It": condition})
    assert in_service(stacks) is UNKNOWN
    assert stacks.remarks


def test_an_open_choice_between_equal_values_is_none() -> None:
    conditions = {"It": OPEN}
    assert worked_out({"Fn::If": ["It", 5, 5]}, Conditions=conditions, Parameters=ASKED) == 5
    assert worked_out({"Fn::If": ["It", 5, 6]}, Conditions=conditions, Parameters=ASKED) is UNKNOWN


def test_an_open_choice_that_may_leave_an_item_out_is_an_unknown_item() -> None:
    value = ["a", {"Fn::If": ["It", "b", {"Ref": "AWS::NoValue"}]}]
    assert worked_out(value, Conditions={"It": OPEN}, Parameters=ASKED) == ["a", UNKNOWN]


def test_a_resource_with_a_condition_that_nobody_declared_may_be_there() -> None:
    stacks = read(1, Resources={"Maybe": {"Type": "AWS::ECS::Cluster", "Condition": "It"}})
    assert only_stack(stacks).resources["Maybe"].exists is UNKNOWN
    assert not_read(stacks) == ["no condition 'It'"]


def test_a_long_chain_of_conditions_ends() -> None:
    chain = {f"C{index}": {"Fn::Not": [{"Condition": f"C{index + 1}"}]} for index in range(5000)}
    assert in_service(read({"Fn::If": ["C0", 1, 2]}, Conditions=chain)) is UNKNOWN


def _evaluate(tree: Any) -> bool | None:
    """The same in three values, straight from their definition: all ways to fill in the open ones agree, or do not."""
    if tree is None or isinstance(tree, bool):
        return tree
    operator, parts = tree
    values = [_evaluate(part) for part in parts]
    if operator == "Fn::Not":
        return None if values[0] is None else not values[0]
    decides = operator == "Fn::Or"
    return decides if decides in values else None if None in values else not decides


def _written(tree: Any) -> Any:
    if tree in (True, False, None):
        return {True: YES, False: NO, None: OPEN}[tree]
    return {tree[0]: [_written(part) for part in tree[1]]}


TREES = st.recursive(
    st.sampled_from([True, False, None]),
    lambda trees: (
        st.tuples(st.just("Fn::Not"), st.tuples(trees))
        | st.tuples(st.sampled_from(["Fn::And", "Fn::Or"]), st.lists(trees, min_size=2, max_size=4))
    ),
    max_leaves=12,
)


@given(TREES)
def test_three_valued_logic_is_that_of_kleene(tree: Any) -> None:
    expected = _evaluate(tree)
    template = {
        "Parameters": ASKED,
        "Conditions": {"It": _written(tree)},
        "Resources": {"Maybe": {"Type": "AWS::ECS::Cluster", "Condition": "It"}},
    }
    found = only_stack(read_stacks([template])).resources
    exists = found["Maybe"].exists if "Maybe" in found else False
    assert exists is (UNKNOWN if expected is None else expected)
