"""Policies of roles: as documents of IAM, which CDK takes in one call into Node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam


def allowed(
    sid: str, action: str | Sequence[str], resource: str | Sequence[str], condition: Mapping[str, object] | None = None
) -> Mapping[str, object]:
    """A statement that allows something."""
    statement = {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": resource}
    return statement if condition is None else {**statement, "Condition": condition}


def policy_of(*statements: Mapping[str, object]) -> iam.PolicyDocument:
    """The policy with these statements."""
    return iam.PolicyDocument.from_json({"Version": "2012-10-17", "Statement": list(statements)})
