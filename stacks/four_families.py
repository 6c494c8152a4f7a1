"""G4dn, P3, P4d and Inf1 in one cluster: a capacity provider each, and a task for each that looks at what it got."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs import GpuCluster, GpuTaskDefinition
from stacks.network import demo_vpc

__all__ = ["FourFamiliesStack"]

# CUDA 12 has code for all of T4, V100 and A100; CUDA 13 has none for the V100.
_NVIDIA, _NEURON = "nvidia/cuda:12.8.1-base-ubuntu24.04", "public.ecr.aws/amazonlinux/amazonlinux:2023"
_TYPES = {"G4dn": "g4dn.xlarge", "P3": "p3.2xlarge", "P4d": "p4d.24xlarge", "Inf1": "inf1.xlarge"}
_OLD = cdk.Acknowledgment(id="gpu-constructs::GPU001", reason="the story is about these four, old ones among them")


class FourFamiliesStack(cdk.Stack):
    """Defines hosts of four families in one cluster, on images with the drivers that each needs.

    What a task asks for, and where it may run, decides the provider; hosts come for it from zero.
    """

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id, description="An ECS cluster with hosts of G4dn, P3, P4d and Inf1")
        cluster = GpuCluster(self, "Cluster", vpc=demo_vpc(self))
        for name, instance_type in _TYPES.items():
            hosts = cluster.add_capacity(name, instance_types=[instance_type], max_instances=1)
            cdk.Validations.of(hosts).acknowledge(_OLD)
            look = GpuTaskDefinition(self, f"{name}Look", capacity=[hosts])
            if hosts.gpus:
                image = ecs.ContainerImage.from_registry(_NVIDIA)
                look.add_gpu_container("look", image=image, gpus=hosts.gpus, command=["nvidia-smi"])
            else:
                image = ecs.ContainerImage.from_registry(_NEURON)
                look.add_neuron_container("look", image=image, command=["ls", "-l", "/dev/neuron0"])
            cdk.CfnOutput(self, f"{name}RunTask", value=look.run_task_command())
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(self, "StopTasks", value=f"gpu-constructs stop-tasks {self.stack_name}")
