"""Hosts on the emulator: without NAT, with endpoints and a key of their own; and one that never joins its cluster."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from ecs_emulator.local import Local
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition
from gpu_constructs.facts.names import HOST_LOG

from tests.synthesis import synthesized

_IMAGE = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
_ISOLATED = ec2.SubnetType.PRIVATE_ISOLATED


def _isolated(stack: cdk.Stack) -> None:
    hosts = ec2.SubnetConfiguration(name="Hosts", subnet_type=_ISOLATED)
    vpc = ec2.Vpc(stack, "Vpc", nat_gateways=0, subnet_configuration=[hosts], restrict_default_security_group=False)
    vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    for name in ("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "logs"):
        vpc.add_interface_endpoint(name, service=ec2.InterfaceVpcEndpointAwsService(name))
    key = kms.Key(stack, "Key", removal_policy=cdk.RemovalPolicy.DESTROY)
    isolated = ec2.SubnetSelection(subnet_type=_ISOLATED)
    cluster = GpuCluster(stack, "Cluster", vpc=vpc, vpc_subnets=isolated, encryption_key=key)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=2)
    cluster.host_role.node.add_dependency(vpc)
    task = GpuTaskDefinition(stack, "Task", capacity=[l4])
    task.add_gpu_container("gpu", image=_IMAGE)
    GpuService(stack, "Service", cluster=cluster, task_definition=task)
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)


def test_isolated_hosts_with_a_key_run_tasks_and_leave_nothing(cloud: Local) -> None:
    deployed = cloud.deploy(synthesized("Isolated", _isolated))
    running = cloud.account.client("ecs").list_tasks(cluster=deployed.outputs["ClusterName"], desiredStatus="RUNNING")
    assert len(running["taskArns"]) == 1
    cloud.destroy(deployed)


def _joining(stack: cdk.Stack) -> None:
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=1))
    within = cdk.Duration.minutes(6)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, join_within=within)
    task = GpuTaskDefinition(stack, "Chat", capacity=[l4])
    task.add_gpu_container("chat", image=_IMAGE)
    GpuService(stack, "Service", cluster=cluster, task_definition=task, desired_count=1)
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)


def test_a_group_replaces_a_host_that_never_joins(cloud: Local) -> None:
    cloud.switch("never-joins", "1")
    stack = cloud.deploy(synthesized("Joining", _joining))
    assert [each.status for each in cloud.account.tasks(stack.outputs["ClusterName"])] == ["RUNNING"]
    logs = cloud.account.client("logs")
    reservations = cloud.account.client("ec2").describe_instances()["Reservations"]
    hosts = {each["InstanceId"]: each["State"]["Name"] for one in reservations for each in one["Instances"]}
    assert sorted(hosts.values()) == ["running", "terminated"]
    cloud.destroy(stack)
    (said,) = logs.describe_log_streams(logGroupName=HOST_LOG)["logStreams"]
    assert hosts[said["logStreamName"]] == "terminated"
    logs.delete_log_group(logGroupName=HOST_LOG)
