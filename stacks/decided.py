"""What cdk-nag's AwsSolutions pack asks and a reference stack answers, since its user would have to."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import IConstruct

__all__ = ["decide"]


def decide(scope: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledges findings by their ids, each with the reason why it stays."""
    for finding, reason in reasons.items():
        rule = cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{finding}", reason=reason)
        cdk.Validations.of(scope).acknowledge(rule)
