"""What users give as a cluster: whether it is one, what it decides already, and the network where it runs."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.hosts.cluster_hosts import ClusterHosts

__all__ = ["network_of", "require_gpu_cluster", "require_new", "require_own_id"]

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


def require_gpu_cluster(cluster: object) -> None:
    """Refuses what is not a `gpu_constructs.GpuCluster`, which has the hosts that capacity is added to.

    Args:
        cluster: The argument ``cluster`` as the user gave it.

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


def require_new(**given: object) -> None:
    """Refuses what only a new cluster is given.

    Args:
        given: Arguments for a new cluster; None where one was left out.

    Raises:
        InvalidValueError: One of them was given.
    """
    for argument, value in given.items():
        if value is not None:
            raise InvalidValueError(
                "an existing cluster keeps its own settings",
                argument=argument,
                value=value,
                fix="leave it out, or change the cluster where it is defined",
            )


def require_own_id(construct_id: str) -> None:
    """Refuses the id of something that the cluster defines itself.

    Args:
        construct_id: The id of a capacity.

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

    Args:
        cluster: As the user gave it.

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
