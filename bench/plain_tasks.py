"""The tasks of the measured apps by hand, in plain aws-cdk-lib L2 constructs."""

from __future__ import annotations

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from bench.workloads import Hosts, Share

__all__ = ["MEMLOCK", "STACK", "add_container", "on_hosts", "principal", "role_of", "training_task"]

MEMLOCK = ecs.Ulimit(name=ecs.UlimitName.MEMLOCK, soft_limit=-1, hard_limit=-1)
STACK = ecs.Ulimit(name=ecs.UlimitName.STACK, soft_limit=67108864, hard_limit=67108864)


def training_task(
    scope: Construct,
    name: str,
    *,
    family: str,
    image: ecs.ContainerImage,
    hosts: Hosts,
    gpus: int,
    command: list[str],
) -> ecs.Ec2TaskDefinition:
    """A task on these hosts, whose one container has GPUs."""
    task = ecs.Ec2TaskDefinition(
        scope, name, family=family, placement_constraints=[on_hosts(hosts)], task_role=role_of(scope, name)
    )
    share = hosts.shares[gpus - 1]
    parameters = ecs.LinuxParameters(scope, f"{name}LinuxParameters", shared_memory_size=share.shared_memory_mib)
    add_container(scope, name, task, share, image=image, gpus=gpus, parameters=parameters, command=command)
    return task


def principal(service: str) -> iam.IPrincipal:
    """A service that acts for this account."""
    conditions = {"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}
    return cast("iam.IPrincipal", iam.ServicePrincipal(service, conditions=conditions))


def role_of(scope: Construct, name: str) -> iam.IRole:
    """The role of a task."""
    return cast("iam.IRole", iam.Role(scope, f"{name}Role", assumed_by=principal("ecs-tasks.amazonaws.com")))


def on_hosts(hosts: Hosts) -> ecs.PlacementConstraint:
    """Keeps tasks on hosts of these types."""
    return ecs.PlacementConstraint.member_of(f"attribute:ecs.instance-type in [{', '.join(hosts.instance_types)}]")


def add_container(
    scope: Construct,
    name: str,
    task: ecs.TaskDefinition,
    share: Share,
    *,
    image: ecs.ContainerImage,
    gpus: float | None = None,
    parameters: ecs.LinuxParameters | None = None,
    ulimits: list[ecs.Ulimit] | None = None,
    environment: dict[str, str] | None = None,
    command: list[str],
    called: str = "training",
) -> None:
    """The container of a task, with a log group.

    Args:
        scope: The stack.
        name: What the ids begin with.
        task: The task definition.
        share: What the container gets of a host.
        image: Its image.
        gpus: Its GPUs. By default none.
        parameters: Its Linux parameters.
        ulimits: Limits that are raised. By default those of GPU containers.
        environment: Environment variables. By default those of GPU containers.
        command: What it runs.
        called: Its name.
    """
    log_group = logs.LogGroup(
        scope, f"{name}Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
    )
    task.add_container(
        called,
        image=image,
        gpu_count=gpus,
        cpu=share.cpu,
        memory_limit_mib=share.memory_mib,
        linux_parameters=parameters,
        ulimits=[MEMLOCK, STACK] if ulimits is None else ulimits,
        command=command,
        environment={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"} if environment is None else environment,
        logging=ecs.LogDrivers.aws_logs(stream_prefix=called, log_group=cast("logs.ILogGroup", log_group)),
    )
