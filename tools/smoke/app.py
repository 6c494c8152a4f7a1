"""The app that is deployed: a cluster for one host with one GPU, a service, and a job."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuCluster, GpuJob, GpuService, GpuTaskDefinition
from gpu_constructs.account.live.self_test import IMAGE
from stacks.network import demo_vpc

__all__ = ["CAPACITY", "INSTANCE_TYPE", "JOB", "SERVICE", "STACK", "assembly"]

STACK = "gpu-constructs-smoke"
JOB = "gpu-constructs-smoke-train"
INSTANCE_TYPE = "g4dn.xlarge"
CAPACITY = "T4"
SERVICE = "Chat"


def assembly(folder: Path, *, copies: int) -> Path:
    """The app as a cloud assembly.

    Args:
        folder: Where it is written.
        copies: Tasks of the service. With none, the GPU of the host is free for the self-test and the job.
    """
    app = cdk.App(outdir=str(folder))
    stack = cdk.Stack(app, STACK, description="make smoke of gpu_constructs; delete it if you find it")
    cluster = GpuCluster(stack, "Cluster", vpc=demo_vpc(stack))
    hosts = cluster.add_capacity(CAPACITY, instance_types=[INSTANCE_TYPE], max_instances=1)
    image = ecs.ContainerImage.from_registry(IMAGE)
    chat = GpuTaskDefinition(stack, "ChatTask", capacity=[hosts])
    chat.add_gpu_container("chat", image=image, gpus=1, command=["sh", "-c", "nvidia-smi && exec sleep infinity"])
    GpuService(stack, SERVICE, cluster=cluster, task_definition=chat, desired_count=copies)
    train = GpuTaskDefinition(stack, "TrainTask", capacity=[hosts], family=JOB)
    train.add_gpu_container("train", image=image, gpus=1, command=["nvidia-smi"])
    job = GpuJob(stack, "Train", cluster=cluster, task_definition=train, timeout=cdk.Duration.minutes(15))
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
    cdk.CfnOutput(stack, "StateMachine", value=job.state_machine.state_machine_arn)
    return Path(app.synth().directory)
