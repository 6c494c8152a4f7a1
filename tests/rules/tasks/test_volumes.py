"""Volumes of a task: hosts that can mount them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reports import of_part
from tests.rules.changed import severities

_VOLUME = """  Task:
    Properties: {Volumes: [{Name: models, %s}]}
"""
_REXRAY = _VOLUME % "DockerVolumeConfiguration: {Driver: rexray/ebs}"
_DAEMON = """  Installs:
    Type: AWS::ECS::Service
    Properties: {Cluster: !Ref Cluster, TaskDefinition: installs, SchedulingStrategy: DAEMON}
"""
_EFS = _VOLUME % "EFSVolumeConfiguration: {FilesystemId: fs-12345678%s}"
_ENCRYPTED = _EFS % ", TransitEncryption: ENABLED"
_WITH_ROLE = _EFS % ", AuthorizationConfig: {IAM: ENABLED}"
_AT_A_POINT = _EFS % ", AuthorizationConfig: {AccessPointId: fsap-1}"
_BOTTLEROCKET = """  Template:
    Properties:
      LaunchTemplateData:
        ImageId: resolve:ssm:/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/latest/image_id
"""
_MANAGED = """  Provider:
    Properties:
      ClusterName: !Ref Cluster
      AutoScalingGroupProvider: null
      ManagedInstancesProvider:
        InfrastructureRoleArn: arn:aws:iam::111122223333:role/infrastructure
        InstanceLaunchTemplate:
          Ec2InstanceProfileArn: arn:aws:iam::111122223333:instance-profile/ecsInstanceRole
          NetworkConfiguration: {Subnets: [subnet-12345678]}
          InstanceRequirements:
            VCpuCount: {Min: 4, Max: 4}
            MemoryMiB: {Min: 16384, Max: 16384}
            AllowedInstanceTypes: [g6.xlarge]
