"""What all hosts of one queue share: where they run and who they are."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from gpu_constructs.hosts.encryption import let_key_be_used
from gpu_constructs.hosts.host_permissions import host_permissions
from gpu_constructs.hosts.subnets import HostSubnets
from gpu_constructs.hosts.vpcs import require_storage_in

# AWS Batch makes a cluster for each compute environment, and may itself use none of other names: statement 11 of
# https://docs.aws.amazon.com/aws-managed-policy/latest/reference/BatchServiceRolePolicy.html
_CLUSTERS = "AWSBatch*"


class QueueHosts:
    """Defines the role, the instance profile and the security group that the hosts of one queue share.

    The role is handed to compute environments in a form that ignores additions, so that its policy stays the one that
    is written here; grant more through `role` itself. It reaches every cluster that AWS Batch has in this account and
    region: AWS documents only the beginning of their names, and the rest is the name of the environment, which is not
    known before the deploy.

    Args:
        scope: Where they are defined.
        stack: The stack around `scope`.
        vpc: Where the hosts run.
        subnets: Subnets of the hosts.
        encryption_key: For the volumes of hosts and the logs of jobs; None for keys of AWS.

    Attributes:
        stack: The stack that they are defined in.
        vpc: Where the hosts run.
        subnets: Subnets of the hosts.
        encryption_key: For the volumes of hosts and the logs of jobs; None for keys of AWS.
        role: The hosts' role.
        instance_profile: The profile that hands the role to the hosts.
        security_group: The hosts' security group.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        stack: cdk.Stack,
        vpc: ec2.IVpc,
        subnets: HostSubnets,
        encryption_key: kms.IKey | None,
    ) -> None:
        if encryption_key is not None:
            let_key_be_used(encryption_key)
        self.stack: cdk.Stack = stack
        self.vpc: ec2.IVpc = vpc
        self.subnets: HostSubnets = subnets
        self.encryption_key: kms.IKey | None = encryption_key
        clusters = self.stack.format_arn(service="ecs", resource="cluster", resource_name=_CLUSTERS)
        self.role: iam.Role = iam.Role(
            scope,
            "HostRole",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            description="Hosts of a queue of AWS Batch: ECS agent and Session Manager",
            inline_policies={"Host": iam.PolicyDocument.from_json(host_permissions(clusters))},
        )
        self.instance_profile: iam.InstanceProfile = iam.InstanceProfile(
            scope, "HostProfile", role=self.role.without_policy_updates()
        )
        self.security_group: ec2.SecurityGroup = ec2.SecurityGroup(
            scope,
            "HostSecurityGroup",
            vpc=vpc,
            description="Hosts of a queue of AWS Batch: no way in, any way out",
        )
        self._talk = False

    def require_same_vpc(self, storage: ec2.IConnectable, *, argument: str) -> None:
        """Refuses shared storage that is certain to be in another VPC.

        Raises:
            IncompatibleError: It is in another one.
        """
        require_storage_in(self.vpc.vpc_id, storage.connections, argument=argument)

    def let_talk(self) -> None:
        """Lets the hosts, and containers with interfaces of their own on them, reach each other on every port."""
        if not self._talk:
            self._talk = True
            self.security_group.add_ingress_rule(
                self.security_group, ec2.Port.all_traffic(), "The other nodes of a multi-node job"
            )
