"""Compute environments in a reservation, and in subnets without a way out."""

from __future__ import annotations

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.rules import Severity
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
