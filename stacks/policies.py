"""What the AwsSolutions rules of cdk-nag find in a reference stack, and why it stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import aws_cdk as cdk

__all__ = ["ACCEPTED", "accept_findings"]

ACCEPTED: Mapping[str, str] = MappingProxyType(
    {
        "AwsSolutions::AwsSolutions-VPC7": (
            "the network is there for one demonstration and goes with it; flow logs belong to a network that stays"
        ),
        "AwsSolutions::AwsSolutions-IAM5[Resource::*]": (
            "ecs:DiscoverPollEndpoint, ssm:UpdateInstanceInformation and ssmmessages know no resources in IAM, and "
            "ecs:Poll and its kind are narrowed to this cluster by a condition"
        ),
        "AwsSolutions::AwsSolutions-AS3": (
            "ECS managed scaling moves the groups all day; what matters is in the cluster's Container Insights"
        ),
        "AwsSolutions::AwsSolutions-ECS2": (
            "the only variable is NVIDIA_DRIVER_CAPABILITIES, which says what a container may do with its GPUs and is "
            "no secret"
        ),
        "AwsSolutions::AwsSolutions-EC26": (
            "the rule cannot follow a mixed instances policy to its launch template, where every volume is encrypted"
        ),
    }
)


def accept_findings(stack: cdk.Stack) -> None:
    """Acknowledges each known finding on the whole stack, with its reason."""
    cdk.Validations.of(stack).acknowledge(
        *(cdk.Acknowledgment(id=rule, reason=reason) for rule, reason in ACCEPTED.items())
    )
