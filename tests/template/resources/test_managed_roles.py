"""Whether ECS may start Managed Instances and pass their role, read from the roles of a template."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool
from tests.template.resources.declared import joined, only_pool

AWS_POLICY = "arn:aws:iam::aws:policy/AmazonECSInfrastructureRolePolicyForManagedInstances"
PASSES = {"PolicyName": "Pass", "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "iam:PassRole"}]}}


def managed(host: dict[str, Any], infrastructure: dict[str, Any], others: dict[str, Any] | None = None) -> Pool:
    """What is read of a provider whose roles have these properties."""
    return only_pool(
        {
            "Host": {"Type": "AWS::IAM::Role", "Properties": host},
            "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Host"}]}},
            "Infrastructure": {"Type": "AWS::IAM::Role", "Properties": infrastructure},
            "Other": {"Type": "AWS::IAM::Role", "Properties": {}},
            "Mi": {
                "Type": "AWS::ECS::CapacityProvider",
                "Properties": {
                    "ManagedInstancesProvider": {
                        "InfrastructureRoleArn": {"Fn::GetAtt": ["Infrastructure", "Arn"]},
                        "InstanceLaunchTemplate": {"Ec2InstanceProfileArn": {"Fn::GetAtt": ["Profile", "Arn"]}},
                    }
                },
            },
            **(others or {}),
        }
    )


def passes(host: dict[str, Any], infrastructure: dict[str, Any], others: dict[str, Any] | None = None) -> Any:
    return managed(host, infrastructure, others).passes_host_role


def policy(role: Any) -> dict[str, Any]:
    return {"Grant": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "Grant", "Roles": [role]}}}


ALONE = {"ManagedPolicyArns": [AWS_POLICY]}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ({}, False),
        ({"RoleName": "gpu-hosts"}, False),
        ({"RoleName": "ecsInstanceRole"}, True),
        ({"RoleName": joined("ecsInstanceRole-", {"Ref": "AWS::Region"})}, True),
        ({"RoleName": joined("gpu-hosts-", {"Ref": "AWS::Region"})}, False),
        ({"RoleName": joined("ecs", {"Ref": "Suffix"})}, UNKNOWN),
        ({"RoleName": joined({"Ref": "Prefix"}, "ecsInstanceRole")}, UNKNOWN),
        ({"RoleName": "ecsInstanceRoleOfGpus"}, True),
        ({"RoleName": {"Ref": "Name"}}, UNKNOWN),
    ],
)
def test_aws_policy_alone_passes_names_of_one_beginning(host: dict[str, Any], expected: Any) -> None:
    assert passes(host, ALONE) is expected


def test_the_partition_may_be_open() -> None:
    arn = joined(
        "arn:", {"Ref": "AWS::Partition"}, ":iam::aws:policy/AmazonECSInfrastructureRolePolicyForManagedInstances"
    )
    assert passes({}, {"ManagedPolicyArns": [arn]}) is False


@pytest.mark.parametrize(
    "infrastructure",
    [
        {},
        {"ManagedPolicyArns": []},
        {"ManagedPolicyArns": [AWS_POLICY, "arn:aws:iam::123456789012:policy/pass"]},
        {"ManagedPolicyArns": ["arn:aws:iam::123456789012:policy/managed-instances"]},
        {"ManagedPolicyArns": {"Ref": "Arns"}},
        {**ALONE, "Policies": [PASSES]},
    ],
)
def test_any_other_policy_may_pass_the_role(infrastructure: dict[str, Any]) -> None:
    assert passes({}, infrastructure) is UNKNOWN


@pytest.mark.parametrize(("role", "expected"), [("Infrastructure", UNKNOWN), ("Nowhere", UNKNOWN), ("Other", False)])
def test_a_policy_elsewhere_in_the_template(role: str, expected: Any) -> None:
    assert passes({}, ALONE, policy({"Ref": role})) is expected


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ({"Service": "ec2.amazonaws.com"}, False),
        ({"Service": ["ecs-tasks.amazonaws.com", "ec2.amazonaws.com"]}, False),
        ({"Service": "ecs.amazonaws.com"}, True),
        ({"Service": ["ec2.amazonaws.com", "ecs.amazonaws.com"]}, True),
        ({"Service": joined("ecs.", {"Ref": "AWS::URLSuffix"})}, UNKNOWN),
        ({"AWS": "*"}, UNKNOWN),
        ("*", UNKNOWN),
        ({"AWS": ["arn:aws:iam::123456789012:root", {"Ref": "Somebody"}]}, UNKNOWN),
        ({"AWS": "arn:aws:iam::123456789012:root"}, False),
        ({"AWS": joined("arn:", {"Ref": "AWS::Partition"}, ":iam::123456789012:root")}, False),
        ({"Federated": "cognito-identity.amazonaws.com"}, False),
        ({"AWS": "arn:aws:iam::123456789012:root", "Service": "ecs.amazonaws.com"}, True),
    ],
)
def test_ecs_has_to_be_trusted_with_the_infrastructure_role(principal: Any, expected: Any) -> None:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    assert managed({}, {"AssumeRolePolicyDocument": {"Statement": [statement]}}).trusts_ecs is expected


ALLOWED = {"Effect": "Allow", "Principal": {"Service": "ecs.amazonaws.com"}, "Action": "sts:AssumeRole"}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([{**ALLOWED, "Action": "sts:TagSession"}], False),
        ([{**ALLOWED, "Action": ["sts:TagSession", "sts:Assume*"]}], True),
        ([{**ALLOWED, "Action": {"Ref": "Action"}}], UNKNOWN),
        ([{**ALLOWED, "Effect": "Deny"}], False),
        ([ALLOWED, {**ALLOWED, "Effect": "Deny"}], False),
        ([ALLOWED, {**ALLOWED, "Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}], UNKNOWN),
        ([ALLOWED, {**ALLOWED, "Effect": "Deny", "Principal": {"AWS": "*"}}], UNKNOWN),
        ([ALLOWED, {**ALLOWED, "Effect": "Deny", "Principal": {"Service": "ec2.amazonaws.com"}}], True),
        ([{**ALLOWED, "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}}}], True),
        ([{**ALLOWED, "Principal": {"Service": "ec2.amazonaws.com"}}, {**ALLOWED, "Action": "sts:*"}], True),
    ],
)
def test_every_statement_of_a_trust_policy_counts(statements: list[Any], expected: Any) -> None:
    assert managed({}, {"AssumeRolePolicyDocument": {"Statement": statements}}).trusts_ecs is expected
