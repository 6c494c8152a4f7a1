"""Constructs of CDK that are made of the arguments that are given."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Template

from gpu_constructs.cdk.given import construct_of


def test_it_is_what_the_constructor_of_cdk_makes() -> None:
    ours, theirs = cdk.Stack(cdk.App(), "Stack"), cdk.Stack(cdk.App(), "Stack")
    month, going = logs.RetentionDays.ONE_MONTH, cdk.RemovalPolicy.DESTROY
    made = construct_of(
        logs.LogGroup, logs.LogGroupProps, ours, "Logs", retention=month, removal_policy=going, log_group_name=None
    )
    logs.LogGroup(theirs, "Logs", retention=month, removal_policy=going)
    assert Template.from_stack(ours).to_json() == Template.from_stack(theirs).to_json()
    assert isinstance(made, logs.LogGroup)
    assert ours.node.find_child("Logs") is made


def test_node_refuses_a_value_of_another_kind() -> None:
    with pytest.raises(RuntimeError, match="Value is not a string"):
        construct_of(logs.LogGroup, logs.LogGroupProps, cdk.Stack(), "Logs", log_group_name=[1])


def test_an_argument_that_this_cdk_does_not_have_is_named() -> None:
    with pytest.raises(TypeError, match="LogGroupProps of this version of aws-cdk-lib does not take colour"):
        construct_of(logs.LogGroup, logs.LogGroupProps, cdk.Stack(), "Logs", colour="red", shade=None)
