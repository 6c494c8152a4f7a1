"""The simulator decides as AWS documents it: a deny wins, an allow is needed, and what it does not know is an error."""

from __future__ import annotations

from typing import Any

import pytest
from ecs_emulator.policies import Call, UnknownPolicyError, is_allowed, is_trusted
from hypothesis import given
from hypothesis import strategies as st

ARN = "arn:aws:ecs:us-east-1:111122223333:cluster/demo"
CALL = Call("ecs:StopTask", ARN, {"ecs:cluster": ARN})


def statement(effect: str = "Allow", **other: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": "ecs:*", "Resource": "*", **other}


words = st.sampled_from(
    ["ecs:StopTask", "ecs:Stop*", "ecs:*", "*", "ECS:stoptask", "ecs:RunTask", "s3:*", "ecs:Stop?ask"]
)
places = st.sampled_from([ARN, f"{ARN[:-4]}*", "*", "arn:*:ecs:*:*:cluster/*", f"{ARN}x", "arn:aws:s3:::demo"])
conditions = st.sampled_from(
    [
        {},
        {"ArnEquals": {"ecs:cluster": ARN}},
        {"ArnEquals": {"ecs:cluster": f"{ARN}x"}},
        {"StringEquals": {"aws:SourceAccount": "1"}},
    ]
)
statements = st.builds(
    lambda effect, action, resource, condition: statement(
        effect, Action=action, Resource=resource, **({"Condition": condition} if condition else {})
    ),
    st.sampled_from(["Allow", "Allow", "Deny"]),
    words,
    places,
    conditions,
)


@given(st.lists(statements, max_size=6), statements)
def test_more_allows_more_unless_it_denies(some: list[dict[str, Any]], another: dict[str, Any]) -> None:
    before, after = is_allowed(some, CALL), is_allowed([*some, another], CALL)
    assert after >= before if another["Effect"] == "Allow" else after <= before


@given(st.lists(statements, max_size=6))
def test_neither_order_nor_repetition_matters(some: list[dict[str, Any]]) -> None:
    assert is_allowed(some, CALL) == is_allowed([*reversed(some), *some], CALL)


@given(st.lists(statements, max_size=6))
def test_without_an_allow_nothing_is_allowed_and_a_deny_of_all_wins(some: list[dict[str, Any]]) -> None:
    assert not is_allowed([each for each in some if each["Effect"] == "Deny"], CALL)
    assert not is_allowed([*some, statement("Deny", Action="*")], CALL)


@given(words, places)
def test_what_is_named_and_what_is_left_out_are_opposites(action: str, resource: str) -> None:
    plain = {"Effect": "Allow", "Resource": "*"}
    assert is_allowed([{**plain, "Action": action}], CALL) != is_allowed([{**plain, "NotAction": action}], CALL)
    plain = {"Effect": "Allow", "Action": "*"}
    assert is_allowed([{**plain, "Resource": resource}], CALL) != is_allowed([{**plain, "NotResource": resource}], CALL)


@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        ({"ArnEquals": {"ecs:cluster": "arn:aws:ecs:*:*:cluster/de*"}}, True),
        ({"ArnLike": {"ECS:Cluster": ARN}}, True),
        ({"StringEquals": {"ecs:cluster": "arn:*"}}, False),
        ({"StringEquals": {"ecs:cluster": [f"{ARN}x", ARN]}}, True),
        ({"StringLike": {"ecs:cluster": "arn:*"}}, True),
        ({"StringEquals": {"ecs:other": "x"}}, False),
        ({"StringNotEquals": {"ecs:other": "x"}}, True),
        ({"StringEqualsIfExists": {"ecs:other": "x"}}, True),
        ({"Null": {"ecs:other": "true"}}, True),
        ({"Null": {"ecs:cluster": "true"}}, False),
        ({"ForAnyValue:StringEquals": {"keys": ["b", "x"]}}, True),
        ({"ForAnyValue:StringEquals": {"none": ["b"]}}, False),
        ({"ForAllValues:StringLike": {"keys": ["a*"]}}, False),
        ({"ForAllValues:StringLike": {"none": ["a*"]}}, True),
        ({"Bool": {"secure": True}}, True),
        ({"Bool": {"secure": False}}, False),
        ({"ArnEquals": {"ecs:cluster": ARN}, "StringEquals": {"ecs:other": "x"}}, False),
    ],
)
def test_conditions(condition: dict[str, Any], allowed: bool) -> None:
    call = Call("ecs:StopTask", ARN, {"ecs:cluster": ARN, "keys": ("a", "b"), "secure": "true"})
    assert is_allowed([statement(Condition=condition)], call) == allowed


def test_a_wildcard_does_not_cross_the_first_parts_of_an_arn() -> None:
    assert not is_allowed([statement(Resource="arn:aws:s3*:cluster/demo:x:y:z")], CALL)
    assert is_allowed(
        [statement(Resource="arn:aws:logs:*:*:log-group:g:*")], Call("ecs:x", "arn:aws:logs:a:b:log-group:g:s:t")
    )


def test_what_is_not_known_is_an_error() -> None:
    for wrong in (statement(Condition={"NumericLessThan": {"ecs:cluster": "1"}}), statement(Other=1)):
        with pytest.raises(UnknownPolicyError):
            is_allowed([wrong], CALL)


def test_who_is_trusted() -> None:
    trust = [
        {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "states.amazonaws.com"},
            "Condition": {"StringEquals": {"aws:SourceAccount": "1"}},
        }
    ]
    assert is_trusted(trust, "states.amazonaws.com", {"aws:SourceAccount": "1"})
    assert not is_trusted(trust, "states.amazonaws.com", {"aws:SourceAccount": "2"})
    assert not is_trusted(trust, "ec2.amazonaws.com", {"aws:SourceAccount": "1"})
