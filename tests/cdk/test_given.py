"""Constructs of CDK that are made of the arguments that are given."""

from __future__ import annotations

import aws_cdk as cdk
import jsii
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Template
from constructs import Construct

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


@jsii.implements(cdk.IPropertyInjector)
class Injector:
    """Gives every construct of a kind one more argument, under the name that it has in Node."""

    def __init__(self, kind: type, name: str, value: object) -> None:
        self._kind, self._name, self._value = kind, name, value

    @property
    def construct_unique_id(self) -> str:
        return str(self._kind.PROPERTY_INJECTION_ID)  # type: ignore[attr-defined]  # set by CDK on what can be injected

    def inject(self, original_props: dict[str, object], *, scope: Construct, id: str) -> dict[str, object]:  # noqa: A002, ARG002 - as CDK calls it
        return {**original_props, self._name: self._value}


def test_what_an_app_injects_reaches_them_as_it_reaches_those_of_cdk() -> None:
    injectors = [
        Injector(logs.LogGroup, "logGroupName", "named"),
        Injector(ec2.LaunchTemplate, "versionDescription", "ours"),
    ]
    stack = cdk.Stack(cdk.App(property_injectors=injectors), "Stack")
    construct_of(logs.LogGroup, logs.LogGroupProps, stack, "Ours")
    logs.LogGroup(stack, "Theirs")
    construct_of(ec2.LaunchTemplate, ec2.LaunchTemplateProps, stack, "OurTemplate")
    ec2.LaunchTemplate(stack, "TheirTemplate")
    template = Template.from_stack(stack)
    template.resource_properties_count_is("AWS::Logs::LogGroup", {"LogGroupName": "named"}, 2)
    template.resource_properties_count_is("AWS::EC2::LaunchTemplate", {"VersionDescription": "ours"}, 2)


def test_node_refuses_a_value_of_another_kind() -> None:
    with pytest.raises(RuntimeError, match="Value is not a string"):
        construct_of(logs.LogGroup, logs.LogGroupProps, cdk.Stack(), "Logs", log_group_name=[1])


def test_an_argument_that_this_cdk_does_not_have_is_named() -> None:
    with pytest.raises(TypeError, match="LogGroupProps of this version of aws-cdk-lib does not take colour"):
        construct_of(logs.LogGroup, logs.LogGroupProps, cdk.Stack(), "Logs", colour="red", shade=None)
