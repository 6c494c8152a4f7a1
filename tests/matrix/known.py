"""What checkers say of every matrix and is meant to be so, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import aws_cdk as cdk

__all__ = ["ACCEPTED", "KNOWN_WARNINGS", "NOT_OFFERED", "Accepted"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding of cdk-nag that is by design.

    Args:
        rule: As cdk-nag prints it behind "Acknowledge with"; ``{group}`` stands for the beginning of the name
            that CloudFormation makes for every Auto Scaling group.
        reason: Why it stays.
    """

    rule: str
    reason: str

    def acknowledgements(self, groups: Sequence[str]) -> list[cdk.Acknowledgment]:
        """What a stack with these Auto Scaling groups acknowledges."""
        rules = [self.rule.format(group=group) for group in groups] if "{group}" in self.rule else [self.rule]
        return [cdk.Acknowledgment(id=rule, reason=self.reason) for rule in rules]


ACCEPTED = (
    Accepted(
        "AwsSolutions::AwsSolutions-VPC7",
        "the network is there for the matrix alone; flow logs belong to a network that stays",
    ),
    Accepted(
        "AwsSolutions::AwsSolutions-IAM5[Resource::*]",
        "ecs:DiscoverPollEndpoint, ssm:UpdateInstanceInformation, ssmmessages, cloudwatch:PutMetricData and "
        "autoscaling:DescribeAutoScalingInstances know no resources in IAM, and what does is narrowed by a condition",
    ),
    Accepted(
        "AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>:"
        "autoScalingGroup:*:autoScalingGroupName/{group}-*]",
        "the ARN of an Auto Scaling group ends with what nobody knows before it exists; its name narrows it to one",
    ),
    Accepted(
        "AwsSolutions::AwsSolutions-AS3",
        "ECS managed scaling moves the groups all day; what matters is in the cluster's Container Insights",
    ),
    Accepted(
        "AwsSolutions::AwsSolutions-EC26",
        "the rule cannot follow a mixed instances policy to its launch template, where every volume is encrypted",
    ),
)

KNOWN_WARNINGS: Mapping[str, str] = MappingProxyType(
    {
        "GPU173": "images on local disks are lost when a host waits stopped: it works, and the pull is done again",
        "GPU177": "a warm pool beside a Capacity Block has hosts outside its schedule: it works, and they cost",
    }
)
"""Warnings of this library's own check that some legal combination deserves, by rule, each with its reason."""

_NOT_THERE = "DescribeInstanceTypeOfferings does not have it there (recorded by moto 5.2.5 on 2026-09-29)"

NOT_OFFERED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "eu-west-1": dict.fromkeys(
            (
                "g5g.xlarge",
                "g6.12xlarge",
                "g6.xlarge",
                "g6e.12xlarge",
                "g6f.2xlarge",
                "p5.48xlarge",
                "p5.4xlarge",
                "p6-b300.48xlarge",
                "trn1.32xlarge",
            ),
            _NOT_THERE,
        )
    }
)
"""Types that E3628 of cfn-lint 1.58 rightly refuses in a region, each with its reason."""
