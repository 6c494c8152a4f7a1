"""What the roles of hosts may do, and what the policy of a user's key has to allow for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from gpu_constructs.cdk.policies import allowed, policy_of
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.names import HOST_LOG, SELF_TEST

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms


_FINDS_ENDPOINT = allowed("FindTheEndpoint", "ecs:DiscoverPollEndpoint", "*")


def host_permissions(stack: cdk.Stack, cluster_arn: str) -> iam.PolicyDocument:
    """The ECS agent on this one cluster, Session Manager and two logs of fixed names, nothing else.

    Images and logs belong to the tasks' execution roles, so the hosts need neither; only the task of ``gpu-constructs
    run-self-test`` has no such role, and its command makes the log group that it writes to. A host that does not join
    its cluster makes the other log group itself, and writes there why. Narrower than
    AmazonEC2ContainerServiceforEC2Role and AmazonSSMManagedInstanceCore, which may read any SSM parameter. Actions:
    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html and
    https://docs.aws.amazon.com/systems-manager/latest/userguide/getting-started-create-iam-instance-profile.html
    """
    log_groups = stack.format_arn(
        service="logs", resource="log-group", resource_name="", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    return policy_of(
        allowed(
            "RegisterWithTheCluster",
            [
                "ecs:DeregisterContainerInstance",
                "ecs:RegisterContainerInstance",
                "ecs:SubmitAttachmentStateChanges",
                "ecs:SubmitContainerStateChange",
                "ecs:SubmitTaskStateChange",
            ],
            cluster_arn,
        ),
        allowed(
            "TalkToTheCluster",
            ["ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"],
            "*",
            {"ArnEquals": {"ecs:cluster": cluster_arn}},
        ),
        _FINDS_ENDPOINT,
        allowed(
            "SessionManager",
            [
                "ssm:UpdateInstanceInformation",
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ],
            "*",
        ),
        allowed("LogOfTheSelfTest", ["logs:CreateLogStream", "logs:PutLogEvents"], f"{log_groups}{SELF_TEST}:*"),
        allowed(
            "LogOfHosts",
            ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents", "logs:PutRetentionPolicy"],
            [f"{log_groups}{HOST_LOG}", f"{log_groups}{HOST_LOG}:*"],
        ),
    )


_INFRASTRUCTURE_POLICY = "AmazonECSInfrastructureRolePolicyForManagedInstances"


class ManagedRoles:
    """Defines the roles that all Managed Instances of one cluster share.

    ECS starts and ends hosts with the infrastructure role: AWS's own policy for that, and the right to pass this one
    instance role. AWS's policy passes roles called ``ecsInstanceRole…`` only, so that "a mismatched name causes an
    authorization error at task launch"; a grant for the role's ARN does without a name that two stacks would fight
    over (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-profile.html). All
    policies are part of their role, which outlives every provider that names it.
    """

    def __init__(self, scope: Construct, cluster: ecs.ICluster) -> None:
        self.instance_role: iam.Role = iam.Role(
            scope,
            "ManagedHostRole",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            description="ECS Managed Instances of one cluster: ECS agent",
            inline_policies={"Host": _agent(cdk.Stack.of(scope), cluster)},
        )
        self.instance_profile: iam.InstanceProfile = iam.InstanceProfile(
            scope, "ManagedHostProfile", role=self.instance_role.without_policy_updates()
        )
        # The second is what the service is called in the partition of China.
        passed_to = {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}}
        passes = policy_of(allowed(None, "iam:PassRole", self.instance_role.role_arn, passed_to))
        self.infrastructure_role: iam.Role = iam.Role(
            scope,
            "InfrastructureRole",
            assumed_by=iam.ServicePrincipal("ecs.amazonaws.com"),
            description="Amazon ECS, to start and end the Managed Instances of one cluster",
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(_INFRASTRUCTURE_POLICY)],
            inline_policies={"PassHostRole": passes},
        )


def _agent(stack: cdk.Stack, cluster: ecs.ICluster) -> iam.PolicyDocument:
    """The statements of AmazonECSInstanceRolePolicyForManagedInstances, for this one cluster.

    As aws-cdk-lib 2.275 narrows them, and further: the ARN of a container instance has its cluster's name in it
    (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html).
    """
    cluster_arn = cluster.cluster_arn
    instances = stack.format_arn(
        service="ecs", resource="container-instance", resource_name=f"{cluster.cluster_name}/*"
    )
    return policy_of(
        _FINDS_ENDPOINT,
        allowed(
            "RegisterWithTheCluster",
            ["ecs:RegisterContainerInstance", "ecs:SubmitAttachmentStateChanges", "ecs:SubmitTaskStateChange"],
            cluster_arn,
        ),
        allowed("TalkToTheCluster", ["ecs:Poll", "ecs:PutSystemLogEvents", "ecs:StartTelemetrySession"], instances),
    )


_USE = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
_SYMMETRIC = "SYMMETRIC_DEFAULT"
_AUTO_SCALING = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


def let_key_be_used(key: kms.IKey) -> None:
    """Adds to the policy of a key what volumes of hosts and logs of tasks need. CDK cannot change an imported key."""
    # https://docs.aws.amazon.com/kms/latest/developerguide/symmetric-asymmetric.html; an imported key has no resource.
    spec = getattr(key.node.default_child, "key_spec", None)
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
