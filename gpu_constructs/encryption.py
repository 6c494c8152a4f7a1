"""One key of the user for the volumes of hosts and the logs of tasks."""

from __future__ import annotations

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct, IConstruct

from gpu_constructs.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.tasks.task_definition import GpuTaskDefinition

__all__ = ["encrypt_with_key"]

_USE = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
_AUTO_SCALING = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


@checked
def encrypt_with_key(scope: Construct, *, key: kms.IKey) -> None:
    """Encrypts the volumes of hosts and the default log groups of tasks with a key of yours.

    That is every EBS volume of a `GpuCapacity`, and the log group of a `GpuTaskDefinition` that was given none. The
    policy of the key lets Auto Scaling and CloudWatch Logs of its account use it for that. Call it before or after the
    constructs are defined. A new key is for hosts that start later.

    Managed Instances have no property for a key; log groups and file systems of yours keep what they have.

    Args:
        scope: The stack or the stage, or anything in it. CDK's aspects, of which this is one, do not reach from an app
            into its stages.
        key: A symmetric key. CDK cannot change the policy of one that is imported; docs/security.md has the statements
            that it needs.

    Raises:
        InvalidValueError: An argument is of another kind.
    """
    for statement in _statements(cdk.Stack.of(key)):
        key.add_to_resource_policy(statement)
    cdk.Aspects.of(scope).add(_Encrypting(key), priority=cdk.AspectPriority.MUTATING)


@jsii.implements(cdk.IAspect)
class _Encrypting:
    def __init__(self, key: kms.IKey) -> None:
        self._arn = key.key_arn

    def visit(self, node: IConstruct) -> None:
        """Called by CDK for every construct.

        Args:
            node: The construct.
        """
        if isinstance(node, GpuCapacity):
            resource = node.launch_template.node.default_child
            if isinstance(resource, ec2.CfnLaunchTemplate):
                data = cdk.Stack.of(node).resolve(resource.launch_template_data)
                for index in range(len(data["blockDeviceMappings"])):
                    path = f"LaunchTemplateData.BlockDeviceMappings.{index}.Ebs.KmsKeyId"
                    resource.add_property_override(path, self._arn)
        elif isinstance(node, GpuTaskDefinition) and node.log_group.node.scope is node:
            group = node.log_group.node.default_child
            if isinstance(group, logs.CfnLogGroup):
                group.kms_key_id = self._arn


def _statements(stack: cdk.Stack) -> tuple[iam.PolicyStatement, ...]:
    """What the key policy has to allow besides what the account may.

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
