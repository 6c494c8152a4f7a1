"""What users give as a cluster, and what CDK takes as one: what it decides already, and where it runs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk.interfaces import ResourceEnvironment
from aws_cdk.interfaces import aws_ecs as references
from constructs import Construct
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import InvalidValueError, unexpected

if TYPE_CHECKING:
    from aws_cdk import aws_servicediscovery as cloudmap


_IDS = frozenset(
    {
        "CapacityProviderAssociation",
        "Cluster",
        "HostProfile",
        "HostRole",
        "HostSecurityGroup",
        "InfrastructureRole",
        "ManagedCluster",
        "ManagedHostProfile",
        "ManagedHostRole",
    }
)
"""Construct ids of what a cluster defines itself, some of it later."""


class NewClusterOptions(TypedDict, total=False):
    """Arguments of `ecs.Cluster` that `GpuCluster` takes for a new cluster, under CDK's names.

    Attributes:
        cluster_name: Its name. By default CloudFormation makes one.
        container_insights_v2: CloudWatch Container Insights. By default enhanced, with metrics for each task and
            container.
        default_cloud_map_namespace: The namespace that services are found in. By default none.
        enable_fargate_capacity_providers: Whether it has ``FARGATE`` and ``FARGATE_SPOT`` as well. By default not.
        execute_command_configuration: How it encrypts and logs ECS Exec. By default as ECS does.
        managed_storage_configuration: How it encrypts storage that ECS manages. By default as ECS does.
    """

    cluster_name: str | None
    container_insights_v2: ecs.ContainerInsights | None
    default_cloud_map_namespace: ecs.CloudMapNamespaceOptions | None
    enable_fargate_capacity_providers: bool | None
    execute_command_configuration: ecs.ExecuteCommandConfiguration | None
    managed_storage_configuration: ecs.ManagedStorageConfiguration | None


def require_gpu_cluster(cluster: object) -> None:
    """Refuses what is not a `gpu_constructs.GpuCluster`, which has the hosts that capacity is added to."""
    if not isinstance(getattr(cluster, "hosts", None), ClusterHosts) or not hasattr(cluster, "add_capacity"):
        raise unexpected(
            "cluster",
            cluster,
            "a GpuCluster",
            fix="the GpuCluster itself, or GpuCluster(self, 'Gpu', cluster=…) around a cluster that you already have",
        )


def options_of_new(options: NewClusterOptions, *, is_new: bool) -> NewClusterOptions:
    """What a new cluster is given, with the library's default for Container Insights."""
    given = {argument: value for argument, value in options.items() if value is not None}
    if given and not is_new:
        argument, value = next(iter(given.items()))
        raise InvalidValueError(
            "an existing cluster keeps its own settings",
            argument=argument,
            value=value,
            fix="leave it out, or change the cluster where it is defined",
        )
    name = options.get("cluster_name")
    if name is not None:
        require_name("cluster_name", name, fix="leave it out, and CloudFormation makes one")
    return cast("NewClusterOptions", {"container_insights_v2": ecs.ContainerInsights.ENHANCED, **given})


def require_own_id(construct_id: str) -> None:
    """Refuses the id of something that the cluster defines itself."""
    if isinstance(construct_id, str) and construct_id in _IDS:
        raise InvalidValueError(
            f"{construct_id!r} is the id of something that every cluster defines",
            argument="construct_id",
            value=construct_id,
            fix="another id, such as the model of the GPU",
        )


def network_of(cluster: ecs.ICluster) -> ec2.IVpc:
    """The VPC of a cluster."""
    try:
        return cluster.vpc
    except RuntimeError:
        raise InvalidValueError(
            "a cluster that was imported by its ARN alone does not say where it runs",
            argument="vpc",
            fix="give its vpc",
        ) from None


@jsii.implements(ecs.ICluster)
class AsCluster(Construct):
    """A construct that holds a cluster of CDK, and can be given to CDK in its place."""

    cluster: ecs.ICluster
    hosts: ClusterHosts

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
