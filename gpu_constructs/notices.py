"""Warnings on the construct that they are about, acknowledged through CDK's own mechanism."""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from constructs import IConstruct

from gpu_constructs.rules import Finding

__all__ = ["warn"]


def warn(construct: IConstruct, findings: Iterable[Finding]) -> None:
    """Shows each finding at the construct.

    A user who means it acknowledges it, on the construct or any scope above it::

        Validations.of(capacity).acknowledge(Acknowledgment(id="gpu-constructs-GPU001", reason="our account has it"))

    Args:
        construct: What the findings are about.
        findings: What the rules say.
    """
    for finding in findings:
        cdk.Validations.of(construct).add_warning(f"gpu-constructs-{finding.rule}", finding.message)
