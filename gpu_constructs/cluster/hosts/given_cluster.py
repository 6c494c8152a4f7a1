"""What users give as a cluster: whether it is one, what it decides already, and the network where it runs."""

from __future__ import annotations

from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import InvalidValueError, shown

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
        "ServiceConnectSecurityGroup",
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
    """Refuses what is not a `gpu_constructs.GpuCluster`, which has the hosts that capacity is added to.

    Raises:
        InvalidValueError: It is something else.
    """
    if not isinstance(getattr(cluster, "hosts", None), ClusterHosts) or not hasattr(cluster, "add_capacity"):
        raise InvalidValueError(
            f"expects a GpuCluster, got {shown(cluster)}",
            argument="cluster",
            value=cluster,
            fix="the GpuCluster itself, or GpuCluster(self, 'Gpu', cluster=…) around a cluster that you already have",
        )


def options_of_new(options: NewClusterOptions, *, is_new: bool) -> NewClusterOptions:
    """What a new cluster is given, with the library's default for Container Insights.

    Raises:
        InvalidValueError: One was given for a cluster that is there, or the name is wrong by itself.
    """
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
    """Refuses the id of something that the cluster defines itself.

    Raises:
        InvalidValueError: It is such an id.
    """
    if isinstance(construct_id, str) and construct_id in _IDS:
        raise InvalidValueError(
            f"{construct_id!r} is the id of something that every cluster defines",
            argument="construct_id",
            value=construct_id,
            fix="another id, such as the model of the GPU",
        )


def network_of(cluster: ecs.ICluster) -> ec2.IVpc:
    """The VPC of a cluster.

    Raises:
        InvalidValueError: It does not say where it runs.
    """
    try:
        return cluster.vpc
    except RuntimeError:
        raise InvalidValueError(
            "a cluster that was imported by its ARN alone does not say where it runs",
            argument="vpc",
            fix="give its vpc",
        ) from None
