"""A host that starts and never joins its cluster: it ends itself and says why, and its group starts another."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from ecs_emulator.local import Local
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition
from gpu_constructs.facts.names import HOST_LOG

from tests.synthesis import synthesized


def _service(stack: cdk.Stack) -> None:
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=1))
    within = cdk.Duration.minutes(6)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, join_within=within)
    task = GpuTaskDefinition(stack, "Chat", capacity=[l4])
    task.add_gpu_container("chat", image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"))
    GpuService(stack, "Service", cluster=cluster, task_definition=task, desired_count=1)
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)


def test_a_group_replaces_a_host_that_never_joins(cloud: Local) -> None:
    cloud.switch("never-joins", "1")
    stack = cloud.deploy(synthesized("Joining", _service))
    assert [each.status for each in cloud.account.tasks(stack.outputs["ClusterName"])] == ["RUNNING"]
    logs = cloud.account.client("logs")
    reservations = cloud.account.client("ec2").describe_instances()["Reservations"]
    hosts = {each["InstanceId"]: each["State"]["Name"] for one in reservations for each in one["Instances"]}
    assert sorted(hosts.values()) == ["running", "terminated"]
    cloud.destroy(stack)
    (said,) = logs.describe_log_streams(logGroupName=HOST_LOG)["logStreams"]
    assert hosts[said["logStreamName"]] == "terminated"
    logs.delete_log_group(logGroupName=HOST_LOG)
