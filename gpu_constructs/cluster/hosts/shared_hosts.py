"""What hosts share that are started together: those of a cluster, or of a queue of AWS Batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from gpu_constructs.cluster.hosts.network import HostSubnets, require_storage_in
from gpu_constructs.cluster.hosts.permissions import host_permissions, let_key_be_used

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms


class SharedHosts(ABC):
    """Defines the role, the instance profile and the security group of hosts, each when it is first asked for.

    The role is handed to hosts in a form that ignores additions, so that its policy stays the one that is written here;
    grant more through `role` itself.

    Attributes:
        encryption_key: For the volumes of hosts and the logs of tasks; None for keys of AWS.
    """

    _whose: ClassVar[str]

    def __init__(
        self,
        scope: Construct,
        *,
        stack: cdk.Stack | None,
        vpc: ec2.IVpc,
        subnets: HostSubnets,
        encryption_key: kms.IKey | None,
    ) -> None:
        if encryption_key is not None:
            let_key_be_used(encryption_key)
        self._scope = scope
        self._stack = stack
        self._connections: dict[ec2.IConnectable, ec2.Connections] = {}
        self.vpc: ec2.IVpc = vpc
        self.subnets: HostSubnets = subnets
        self.encryption_key: kms.IKey | None = encryption_key

    @cached_property
    def stack(self) -> cdk.Stack:
        """The stack that the hosts are defined in."""
        return self._stack or cdk.Stack.of(self._scope)

    @property
    @abstractmethod
    def cluster_arn(self) -> str:
        """The ARN of the clusters that they join, a token or a pattern."""

    @cached_property
    def role(self) -> iam.Role:
        """The hosts' role."""
        return iam.Role(
            self._scope,
            "HostRole",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            description=f"Hosts of {self._whose}: ECS agent and Session Manager",
            inline_policies={"Host": host_permissions(self.stack, self.cluster_arn)},
        )

    @cached_property
    def instance_profile(self) -> iam.InstanceProfile:
        """The profile that hands the role to the hosts."""
        return iam.InstanceProfile(self._scope, "HostProfile", role=self.role.without_policy_updates())

    @cached_property
    def security_group(self) -> ec2.SecurityGroup:
        """The hosts' security group."""
        says = f"Hosts of {self._whose}: no way in, any way out"
        return ec2.SecurityGroup(self._scope, "HostSecurityGroup", vpc=self.vpc, description=says)

    def require_same_vpc(self, storage: ec2.IConnectable, *, argument: str) -> None:
        """Refuses shared storage that is certain to be in another VPC; what was found once is not asked again."""
        if storage not in self._connections:
            connections = storage.connections
            require_storage_in(self.vpc.vpc_id, connections, argument=argument)
            self._connections[storage] = connections
