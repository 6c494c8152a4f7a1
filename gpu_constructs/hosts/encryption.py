"""What the policy of a user's key has to allow for the volumes of hosts and the logs of tasks."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError

_USE = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
_SYMMETRIC = "SYMMETRIC_DEFAULT"
_AUTO_SCALING = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


def let_key_be_used(key: kms.IKey) -> None:
    """Adds to the policy of a key what volumes of hosts and logs of tasks need. CDK cannot change an imported key.

    Raises:
        InvalidValueError: It is not symmetric, which volumes and logs cannot be encrypted with
            (https://docs.aws.amazon.com/kms/latest/developerguide/symmetric-asymmetric.html).
    """
    resource = key.node.default_child if isinstance(key, kms.Key) else None
    spec = resource.key_spec if isinstance(resource, kms.CfnKey) else None
    if spec not in {None, _SYMMETRIC} and not is_token(spec):
        raise InvalidValueError(
            "volumes and logs are encrypted with a symmetric key",
            argument="encryption_key",
            value=spec,
            allowed=_SYMMETRIC,
            fix="kms.Key(self, 'Key', enable_key_rotation=True)",
        )
    for statement in _statements(cdk.Stack.of(key)):
        key.add_to_resource_policy(statement)


def _statements(stack: cdk.Stack) -> tuple[iam.PolicyStatement, ...]:
    """What the key policy has to allow, in addition to its statement for the account.

    The role of Auto Scaling is named by a condition: KMS refuses a policy whose principal does not exist, and this role
    comes with the first Auto Scaling group of an account.
    https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    """
    role = {"ArnEquals": {"aws:PrincipalArn": stack.format_arn(service="iam", region="", resource=_AUTO_SCALING)}}
    groups = stack.format_arn(
        service="logs", resource="log-group", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    everyone = iam.AnyPrincipal()
    return (
        iam.PolicyStatement(
            sid="VolumesOfHosts", principals=[everyone], actions=_USE, resources=["*"], conditions=role
        ),
        iam.PolicyStatement(
            sid="GrantsForVolumesOfHosts",
            principals=[everyone],
            actions=["kms:CreateGrant"],
            resources=["*"],
            conditions={**role, "Bool": {"kms:GrantIsForAWSResource": True}},
        ),
        iam.PolicyStatement(
            sid="LogsOfTasks",
            principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
            actions=_USE,
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        ),
    )
