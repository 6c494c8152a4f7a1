"""Compute environments in a reservation, and in subnets without a way out."""

from __future__ import annotations

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.rules import Severity
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from tools.rule_examples import example_of

_RESERVED = """
Resources:
  Reserved:
    Type: AWS::EC2::CapacityReservation
    Properties: {AvailabilityZone: us-east-1a, InstanceType: g6.2xlarge, InstancePlatform: Linux/UNIX, InstanceCount: 4}
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        CapacityReservationSpecification:
          CapacityReservationTarget: {CapacityReservationId: !Ref Reserved}
  Environment:
    Properties:
      ComputeResources:
        LaunchTemplate: {LaunchTemplateId: !Ref Template}
"""
_ISOLATED = """
Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/24}}
  Routes: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref Vpc}}
  Joined:
    Type: AWS::EC2::SubnetRouteTableAssociation
    Properties: {SubnetId: !Ref Subnet, RouteTableId: !Ref Routes}
  Environment:
    Properties:
      ComputeResources:
        Subnets: [!Ref Subnet]
"""


@pytest.mark.parametrize(
    ("part", "rule", "property_name"),
    [
        (_RESERVED, "GPU310", "ComputeResources.InstanceTypes"),
        (_ISOLATED, "GPU228", "ComputeResources.Subnets"),
    ],
)
def test_hosts_that_never_start_or_register_are_an_error(part: str, rule: str, property_name: str) -> None:
    template = example_of("GPU296").file(part)
    (finding,) = (each for each in check_files(["-"], stdin=template.encode()).findings if each.rule == rule)
    assert (finding.severity, finding.subject) == (Severity.ERROR, "Environment")
    assert finding.property_name == property_name
    assert finding.origin is not None
    assert property_name.split(".")[1] in finding.origin.path


_LAUNCHED = """
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties: {LaunchTemplateData: {ImageId: /aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended}}
  Environment:
    Properties: {ComputeResources: {Ec2Configuration: null, LaunchTemplate: {LaunchTemplateId: !Ref Template}}}
"""
_OVERRIDDEN = "{ImageIdOverride: ami-0123456789abcdef0, ImageType: ECS_AL2023_NVIDIA}"


def rules_of(part: str) -> list[str]:
    findings = check_files(["-"], stdin=example_of("GPU296").file(part).encode()).findings
    return [each.rule for each in findings if each.severity is Severity.ERROR or each.rule == UNCHECKED]


def test_an_image_of_a_launch_template_is_looked_at_where_nothing_takes_its_place() -> None:
    assert rules_of(_LAUNCHED) == ["GPU360"]
    assert rules_of(_LAUNCHED.replace("Ec2Configuration: null", f"Ec2Configuration: [{_OVERRIDDEN}]")) == []
    assert rules_of(_LAUNCHED.replace("Ec2Configuration: null", "ImageId: ami-0123456789abcdef0")) == []


_ON_CPU = """  Job:
    Properties:
      ContainerProperties: {ResourceRequirements: [{Type: VCPU, Value: "1"}, {Type: MEMORY, Value: "900"}]}
"""


@pytest.mark.parametrize(
    ("environment", "of_gpu_job"),
    [
        ("ComputeResources: {InstanceTypes: [optimal]}", ["GPU295"]),
        ("ComputeResources: {InstanceTypes: [default_x86_64]}", ["GPU295"]),
        ("{Type: UNMANAGED, ComputeResources: null}", [UNCHECKED]),
    ],
)
def test_a_job_without_gpus_is_checked_where_its_environment_is_in_the_file(
    environment: str, of_gpu_job: list[str]
) -> None:
    part = f"Resources:\n  Environment:\n    Properties:\n      {environment}\n"
    assert rules_of(part) == of_gpu_job
    assert rules_of(part + _ON_CPU) == []
