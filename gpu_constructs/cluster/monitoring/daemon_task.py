"""The daemon that measures GPUs: one small task on each host with NVIDIA GPUs, which takes none of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from gpu_constructs.cdk.same_place import trust_this_account
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.capacity.user_data import ON_NVIDIA
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.monitoring.events import FAULT_DETAIL_TYPE, FAULT_SOURCE, METRIC_NAMESPACE, METRICS
from gpu_constructs.cluster.monitoring.options import KEPT
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.facts.gpu_features import APPLICATION_XIDS, FATAL_XIDS
from gpu_constructs.fleet import Container, PlacementConstraint, Task, UserDataFormat, Workload

if TYPE_CHECKING:
    from aws_cdk import aws_logs as logs

DEFAULT_IMAGE = "public.ecr.aws/lambda/python:3.13.2026.06.05.14"
"""Python with boto3, for x86 and arm64: https://docs.aws.amazon.com/lambda/latest/dg/python-image.html"""

_CONTAINER = "collector"
_PARTS = ("readings", "ecs_host", "driver", "collector")
_OF_THIS_PROJECT = re.compile(r"^from (?:__future__|gpu_constructs[\w.]*) import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)

_HOST_ROOT = "/host"
# https://github.com/aws/amazon-ecs-agent/blob/dev/ecs-agent/gpu/types/types.go: ``GPUMetricsDirPath``.
_METRICS_FOLDER = "/var/run/ecs/gpu"


def program() -> str:
    """The program of the container: its parts as one text, without what they import from each other."""
    texts = (Path(__file__).with_name(f"{each}.py").read_text(encoding="utf-8") for each in _PARTS)
    return "from __future__ import annotations\n" + "\n".join(_OF_THIS_PROJECT.sub("", each) for each in texts)


def collector_task(
    scope: Construct,
    construct_id: str,
    *,
    hosts: ClusterHosts,
    log_group: logs.ILogGroup,
    image: ecs.ContainerImage | None,
    per_gpu: bool,
    privileged: bool,
) -> ecs.Ec2TaskDefinition:
    """Defines the task of the daemon."""
    # In mode host it has no interface of its own, of which hosts have few, and reaches the agent at localhost.
    task_definition = ecs.Ec2TaskDefinition(
        scope,
        construct_id,
        network_mode=ecs.NetworkMode.HOST,
        placement_constraints=[ecs.PlacementConstraint.member_of(ON_NVIDIA)],
    )
    trust_this_account(task_definition)
    container = task_definition.add_container(
        _CONTAINER,
        image=image or ecs.ContainerImage.from_registry(DEFAULT_IMAGE),
        entry_point=["python3", "-c"],
        command=[program()],
        cpu=KEPT.cpu,
        memory_limit_mib=KEPT.memory_mib,
        environment={
            "AWS_REGION": hosts.stack.region,
            "CLUSTER": hosts.cluster_name,
            "NAMESPACE": METRIC_NAMESPACE,
            "UNITS": json.dumps({each.name: each.unit for each in METRICS.values()}, separators=(",", ":")),
            "FATAL_XIDS": json.dumps(FATAL_XIDS, separators=(",", ":")),
            "APPLICATION_XIDS": json.dumps(APPLICATION_XIDS, separators=(",", ":")),
            "EVENT_SOURCE": FAULT_SOURCE,
            "EVENT_TYPE": FAULT_DETAIL_TYPE,
            "PER_GPU": "true" if per_gpu else "false",
            "HOST_ROOT": _HOST_ROOT if privileged else "",
            "METRICS_FILE": f"{_METRICS_FOLDER}/gpu-metrics.json",
        },
        logging=ecs.LogDrivers.aws_logs(
            stream_prefix="gpus",
            log_group=log_group,
            # Faults are found and sent even while no lines can be sent. The buffer keeps those of 8 GPUs for 20 hours.
            mode=ecs.AwsLogDriverMode.NON_BLOCKING,
            max_buffer_size=cdk.Size.mebibytes(10),
        ),
        privileged=privileged or None,
        readonly_root_filesystem=True,
    )
    # The folder, not the file: the agent replaces the file.
    source, target = ("/", _HOST_ROOT) if privileged else (_METRICS_FOLDER, _METRICS_FOLDER)
    task_definition.add_volume(name="host", host=ecs.Host(source_path=source))
    container.add_mount_points(ecs.MountPoint(source_volume="host", container_path=target, read_only=True))
    for each in _permissions(hosts):
        task_definition.add_to_task_role_policy(each)
    return task_definition


def let_privileged_run(capacity: GpuCapacity) -> None:
    """Lets hosts run privileged containers, which Bottlerocket does not by default; the ECS agent elsewhere does.

    https://bottlerocket.dev/en/os/latest/api/settings/ecs/. It is for hosts that start later.
    """
    if capacity.pool.user_data.format is UserDataFormat.TOML:
        user_data = capacity.launch_template.user_data
        assert user_data is not None, "every launch template of a capacity has user data"  # noqa: S101
        user_data.add_commands("allow-privileged-containers = true")


def daemon_workload(name: str) -> Workload:
    """The daemon as the value that every check reads."""
    return Workload(
        name=name,
        task=Task(
            name=name,
            containers=(Container(name=_CONTAINER, cpu=KEPT.cpu, memory_limit_mib=KEPT.memory_mib),),
            network_mode="host",
            constraints=(PlacementConstraint(type="memberOf", expression=ON_NVIDIA),),
        ),
        launch_type="EC2",
        daemon=True,
        min_healthy_percent=0,
        max_healthy_percent=MAX_PERCENT,
    )


def _permissions(hosts: ClusterHosts) -> tuple[iam.PolicyStatement, ...]:
    """What it may do: ask about hosts and tasks of the cluster, and report faults."""
    stack, cluster = hosts.stack, hosts.cluster_name
    of_cluster = {"ArnEquals": {"ecs:cluster": hosts.cluster_arn}}
    return (
        iam.PolicyStatement(
            sid="AskAboutHost",
            actions=["ecs:DescribeContainerInstances", "ecs:DescribeTasks"],
            resources=[
                stack.format_arn(service="ecs", resource=kind, resource_name=f"{cluster}/*")
                for kind in ("container-instance", "task")
            ],
            conditions=of_cluster,
        ),
        iam.PolicyStatement(
            sid="ReportFaults",
            actions=["events:PutEvents"],
            resources=[stack.format_arn(service="events", resource="event-bus", resource_name="default")],
            conditions={"StringEquals": {"events:source": FAULT_SOURCE, "events:detail-type": FAULT_DETAIL_TYPE}},
        ),
    )
