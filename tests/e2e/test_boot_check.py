"""The check of our own constructs on the emulator: a host with missing GPUs is replaced before it gets a task."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from emulator.local import Local
from gpu_constructs import GpuCluster, GpuTaskDefinition

from tests.synthesis import app_in


def _assembly(directory: Path, *, is_checked: bool) -> Path:
    app = app_in(directory)
    stack = cdk.Stack(app, "Stack")
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", restrict_default_security_group=False))
    hosts = cluster.add_capacity(
        "Hosts", instance_types=["g6.48xlarge"], max_instances=1, check_gpus_at_boot=is_checked
    )
    task = GpuTaskDefinition(stack, "Task", capacity=[hosts])
    task.add_gpu_container("train", image=ecs.ContainerImage.from_registry("nvidia/cuda"), gpus=8)
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
    cdk.CfnOutput(stack, "TaskArn", value=task.task_definition_arn)
    cdk.CfnOutput(stack, "Provider", value=hosts.capacity_provider_name)
    app.synth()
    return directory


@pytest.mark.parametrize(("is_checked", "status", "gpus"), [(True, "RUNNING", 8), (False, "PROVISIONING", 7)])
def test_a_host_with_missing_gpus_is_replaced_where_hosts_are_checked(
    cloud: Local, tmp_path: Path, is_checked: bool, status: str, gpus: int
) -> None:
    stack = cloud.deploy_assembly(_assembly(tmp_path, is_checked=is_checked), "Stack")
    cluster = stack.outputs["ClusterName"]
    cloud.switch("missing-gpus", "1")  # of the first host alone

    assert cloud.run(cluster, stack.outputs["TaskArn"], stack.outputs["Provider"], minutes=6) == status

    assert [len(host.gpus) for host in cloud.account.hosts(cluster)] == [gpus]
    cloud.account.stop_all(cluster)
    cloud.destroy(stack)
