"""The benchmark of "Scheduling GPUs for deep learning tasks on Amazon ECS" as jobs, each on a host of its own size."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs import GpuCluster, GpuJob, GpuTaskDefinition, IncompatibleError
from stacks.network import demo_vpc
from stacks.tensorflow_benchmark import BENCHMARK, IMAGE

__all__ = ["BenchmarkJobsStack"]


class BenchmarkJobsStack(cdk.Stack):
    """Trains on 1, 4 and 8 GPUs: for each job a host with that many GPUs comes, and leaves after it.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        family: A family of instance types with hosts of 1, 4 and 8 GPUs, such as ``g6``, ``g5`` or ``p3``.

    Raises:
        GpuConstructsError: There is no such family, or it lacks one of these hosts.
    """

    def __init__(self, scope: Construct, construct_id: str, *, family: str) -> None:
        super().__init__(scope, construct_id, description="TensorFlow training on 1, 4 and 8 GPUs as jobs")
        cluster = GpuCluster(self, "Cluster", vpc=demo_vpc(self))
        hosts = cluster.add_family(family, max_instances=1)
        having = [each.gpus for each in hosts.values()]
        for gpus in (1, 4, 8):
            if gpus not in having:
                problem = f"{family} has no hosts with {gpus} NVIDIA GPU{'s' * (gpus > 1)}, and a job here needs one"
                raise IncompatibleError(problem, argument="family", value=family, fix="a family such as g6, g5 or p3")
            task = GpuTaskDefinition(self, f"Train{gpus}", capacity=[hosts[gpus]])
            image = ecs.ContainerImage.from_registry(IMAGE)
            task.add_gpu_container("training", image=image, gpus=gpus, command=["python", "-c", BENCHMARK])
            limit = cdk.Duration.hours(1)
            job = GpuJob(self, f"Job{gpus}", cluster=cluster, task_definition=task, timeout=limit)
            cdk.CfnOutput(self, f"Start{gpus}Gpu", value=job.start_command())
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
