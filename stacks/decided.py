"""What cdk-nag's AwsSolutions pack asks and a reference stack answers, since its user would have to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import aws_cdk as cdk
from constructs import IConstruct

__all__ = ["NO_ACCESS_LOGS", "decide"]

NO_ACCESS_LOGS: Mapping[str, str] = MappingProxyType(
    {"S1": "a demonstration keeps no access logs; give server_access_logs_bucket to a bucket that stays"}
)
"""Of a bucket."""


def decide(scope: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledges findings by their ids, each with the reason why it stays."""
    for finding, reason in reasons.items():
        rule = cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{finding}", reason=reason)
        cdk.Validations.of(scope).acknowledge(rule)
