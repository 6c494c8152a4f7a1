"""The daemon that measures GPUs: one small task on each host with NVIDIA GPUs, which takes none of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from gpu_constructs.cdk.policies import allowed, trust_this_account
from gpu_constructs.cluster.capacity.user_data import ON_NVIDIA
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.monitoring.events import FAULT_DETAIL_TYPE, FAULT_SOURCE, METRIC_NAMESPACE, METRICS
from gpu_constructs.cluster.monitoring.options import KEPT
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.facts.releases import release_number
from gpu_constructs.fleet import Container, PlacementConstraint, Pool, Task, Unknown, Workload

if TYPE_CHECKING:
    from aws_cdk import aws_logs as logs

DEFAULT_IMAGE = "public.ecr.aws/lambda/python:3.13.2026.06.05.14"
"""Python with boto3, for x86 and arm64: https://docs.aws.amazon.com/lambda/latest/dg/python-image.html"""

_CONTAINER = "collector"
# https://github.com/aws/amazon-ecs-agent/blob/dev/ecs-agent/gpu/types/types.go: ``GPUMetricsDirPath``.
_METRICS_FOLDER = "/var/run/ecs/gpu"

_FIRST_RELEASE = 20260708
"""Of the GPU image of Amazon Linux 2023, with DCGM and the helper of the agent that writes the file.

https://github.com/aws/amazon-ecs-ami/releases/tag/20260708. The first helper wrote it to ``/var/run/ecs``, and no page
says which release moved it: hosts of the first releases may be unmeasured, which the alarm ``Unmeasured`` reports.
"""


PROGRAM = Path(__file__).with_name("collector.py")
"""The program of the container, a file of the bucket that ``cdk bootstrap`` made."""

LOADER = """\
import boto3, hashlib, os
given = os.environ
s3 = boto3.client("s3", region_name=given["AWS_REGION"])
program = s3.get_object(Bucket=given["PROGRAM_BUCKET"], Key=given["PROGRAM_KEY"])["Body"].read()
if hashlib.sha256(program).hexdigest() != given["PROGRAM_SHA256"]:
    raise SystemExit("the program is not the one that this task definition names")
exec(compile(program, "collector.py", "exec"))
"""
"""What the container starts with: it runs the program that the task definition names by its digest, and no other."""


def why_unmeasured(pool: Pool) -> str | None:
    """Why the image of a pool is known to write no measurements; None where it may write them."""
    if isinstance(pool.image, Unknown):
        return None
    image, release = pool.image.image, pool.image.release
    if image.operating_system is not OperatingSystem.AMAZON_LINUX_2023:
        return f"no ECS agent is known to measure GPUs on {image.operating_system.value}"
    number = None if release is None else release_number(image, release)
    if number is not None and number < (_FIRST_RELEASE,):
        return f"image {image.name} is pinned to a release before {_FIRST_RELEASE}, the first that may measure GPUs"
    return None


def run_daemon(
    scope: Construct, *, hosts: ClusterHosts, log_group: logs.ILogGroup, image: ecs.ContainerImage | None
) -> ecs.Ec2Service:
    """Runs the daemon on each host with NVIDIA GPUs."""
    service = ecs.Ec2Service(
        scope,
        "Daemon",
        cluster=hosts.cluster,
        task_definition=_task(scope, hosts, log_group, image),
        daemon=True,
        # One host has room for one of them; GPUs are not measured while it is replaced.
        min_healthy_percent=0,
        max_healthy_percent=MAX_PERCENT,
        circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
    )
    # CDK writes one for the circuit breaker, and CloudFormation replaces a service that gets one.
    cast("ecs.CfnService", service.node.find_child("Service")).deployment_controller = None
    service.node.add_dependency(hosts.association.services_depend_on)
    return service


def _task(
    scope: Construct, hosts: ClusterHosts, log_group: logs.ILogGroup, image: ecs.ContainerImage | None
) -> ecs.Ec2TaskDefinition:
    # In mode host it has no interface of its own, of which hosts have few, and reaches the agent at localhost.
    task_definition = ecs.Ec2TaskDefinition(
        scope,
        "Collector",
        network_mode=ecs.NetworkMode.HOST,
        placement_constraints=[ecs.PlacementConstraint.member_of(ON_NVIDIA)],
    )
    trust_this_account(task_definition)
    program = s3_assets.Asset(scope, "Program", path=str(PROGRAM))
    container = task_definition.add_container(
        _CONTAINER,
        image=image or ecs.ContainerImage.from_registry(DEFAULT_IMAGE),
        entry_point=["python3", "-c"],
        command=[LOADER],
        cpu=KEPT.cpu,
        memory_limit_mib=KEPT.memory_mib,
        environment={
            "AWS_REGION": hosts.stack.region,
            "CLUSTER": hosts.cluster_name,
            "NAMESPACE": METRIC_NAMESPACE,
            "UNITS": json.dumps({name: each.unit for name, each in METRICS.items()}, separators=(",", ":")),
            "EVENT_SOURCE": FAULT_SOURCE,
            "EVENT_TYPE": FAULT_DETAIL_TYPE,
            "METRICS_FILE": f"{_METRICS_FOLDER}/gpu-metrics.json",
            "PROGRAM_BUCKET": program.s3_bucket_name,
            "PROGRAM_KEY": program.s3_object_key,
            "PROGRAM_SHA256": sha256(PROGRAM.read_bytes()).hexdigest(),
        },
        logging=ecs.LogDrivers.aws_logs(
            stream_prefix="gpus",
            log_group=log_group,
            # Faults are found and sent even while no lines can be sent. The buffer keeps those of 8 GPUs for 20 hours.
            mode=ecs.AwsLogDriverMode.NON_BLOCKING,
            max_buffer_size=cdk.Size.mebibytes(10),
        ),
        readonly_root_filesystem=True,
    )
    # The folder, not the file: the agent replaces the file.
    task_definition.add_volume(name="host", host=ecs.Host(source_path=_METRICS_FOLDER))
    container.add_mount_points(ecs.MountPoint(source_volume="host", container_path=_METRICS_FOLDER, read_only=True))
    for each in _permissions(hosts, program):
        task_definition.add_to_task_role_policy(iam.PolicyStatement.from_json(each))
    return task_definition


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


def _permissions(hosts: ClusterHosts, program: s3_assets.Asset) -> Iterator[Mapping[str, object]]:
    """What it may do: read its program, ask about hosts and tasks of the cluster, and report faults."""
    stack, cluster = hosts.stack, hosts.cluster_name
    # CDK would grant the whole bucket, with the templates of every app.
    read = f"arn:{stack.partition}:s3:::{program.s3_bucket_name}/{program.s3_object_key}"
    yield allowed("ReadProgram", "s3:GetObject", read)
    asked = [
        stack.format_arn(service="ecs", resource=kind, resource_name=f"{cluster}/*")
        for kind in ("container-instance", "task")
    ]
    in_cluster = {"ArnEquals": {"ecs:cluster": hosts.cluster_arn}}
    yield allowed("AskAboutHost", ["ecs:DescribeContainerInstances", "ecs:DescribeTasks"], asked, in_cluster)
    bus = stack.format_arn(service="events", resource="event-bus", resource_name="default")
    faults = {"StringEquals": {"events:source": FAULT_SOURCE, "events:detail-type": FAULT_DETAIL_TYPE}}
    yield allowed("ReportFaults", "events:PutEvents", bus, faults)
