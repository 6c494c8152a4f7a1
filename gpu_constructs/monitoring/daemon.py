"""The daemon that measures GPUs: one small task on each host with NVIDIA GPUs, which takes none of them."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.capacity.user_data import ON_NVIDIA
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.monitoring.metrics import METRIC_NAMESPACE

__all__ = ["DEFAULT_IMAGE", "collector_task"]

DEFAULT_IMAGE = "public.ecr.aws/lambda/python:3.13.2026.06.05.14"
"""Python with boto3, for x86 and arm64: https://docs.aws.amazon.com/lambda/latest/dg/python-image.html"""

_CPU_UNITS = 64
_MEMORY_MIB = 256


def collector_task(
    scope: Construct,
    construct_id: str,
    *,
    hosts: ClusterHosts,
    log_group: logs.ILogGroup,
    image: ecs.ContainerImage | None,
) -> ecs.Ec2TaskDefinition:
    """Defines the task of the daemon.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        hosts: The hosts of the cluster.
        log_group: Where its lines go, of which CloudWatch makes metrics.
        image: Another image with Python 3 and boto3.
    """
    task_definition = ecs.Ec2TaskDefinition(
        scope,
        construct_id,
        network_mode=ecs.NetworkMode.HOST,
        placement_constraints=[ecs.PlacementConstraint.member_of(ON_NVIDIA)],
    )
    task_definition.add_container(
        "collector",
        image=image or ecs.ContainerImage.from_registry(DEFAULT_IMAGE),
        entry_point=["python3", "-c"],
        command=[Path(__file__).with_name("collector.py").read_text(encoding="utf-8")],
        cpu=_CPU_UNITS,
        memory_limit_mib=_MEMORY_MIB,
        environment={"CLUSTER": hosts.cluster_name, "NAMESPACE": METRIC_NAMESPACE},
        logging=ecs.LogDrivers.aws_logs(stream_prefix="gpus", log_group=log_group),
    )
    task_definition.add_to_task_role_policy(
        iam.PolicyStatement(
            actions=["events:PutEvents"],
            resources=[hosts.stack.format_arn(service="events", resource="event-bus", resource_name="default")],
            conditions={"StringEquals": {"events:source": "gpu-constructs"}},
        )
    )
    return task_definition
