"""What roles may do: statements as IAM has them, which CDK takes in one call into Node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam


def allowed(
    sid: str | None,
    action: str | Sequence[str],
    resource: str | Sequence[str],
    condition: Mapping[str, object] | None = None,
) -> Mapping[str, object]:
    """A statement that allows something; `sid` is its name, None without one."""
    statement = {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": resource, "Condition": condition}
    return {name: value for name, value in statement.items() if value is not None}


def policy_of(*statements: Mapping[str, object]) -> iam.PolicyDocument:
    """The policy with these statements."""
    return iam.PolicyDocument.from_json({"Version": "2012-10-17", "Statement": list(statements)})
