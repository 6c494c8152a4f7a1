"""The network that a reference stack brings along, so that it deploys into an empty account."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.decided import decide

__all__ = ["demo_vpc"]


def demo_vpc(scope: Construct, zone: str | None = None) -> ec2.Vpc:
    """Defines a VPC with one NAT gateway, which costs money as long as the stack stands.

    Args:
        scope: Where it is defined.
        zone: Its only zone. By default two are picked at deploy time, so that synthesizing needs no account.
    """
    vpc = ec2.Vpc(
        scope,
        "Vpc",
        max_azs=2 if zone is None else None,
        availability_zones=None if zone is None else [zone],
        nat_gateways=1,
        # True brings a custom resource on Lambda, and a role for it, into a demonstration.
        restrict_default_security_group=False,
        gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
    )
    decide(vpc, {"VPC7": "the network goes with one demonstration; flow logs belong to a network that stays"})
    return vpc