"""


@pytest.mark.parametrize(
    ("part", "severities"),
    [
        (_REXRAY, ["error"]),
        (_REXRAY + "  Service: null\n", ["error"]),
        (_REXRAY + "  Template: {Properties: {LaunchTemplateData: {ImageId: ami-0123456789abcdef0}}}\n", []),
        (_REXRAY + "  Runs: {Type: AWS::SSM::Association, Properties: {Name: AWS-RunShellScript}}\n", []),
        (_REXRAY + _DAEMON, []),
        (_ENCRYPTED + _BOTTLEROCKET, ["warning"]),
        (_WITH_ROLE + _BOTTLEROCKET, ["warning"]),
        (_AT_A_POINT + _BOTTLEROCKET, ["warning"]),
        (_EFS % "" + _BOTTLEROCKET, []),
        (_ENCRYPTED, []),
        (_ENCRYPTED + _MANAGED, []),  # on Bottlerocket of AWS's own
    ],
)
def test_a_volume_that_nothing_mounts_is_named(part: str, severities: list[str]) -> None:
    found = of_part("GPU317", f"Parameters: {{Driver: {{Type: String}}}}\nResources:\n{part}")
    assert [str(each.severity) for each in found] == severities


def _rule(**more: Any) -> dict[str, Any]:
    written = {"GroupId": {"Ref": "OfFiles"}, "IpProtocol": "tcp", "FromPort": 2049, "ToPort": 2049, **more}
    return {"In": {"Type": "AWS::EC2::SecurityGroupIngress", "Properties": written}}


_WITHIN = _rule(SourceSecurityGroupId={"Ref": "OfFiles"})
_TOPIC = {"Type": "AWS::SNS::Topic", "Properties": {"FileSystemId": {"Fn::ImportValue": "files"}}}
_FROM_HOSTS = _rule(SourceSecurityGroupId={"Ref": "OfHosts"})
_HTTPS_OUT = {"SecurityGroupEgress": [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0"}]}


def _runs(script: str) -> dict[str, Any]:
    return {"Template": {"LaunchTemplateData": {"UserData": {"Fn::Base64": f"#!/bin/bash\n{script}\n"}}}}


def _opens(service: str) -> dict[str, Any]:
    return {"Opens": {"Type": "Custom::AWS", "Properties": {"Create": f'{{"service":"EC2","action":"{service}"}}'}}}


def _may(action: str, resource: Any = "*") -> dict[str, Any]:
    document = {"Statement": {"Effect": "Allow", "Action": action, "Resource": resource}}
    return {"May": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}}


_OF_FILES = {"System": {"Ref": "Files"}}
_VPC = {"Vpc": {"Type": "AWS::EC2::VPC"}}
_NO_PLUGIN = "resolve:ssm:/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/latest/image_id"
_INTERFACE = {"Subnets": ["subnet-12345678"], "SecurityGroups": [{"Ref": "OfHosts"}]}
_WITH_INTERFACES: Any = {
    "Task": {"NetworkMode": "awsvpc"},
    "Service": {"NetworkConfiguration": {"AwsvpcConfiguration": _INTERFACE}},
}


@pytest.mark.parametrize(
    ("properties", "others", "expected"),
    [
        (_runs("aws ec2 modify-network-interface-attribute --network-interface-id $I --groups sg-1 sg-2"), _WITHIN, []),
        (_runs("aws ec2 modify-instance-attribute --instance-id $I --groups sg-1"), _WITHIN, []),
        (_runs("aws ec2 describe-instances"), _WITHIN, ["error"]),
        ({}, _opens("authorizeSecurityGroupIngress"), []),
        ({}, _opens("describeSecurityGroups"), ["error"]),
        ({}, _may("ec2:Authorize*"), []),
        ({}, {**_may("ec2:*", [{"Fn::Sub": "arn:aws:ec2:::*/${Vpc.DefaultSecurityGroup}"}]), **_VPC}, ["error"]),
        ({}, _may("ec2:*", [{"Fn::Sub": "arn:aws:ec2:::*/${OfHosts}"}, {"Fn::GetAtt": ["OfFiles", "GroupId"]}]), []),
        ({}, _may("elasticfilesystem:*"), ["error"]),
        ({}, _rule(FromPort=80, ToPort=80), ["error"]),
        ({}, _WITHIN, ["error"]),
        (_WITH_INTERFACES, _WITHIN, ["error"]),
        # Docker mounts in the network namespace of the host.
        ({**_WITH_INTERFACES, "Template": {"LaunchTemplateData": {"ImageId": _NO_PLUGIN}}}, _WITHIN, []),
        ({}, _FROM_HOSTS, []),
        ({}, _rule(SourcePrefixListId="pl-1"), []),
        ({"MountTarget": {"SecurityGroups": None}}, {}, []),
        ({"MountTarget": {"FileSystemId": {"Fn::ImportValue": "files"}}}, {}, []),
        ({"OfHosts": _HTTPS_OUT}, _FROM_HOSTS, ["error"]),
        ({}, {"MountTarget": _TOPIC}, ["error"]),
        ({}, {"MountTarget": _TOPIC, "exported": "Files"}, []),
        ({}, {"MountTarget": {"Type": "Custom::MountTarget", "Properties": {"System": {"Ref": "Files"}}}}, []),
        ({}, {"MountTarget": {"Type": "AWS::Serverless::Application", "Properties": {"Parameters": _OF_FILES}}}, []),
        ({}, {"MountTarget": {"Type": "Custom::Call", "Properties": {"Action": "createMountTarget"}}}, []),
        ({}, {"MountTarget": {**_TOPIC, "Type": "AWS::EFS::MountTarget"}}, []),  # of a system of elsewhere, or of this
    ],
)
def test_a_task_mounts_where_security_groups_let_it(properties: Any, others: Any, expected: list[str]) -> None:
    assert severities("GPU393", properties, **others) == expected
