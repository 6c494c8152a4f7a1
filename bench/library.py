"""The measured apps with this library."""

from __future__ import annotations

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from bench.pairs_library import USUAL, Written
from bench.workloads import CONTAINER_IMAGE, Pair, Workload
from gpu_constructs import GpuCluster
from stacks.network import demo_vpc

__all__ = ["build"]


def build(app: cdk.Stage, workload: Workload) -> None:
    """Defines the stacks of a workload in an app, or in a stage of one."""
    if workload.reference:
        from stacks.tensorflow_benchmark import TensorflowBenchmarkStack  # noqa: PLC0415 - as below

        types = list(workload.reference.gpu_hosts.instance_types)
        TensorflowBenchmarkStack(app, "tensorflow-benchmark", gpu_instance_types=types)
        return
    shared = demo_vpc(cdk.Stack(app, "network")) if len(workload.clusters) > 1 else None
    for number, clusters in enumerate(workload.stacks()):
        _FleetStack(app, f"fleet-{number}", clusters=clusters, vpc=shared, kind=workload.kind)


class _FleetStack(cdk.Stack):
    """Clusters with some capacities, and a task for each."""

    def __init__(
        self, scope: cdk.Stage, construct_id: str, *, clusters: list[list[Pair]], vpc: ec2.Vpc | None, kind: str | None
    ) -> None:
        super().__init__(scope, construct_id)
        network = cast("ec2.IVpc", vpc or demo_vpc(self))
        image = ecs.ContainerImage.from_registry(CONTAINER_IMAGE)
        written = _written(kind)
        for number, pairs in enumerate(clusters):
            cluster = GpuCluster(self, f"Cluster{number}", vpc=network)
            for pair in pairs:
                capacity = written.capacity(cluster, pair)
                if written.service:
                    written.service(self, cluster, pair, capacity)
                else:
                    written.task(self, pair, capacity, image)


def _written(kind: str | None) -> Written:
    if kind is None:
        return USUAL
    # Loads jobs, services and Batch, which must count neither as memory nor as time of the other apps.
    from bench.kinds_library import WRITTEN  # noqa: PLC0415

    return WRITTEN[kind]
