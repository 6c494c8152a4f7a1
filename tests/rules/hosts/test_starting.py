"""Whoever starts hosts may do so: with the role that is for it, and with the key of their volumes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rules.changed import custom, severities


def _grant(role: Any) -> dict[str, Any]:
    return {"Grant": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "Grant", "Roles": [role]}}}


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("ecsInstanceRole", {}, []),
        ({"Fn::Sub": "gpu-hosts-${AWS::Region}"}, {}, ["error"]),
        ({"Fn::Join": ["", ["ecs", {"Fn::ImportValue": "Suffix"}]]}, {}, []),
        ({"Fn::ImportValue": "Name"}, {}, []),
        # any other policy may pass the role
        *(("hosts", _grant(each), []) for each in ({"Ref": "InfrastructureRole"}, {"Fn::ImportValue": "Role"})),
        ("hosts", _grant({"Ref": "HostRole"}), ["error"]),
    ],
)
def test_aws_policy_alone_passes_names_of_one_beginning(name: Any, others: Any, expected: list[str]) -> None:
    assert severities("GPU190", {"HostRole": {"RoleName": name}}, **others) == expected


_ALLOWED = {"Effect": "Allow", "Principal": {"Service": "ecs.amazonaws.com"}, "Action": "sts:AssumeRole"}
_DENIED = {**_ALLOWED, "Effect": "Deny"}
_PASSED = {"HostRole": {"RoleName": "ecsInstanceRole"}}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([_ALLOWED], []),
        ([{**_ALLOWED, "Principal": {"Service": "ec2.amazonaws.com"}}], ["error"]),
        ([{**_ALLOWED, "Principal": {"Service": {"Fn::Sub": "ecs.${AWS::URLSuffix}"}}}], []),
        ([{**_ALLOWED, "Principal": {"AWS": ["arn:aws:iam::123456789012:root", {"Fn::ImportValue": "Who"}]}}], []),
        ([{**_ALLOWED, "Action": ["sts:TagSession", "sts:Assume*"]}], []),
        ([{**_ALLOWED, "Action": {"Fn::ImportValue": "Action"}}], []),
        ([_DENIED], ["error"]),
        ([_ALLOWED, {**_DENIED, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}], []),
        ([_ALLOWED, {**_DENIED, "Principal": {"AWS": "*"}}], []),
    ],
)
def test_every_statement_of_a_trust_policy_counts(statements: list[Any], expected: list[str]) -> None:
    trust = {"AssumeRolePolicyDocument": {"Statement": statements}}
    assert severities("GPU190", {**_PASSED, "InfrastructureRole": trust}) == expected


def _inline(*actions: str) -> list[dict[str, Any]]:
    statement = {"Effect": "Allow", "Action": [*actions], "Resource": "*"}
    return [{"PolicyName": "own", "PolicyDocument": {"Statement": [statement]}}]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ManagedPolicyArns": ["service-role/AmazonECSInfrastructureRolePolicyForVolumes"]}, ["error"]),
        ({"ManagedPolicyArns": [], "Policies": _inline("ec2:*")}, []),
        ({"ManagedPolicyArns": [], "Policies": _inline("ec2:CreateFleet")}, []),
        ({"ManagedPolicyArns": ["policy/Own"]}, []),
    ],
)
def test_the_role_of_managed_instances_starts_them(changes: dict[str, Any], expected: list[str]) -> None:
    assert severities("GPU190", {**_PASSED, "InfrastructureRole": changes}) == expected


def test_an_empty_list_of_policies_passes_no_role() -> None:
    assert severities("GPU190", {"InfrastructureRole": {"Policies": []}}) == ["error"]


_ACCOUNT: Any = {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}}
_OF_AWS = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_DISK = {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "KmsKeyId": {"Fn::GetAtt": ["Key", "Arn"]}}}
_JOINS = {"Fn::Base64": {"Fn::Sub": "#!/bin/bash\necho ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config\n"}}
_HOST = {"Type": "AWS::EC2::Instance", "Properties": {"UserData": _JOINS, "BlockDeviceMappings": [_DISK]}}
_OF_JOBS = {"Type": "EC2", "InstanceTypes": ["g6.xlarge"], "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}}}
_JOBS = {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"Type": "MANAGED", "ComputeResources": _OF_JOBS}}


_FUNCTION = "AWS::Lambda::Function"
_GRANTS = {"Type": _FUNCTION, "Properties": {"Code": {"ZipFile": "client.create_grant(KeyId=KEY)"}}}


def _call(action: str) -> dict[str, Any]:
    """As `AwsCustomResource` of CDK writes a call."""
    text = json.dumps({"service": "KMS", "action": action, "parameters": {"KeyId": "alias/hosts"}})
    return {"Type": "Custom::AWS", "Properties": {"Create": text}}


def _machine(key: Any, action: str = "aws-sdk:kms:createGrant") -> dict[str, Any]:
    state = {"Type": "Task", "Resource": f"arn:aws:states:::{action}", "Parameters": {"KeyId": key}, "End": True}
    definition = {"StartAt": "Grant", "States": {"Grant": state}}
    return {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"Definition": definition}}


def _allows(action: Any, effect: str = "Allow", key: str = "Action") -> dict[str, Any]:
    statement = {"Effect": effect, key: action, "Resource": {"Fn::GetAtt": ["Key", "Arn"]}}
    document = {"Statement": [statement]}
    return {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "R"}], "PolicyDocument": document}}


def _with_policy(name: str) -> dict[str, Any]:
    return {"Type": "AWS::IAM::Role", "Properties": {"ManagedPolicyArns": [f"arn:aws:iam::aws:policy/{name}"]}}


def _key_findings(principals: list[Any], spec: Any = None, **others: Any) -> list[str]:
    statements = [{"Effect": "Allow", "Action": "kms:*", "Resource": "*", "Principal": each} for each in principals]
    key = {"Type": "AWS::KMS::Key", "Properties": {"KeySpec": spec, "KeyPolicy": {"Statement": statements}}}
    with_disk = {"Template": {"LaunchTemplateData": {"BlockDeviceMappings": [_DISK]}}}
    return severities("GPU396", with_disk, of="GPU228", **{"Key": key, "R": {"Type": "AWS::IAM::Role"}, **others})


@pytest.mark.parametrize(
    ("principals", "others", "expected"),
    [
        ([_ACCOUNT], {"Alias": custom("Key", "AWS::KMS::Alias")}, ["error"]),
        ([_ACCOUNT, {"Service": "logs.us-east-1.amazonaws.com"}, {"AWS": {"Fn::GetAtt": ["R", "Arn"]}}], {}, ["error"]),
        ([_ACCOUNT, {"AWS": {"Fn::Sub": f"arn:aws:iam::${{AWS::AccountId}}:{_OF_AWS}"}}], {}, []),
        ([_ACCOUNT, {"AWS": "*"}], {}, []),
        ([_ACCOUNT, {"AWS": {"Ref": "Role"}}], {}, []),
        ([_ACCOUNT], {"Grant": custom("Key")}, []),
        ([_ACCOUNT], {"Grant": custom("Alias"), "Alias": custom("Key", "AWS::KMS::Alias")}, []),
        ([_ACCOUNT], {"Grant": custom("By"), "By": custom("To", _FUNCTION), "To": custom("Key", _FUNCTION)}, []),
        ([_ACCOUNT], {"Grant": custom("By"), "By": custom("R", _FUNCTION), "Policy": _allows("kms:CreateGrant")}, []),
        ([_ACCOUNT], {"Grant": custom("Key", "Acme::Keys::Grant")}, []),
        ([_ACCOUNT], {"Steps": _machine({"Ref": "Key"})}, []),
        ([_ACCOUNT], {"Steps": _machine("alias/hosts")}, ["warning"]),
        ([_ACCOUNT], {"Steps": _machine({"Ref": "Key"}, "lambda:invoke")}, ["error"]),
        *(([_ACCOUNT], {"Call": _call(each)}, ["warning"]) for each in ("createGrant", "PutKeyPolicyCommand")),
        ([_ACCOUNT], {"Call": _call("describeKey")}, ["error"]),
        ([_ACCOUNT], {"Grant": custom("By"), "By": _GRANTS}, ["warning"]),
        *(
            ([_ACCOUNT], {"May": _allows(each)}, ["warning"])
            for each in ("kms:*", "*", ["s3:GetObject", "kms:create*"], {"Fn::ImportValue": "Action"})
        ),
        ([_ACCOUNT], {"May": _allows("kms:Decrypt")}, ["error"]),
        ([_ACCOUNT], {"May": _allows("kms:*", "Deny")}, ["error"]),
        ([_ACCOUNT], {"May": _allows("s3:*", key="NotAction")}, ["warning"]),
        ([_ACCOUNT], {"May": _with_policy("AdministratorAccess")}, ["warning"]),
        ([_ACCOUNT], {"May": _with_policy("AmazonEC2FullAccess")}, ["error"]),
        ([_ACCOUNT], {"Stored": custom("Key", "AWS::SSM::Parameter", "Value")}, ["warning"]),
        ([_ACCOUNT], {"Grant": {"Type": "Custom::KeyPermission"}}, ["warning"]),
        ([_ACCOUNT], {"Nested": {"Type": "AWS::CloudFormation::Stack"}}, ["warning"]),
        ([_ACCOUNT], {"Host": _HOST}, ["error"]),
        ([_ACCOUNT], {"Jobs": _JOBS}, ["error", "warning"]),
        (["*"], {"spec": "RSA_2048"}, ["error"]),  # EBS takes no such key
        (["*"], {"spec": "HMAC_256", "Jobs": _JOBS}, ["error", "error"]),
        (["*"], {"spec": "SYMMETRIC_DEFAULT"}, []),
        (["*"], {"spec": {"Fn::ImportValue": "Spec"}}, []),
    ],
)
def test_the_key_of_volumes_lets_auto_scaling_in(
    principals: list[Any], others: dict[str, Any], expected: list[str]
) -> None:
    assert _key_findings(principals, **others) == expected


def test_a_key_of_no_file_lets_in_whom_it_lets_in() -> None:
    disks = [{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "KmsKeyId": "alias/hosts"}}]
    assert severities("GPU396", {"Template": {"LaunchTemplateData": {"BlockDeviceMappings": disks}}}, of="GPU228") == []


def test_a_key_that_another_stack_imports_may_get_a_grant_there() -> None:
    assert _key_findings([_ACCOUNT], exported="Key") == ["warning"]
    for reader, key in (("AWS::SNS::Topic", "KmsMasterKeyId"), ("AWS::Logs::LogGroup", "KmsKeyId")):
        imported = {"Type": reader, "Properties": {key: {"Fn::ImportValue": "Key"}}}
        assert _key_findings([_ACCOUNT], exported="Key", Reader=imported) == ["error"]
