"""The daemon that measures GPUs, on the emulator: on which hosts it runs, updated, destroyed."""

from __future__ import annotations

from collections import Counter
from functools import partial

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from ecs_emulator.account import Account, TaskView
from ecs_emulator.local import Local
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ScaleBy

from tests.synthesis import synthesized

IMAGE = ecs.ContainerImage.from_registry("example/work:1")
POOLS = {"Al2023": "g6.12xlarge", "Bottlerocket": "g5g.16xlarge", "Cpu": "c7i.large"}
MANAGED = "g6.xlarge"


def define(stack: cdk.Stack, *, image: str) -> None:
    """Hosts of both systems full of tasks with default sizes, a host without GPUs, and one of Managed Instances."""
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
    pools = {
        name: cluster.add_capacity(name, instance_types=[each], min_instances=1, max_instances=2)
        for name, each in POOLS.items()
    }
    managed = cluster.add_managed_capacity("Managed", instance_types=[MANAGED])
    services = []
    for name, capacity, copies in (
        ("Al2023", pools["Al2023"], 4),
        ("Bottlerocket", pools["Bottlerocket"], 2),
        ("Managed", managed, 1),
    ):
        task = GpuTaskDefinition(stack, f"{name}Task", capacity=[capacity], family=name)
        task.add_gpu_container("work", image=IMAGE, gpus=1)
        services.append(
            GpuService(stack, f"{name}Service", cluster=cluster, task_definition=task, desired_count=copies)
            if name != "Al2023"
            else GpuService(stack, f"{name}Service", cluster=cluster, task_definition=task)
        )
    monitoring = cluster.add_monitoring("Monitoring", image=ecs.ContainerImage.from_registry(image))
    services[0].scale(by=[ScaleBy.gpu_utilization(percent=70)], min_tasks=4)
    assert monitoring.task_definition is not None
    cdk.CfnOutput(stack, "Daemon", value=monitoring.task_definition.family)


def daemons(account: Account, cluster: str, family: str) -> list[TaskView]:
    return [each for each in account.tasks(cluster) if each.family == family and each.status == "RUNNING"]


def test_a_daemon_runs_on_each_host_with_nvidia_gpus_however_full(cloud: Local) -> None:
    account = cloud.account
    stack = cloud.deploy(synthesized("Watched", partial(define, image="example/python:1")))
    outputs = stack.outputs
    cluster, family = outputs["ClusterName"], outputs["Daemon"]
    for _ in range(8):
        account.hosts(cluster)
    types = {each.instance_id: each.instance_type for each in account.hosts(cluster)}
    running = Counter(each.family for each in account.tasks(cluster) if each.status == "RUNNING")
    assert (running["Al2023"], running["Bottlerocket"], running["Managed"]) == (4, 2, 1)
    assert Counter(types.values()) == {**dict.fromkeys(POOLS.values(), 1), MANAGED: 1}
    first = daemons(account, cluster, family)
    assert sorted(types[str(each.instance_id)] for each in first) == ["g5g.16xlarge", "g6.12xlarge"]
    assert all(each.gpus == () for each in first)
    cloud.update(stack, synthesized("Watched", partial(define, image="example/python:2")))
    second = daemons(account, cluster, family)
    assert sorted(types[str(each.instance_id)] for each in second) == ["g5g.16xlarge", "g6.12xlarge"]
    assert not {each.arn for each in first} & {each.arn for each in second}
    cloud.destroy(stack)
