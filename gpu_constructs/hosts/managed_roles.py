"""Who ECS Managed Instances are, and who may start them."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

_INFRASTRUCTURE_POLICY = "AmazonECSInfrastructureRolePolicyForManagedInstances"


class ManagedRoles:
    """Defines the roles that all Managed Instances of one cluster share.

    ECS starts and ends hosts with the infrastructure role: AWS's own policy for that, and the right to pass this one
    instance role. AWS's policy passes roles called ``ecsInstanceRole…`` only, so that "a mismatched name causes an
    authorization error at task launch"; a grant for the role's ARN does without a name that two stacks would fight
    over (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-profile.html). All
    policies are part of their role, which outlives every provider that names it.

    Attributes:
        instance_role: The hosts' role: the ECS agent on this one cluster and nothing else.
        instance_profile: The profile that hands it to the hosts.
        infrastructure_role: What ECS starts and ends hosts with.
    """

    def __init__(self, scope: Construct, cluster: ecs.ICluster) -> None:
        self.instance_role: iam.Role = iam.Role(
            scope,
            "ManagedHostRole",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            description="ECS Managed Instances of one cluster: ECS agent",
            inline_policies={"Host": iam.PolicyDocument.from_json(_agent(cdk.Stack.of(scope), cluster))},
        )
        self.instance_profile: iam.InstanceProfile = iam.InstanceProfile(
            scope, "ManagedHostProfile", role=self.instance_role.without_policy_updates()
        )
        self.infrastructure_role: iam.Role = iam.Role(
            scope,
            "InfrastructureRole",
            assumed_by=iam.ServicePrincipal("ecs.amazonaws.com"),
            description="Amazon ECS, to start and end the Managed Instances of one cluster",
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(_INFRASTRUCTURE_POLICY)],
            inline_policies={"PassHostRole": iam.PolicyDocument.from_json(_pass(self.instance_role.role_arn))},
        )


def _agent(stack: cdk.Stack, cluster: ecs.ICluster) -> dict[str, object]:
    """The statements of AmazonECSInstanceRolePolicyForManagedInstances, for this one cluster.

    As aws-cdk-lib 2.275 narrows them, and further: the ARN of a container instance has its cluster's name in it
    (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html).
    """
    cluster_arn = cluster.cluster_arn
    instances = stack.format_arn(
        service="ecs", resource="container-instance", resource_name=f"{cluster.cluster_name}/*"
    )
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "FindTheEndpoint", "Effect": "Allow", "Action": "ecs:DiscoverPollEndpoint", "Resource": "*"},
            {
                "Sid": "RegisterWithTheCluster",
                "Effect": "Allow",
                "Action": [
                    "ecs:RegisterContainerInstance",
                    "ecs:SubmitAttachmentStateChanges",
                    "ecs:SubmitTaskStateChange",
                ],
                "Resource": cluster_arn,
            },
            {
                "Sid": "TalkToTheCluster",
                "Effect": "Allow",
                "Action": ["ecs:Poll", "ecs:PutSystemLogEvents", "ecs:StartTelemetrySession"],
                "Resource": instances,
            },
        ],
    }


def _pass(role_arn: str) -> dict[str, object]:
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": role_arn,
                # The second is what the service is called in the partition of China.
                "Condition": {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
            }
        ],
    }
