"""A construct that CDK takes wherever it takes a cluster."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import aws_cdk as cdk
import jsii
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk.interfaces import ResourceEnvironment
from aws_cdk.interfaces import aws_ecs as references
from constructs import Construct

if TYPE_CHECKING:
    from aws_cdk import aws_servicediscovery as cloudmap


@jsii.implements(ecs.ICluster)
class AsCluster(Construct):
    """A construct with a cluster of CDK, which answers for it where CDK asks.

    Attributes:
        cluster: The cluster.
    """

    cluster: ecs.ICluster

    @cached_property
    def _vpc(self) -> ec2.IVpc:
        return self.cluster.vpc

    @property
    def cluster_arn(self) -> str:
        """The ARN of the cluster."""
        return self.cluster.cluster_arn

    @property
    def cluster_name(self) -> str:
        """The name of the cluster."""
        return self.cluster.cluster_name

    @property
    def cluster_ref(self) -> references.ClusterReference:
        """A reference to the cluster."""
        return self.cluster.cluster_ref

    @property
    def connections(self) -> ec2.Connections:
        """The security groups of its hosts."""
        return self.cluster.connections

    @property
    def has_ec2_capacity(self) -> bool:
        """Whether it has hosts for tasks of launch type EC2."""
        return self.cluster.has_ec2_capacity

    @property
    def vpc(self) -> ec2.IVpc:
        """The VPC of the cluster."""
        return self._vpc

    @property
    def autoscaling_group(self) -> autoscaling.IAutoScalingGroup | None:
        """The Auto Scaling group of `ecs.Cluster.add_capacity`; that of each capacity is its own."""
        return self.cluster.autoscaling_group

    @property
    def default_cloud_map_namespace(self) -> cloudmap.INamespace | None:
        """The namespace that its services are found in."""
        return self.cluster.default_cloud_map_namespace

    @property
    def execute_command_configuration(self) -> ecs.ExecuteCommandConfiguration | None:
        """How ECS Exec is encrypted and logged."""
        return self.cluster.execute_command_configuration

    @property
    def env(self) -> ResourceEnvironment:
        """The account and the region of the cluster."""
        return self.cluster.env

    @property
    def stack(self) -> cdk.Stack:
        """The stack of the cluster."""
        return self.cluster.stack

    def apply_removal_policy(self, policy: cdk.RemovalPolicy) -> None:
        """Says what becomes of the cluster when it is removed from its stack.

        Args:
            policy: Whether it is deleted.
        """
        self.cluster.apply_removal_policy(policy)
