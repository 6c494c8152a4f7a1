"""How capacities and tasks of the usual kind are written with this library, and what all kinds are written with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from bench.workloads import Pair
from gpu_constructs import GpuCapacity, GpuCluster, GpuTaskDefinition, HostNetwork, HostScaling, HostStorage, Purchase
from gpu_constructs.tasks.gpu_ask import Gpus

if TYPE_CHECKING:
    from gpu_constructs.cluster.managed import ManagedGpuCapacity

__all__ = ["MAX_INSTANCES", "USUAL", "Capacities", "Written", "add", "define", "with_gpus"]

Capacities: TypeAlias = "list[GpuCapacity | ManagedGpuCapacity]"
MAX_INSTANCES = 4


@dataclass(frozen=True, slots=True)
class Written:
    """How one kind is written.

    Attributes:
        capacity: Adds the capacities of a pair.
        task: Defines the task of a pair.
        service: Defines task and service of a pair, for kinds of services; `task` is not called then.
    """

    capacity: Callable[[GpuCluster, Pair], Capacities]
    task: Callable[[Construct, Pair, Capacities, ecs.ContainerImage], None]
    service: Callable[[Construct, GpuCluster, Pair, Capacities], None] | None = None


def add(
    cluster: GpuCluster,
    pair: Pair,
    *,
    purchase: Purchase | None = None,
    scaling: HostScaling | None = None,
    storage: HostStorage | None = None,
    network: HostNetwork | None = None,
    in_one_zone: bool = False,
) -> Capacities:
    """Adds a capacity of its own to the cluster."""
    zone = cluster.hosts.vpc.availability_zones[0] if in_one_zone else ""
    return [
        cluster.add_capacity(
            f"Capacity{pair.number}",
            instance_types=pair.hosts.instance_types,
            max_instances=MAX_INSTANCES,
            purchase=purchase,
            scaling=scaling,
            storage=storage,
            network=network,
            vpc_subnets=ec2.SubnetSelection(availability_zones=[zone]) if in_one_zone else None,
        )
    ]


def define(
    scope: Construct, pair: Pair, capacity: Capacities, network_mode: ecs.NetworkMode | None = None
) -> GpuTaskDefinition:
    """Defines the task of a pair, without containers."""
    return GpuTaskDefinition(
        scope,
        f"Task{pair.number}",
        capacity=capacity,
        family=f"gpu-task-{pair.number}",
        network_mode=network_mode,
    )


def with_gpus(
    scope: Construct,
    pair: Pair,
    capacity: Capacities,
    image: ecs.ContainerImage,
    gpus: Gpus | None = None,
) -> None:
    """Defines a task with one container, which has all GPUs of a host or those that are asked for."""
    define(scope, pair, capacity).add_gpu_container(
        "training",
        image=image,
        gpus=pair.hosts.gpus if gpus is None else gpus,
        command=["nvidia-smi"],
    )


USUAL = Written(add, with_gpus)
"""Hosts on demand, and a task with all GPUs of a host."""
