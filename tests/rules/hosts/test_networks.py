"""Hosts and services of a template reach what they need, as far as its network shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.changed import severities

_ANYWHERE = {"CidrIp": "0.0.0.0/0"}
_CLOSED = {"IpProtocol": "icmp", "FromPort": 252, "ToPort": 86, "CidrIp": "255.255.255.255/32"}


def _ec2(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": f"AWS::EC2::{kind}", "Properties": properties}


def _egress(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"OfHosts": {"SecurityGroupEgress": [*rules]}}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([_CLOSED], ["error"]),
        ([{"IpProtocol": "tcp", "FromPort": 0, "ToPort": 442, **_ANYWHERE}], ["error"]),
        ([_CLOSED, {"IpProtocol": "-1", **_ANYWHERE}], []),
        ([{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "DestinationSecurityGroupId": "sg-1"}], []),
        ([{"Fn::ImportValue": "Rule"}], []),
        ([], []),
    ],
)
def test_hosts_are_let_out_to_aws(rules: list[dict[str, Any]], expected: list[str]) -> None:
    assert severities("GPU277", _egress(*rules)) == expected


def test_other_groups_and_rules_may_let_hosts_out() -> None:
    data = {"Template": {"LaunchTemplateData": {"SecurityGroupIds": [{"Ref": "OfHosts"}, "sg-1"]}}}
    assert severities("GPU277", data) == []
    rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, **_ANYWHERE}
    for group in ({"Fn::GetAtt": ["OfHosts", "GroupId"]}, "sg-1"):
        assert severities("GPU277", Rule=_ec2("SecurityGroupEgress", GroupId=group, **rule)) == []


def _public(**properties: Any) -> dict[str, Any]:
    table = {"Ref": "Routes"}
    route = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": {"Ref": "Gateway"}}
    return {"Gateway": _ec2("InternetGateway"), "Out": _ec2("Route", **{**route, **properties})}


@pytest.mark.parametrize(
    ("properties", "route", "expected"),
    [
        ({}, {}, ["error"]),
        ({"Subnet": {"MapPublicIpOnLaunch": False}}, {}, ["error"]),
        ({"Subnet": {"MapPublicIpOnLaunch": True}}, {}, []),
        ({"Subnet": {"MapPublicIpOnLaunch": {"Fn::ImportValue": "Map"}}}, {}, []),
        ({"Template": {"LaunchTemplateData": {"NetworkInterfaces": [{"AssociatePublicIpAddress": True}]}}}, {}, []),
        ({}, {"GatewayId": None, "NatGatewayId": "nat-1"}, []),
        ({}, {"GatewayId": "igw-1"}, []),
        ({}, {"DestinationCidrBlock": None, "DestinationIpv6CidrBlock": "::/0"}, []),
    ],
)
def test_an_internet_gateway_is_for_hosts_with_a_public_address(
    properties: dict[str, Any], route: dict[str, Any], expected: list[str]
) -> None:
    assert severities("GPU228", properties, **_public(**route)) == expected
