"""Two GPUs report for duty: a check task that is kept to one family of a cluster with several."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs import GpuCluster, GpuTaskDefinition
from stacks.network import demo_vpc

__all__ = ["NvidiaSmiStack"]

# CUDA 12.8 is the first with Blackwell; the driver on the host is newer than any CUDA 12 needs.
_IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"


class NvidiaSmiStack(cdk.Stack):
    """Defines a cluster of G4dn and G6 hosts, and a two-GPU task that only ever runs on the G6 ones.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        **kwargs: Arguments of `cdk.Stack`.
    """

    def __init__(self, scope: Construct, construct_id: str, **kwargs: Any) -> None:
        super().__init__(
            scope, construct_id, description="nvidia-smi on two GPUs of one family of an ECS cluster", **kwargs
        )
        cluster = GpuCluster(self, "Cluster", vpc=demo_vpc(self))
        cluster.add_capacity("T4", instance_types=["g4dn.12xlarge"], max_instances=1)
        l4 = cluster.add_family("g6", max_instances=1)[4]

        check = GpuTaskDefinition(self, "NvidiaSmi", capacity=[l4], family="nvidia-smi")
        check.add_gpu_container(
            "gpu",
            image=ecs.ContainerImage.from_registry(_IMAGE),
            gpus=2,
            command=["sh", "-c", "nvidia-smi"],
        )
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(self, "StopTasks", value=f"gpu-constructs stop-tasks {self.stack_name}")
        cdk.CfnOutput(self, "NvidiaSmiRunTask", value=check.run_task_command())
