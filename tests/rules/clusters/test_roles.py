"""What roles allow: to start Managed Instances and pass their role, to open a shell, to run a task."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.rules import check
from gpu_constructs.rules.hosts.starting import may_start_hosts
from tests.template.resources.declared import files as files_in
from tests.template.resources.declared import joined, resource


def said(host: dict[str, Any], infrastructure: dict[str, Any], others: dict[str, Any] | None = None) -> list[str]:
    """What is said of a provider whose roles have these properties."""
    managed = {
        "InfrastructureRoleArn": {"Fn::GetAtt": ["Infrastructure", "Arn"]},
        "InstanceLaunchTemplate": {"Ec2InstanceProfileArn": {"Fn::GetAtt": ["Profile", "Arn"]}},
    }
    files = files_in(
        {
            "Host": resource("IAM::Role", **host),
            "Profile": resource("IAM::InstanceProfile", Roles=[{"Ref": "Host"}]),
            "Infrastructure": resource("IAM::Role", **infrastructure),
            "Other": resource("IAM::Role"),
            "Mi": resource("ECS::CapacityProvider", ManagedInstancesProvider=managed),
            **(others or {}),
        }
    )
    return [each.message for each in check(files.fleet, rules=[may_start_hosts], files=files)]


def passes(host: dict[str, Any], infrastructure: dict[str, Any], others: dict[str, Any] | None = None) -> bool:
    """Whether nothing is said of the role that is passed."""
    return not any("may not pass the role" in each for each in said(host, infrastructure, others))


def policy(role: Any) -> dict[str, Any]:
    return {"Grant": resource("IAM::Policy", PolicyName="Grant", Roles=[role])}


ALONE = {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonECSInfrastructureRolePolicyForManagedInstances"]}


@pytest.mark.parametrize(
    ("host", "infrastructure", "others", "expected"),
    [
        ({"RoleName": "ecsInstanceRole"}, ALONE, {}, True),
        ({"RoleName": joined("gpu-hosts-", {"Ref": "AWS::Region"})}, ALONE, {}, False),
        ({"RoleName": joined("ecs", {"Ref": "Suffix"})}, ALONE, {}, UNKNOWN),
        ({"RoleName": {"Ref": "Name"}}, ALONE, {}, UNKNOWN),
        # any other policy may pass the role
        ({}, {}, {}, UNKNOWN),
        *(({}, ALONE, policy({"Ref": each}), UNKNOWN) for each in ("Infrastructure", "Nowhere")),
        ({}, ALONE, policy({"Ref": "Other"}), False),
    ],
)
def test_aws_policy_alone_passes_names_of_one_beginning(
    host: dict[str, Any], infrastructure: dict[str, Any], others: dict[str, Any], expected: Any
) -> None:
    assert passes(host, infrastructure, others) is (expected is not False)


ALLOWED = {"Effect": "Allow", "Principal": {"Service": "ecs.amazonaws.com"}, "Action": "sts:AssumeRole"}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([ALLOWED], True),
        ([{**ALLOWED, "Principal": {"Service": "ec2.amazonaws.com"}}], False),
        ([{**ALLOWED, "Principal": {"Service": joined("ecs.", {"Ref": "AWS::URLSuffix"})}}], UNKNOWN),
        ([{**ALLOWED, "Principal": {"AWS": ["arn:aws:iam::123456789012:root", {"Ref": "Somebody"}]}}], UNKNOWN),
        ([{**ALLOWED, "Action": ["sts:TagSession", "sts:Assume*"]}], True),
        ([{**ALLOWED, "Action": {"Ref": "Action"}}], UNKNOWN),
        ([{**ALLOWED, "Effect": "Deny"}], False),
        ([ALLOWED, {**ALLOWED, "Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}], UNKNOWN),
        ([ALLOWED, {**ALLOWED, "Effect": "Deny", "Principal": {"AWS": "*"}}], UNKNOWN),
    ],
)
def test_every_statement_of_a_trust_policy_counts(statements: list[Any], expected: Any) -> None:
    found = said({}, {"AssumeRolePolicyDocument": {"Statement": statements}})
    assert any("does not trust ecs.amazonaws.com" in each for each in found) is (expected is False)
