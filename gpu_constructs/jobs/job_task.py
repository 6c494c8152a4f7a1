"""What a job takes from its cluster and its task definition: the container that counts, network and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.cdk.arguments import known_seconds
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Fleet, Pool, Starter, Step, Task, Workload
from gpu_constructs.jobs.states import LONGEST_EXECUTION_SECONDS
from gpu_constructs.placement import demand_of
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.workload import CapacityShare


def attempt_seconds(timeout: cdk.Duration) -> int:
    """The time limit of an attempt.

    Raises:
        InvalidValueError: It is out of its range, or only known at deploy time.
    """
    return known_seconds(
        "timeout",
        timeout,
        smallest=60,
        largest=LONGEST_EXECUTION_SECONDS,
        fix="cdk.Duration.hours(6)",
        why="does not bound the whole execution",
    )


def groups_of(
    scope: Construct, cluster: GpuCluster, given: Sequence[ec2.ISecurityGroup] | None
) -> Sequence[ec2.ISecurityGroup]:
    """Security groups as given, or one that lets nothing in."""
    if given is not None:
        return given
    return [ec2.SecurityGroup(scope, "SecurityGroup", vpc=cluster.hosts.vpc, description="A job: no way in")]


def workload_of(name: str, task: Task, shares: Sequence[CapacityShare]) -> Workload:
    """One copy of its task on its capacity."""
    return Workload(
        name=name,
        task=task,
        starter=Starter.STATE_MACHINE,
        strategy=tuple(each.item for each in shares),
        network_configuration=bool(task.interfaces),
    )


def container_of(task_definition: GpuTaskDefinition, name: str | None) -> str:
    """The container whose exit code is that of the job.

    Raises:
        InvalidValueError: The task definition has none of this name.
    """
    containers = task_definition.task.containers
    names = [each.name for each in containers if isinstance(each.name, str)]
    if name is None:
        task = task_definition.task
        return next(
            each.name
            for each in containers
            if isinstance(each.name, str) and demand_of(replace(task, containers=(each,))).wants_accelerator
        )
    if name not in names:
        raise InvalidValueError(
            f"{task_definition.node.path} has no container {shown(name)}",
            argument="container_name",
            value=name,
            allowed=", ".join(names),
            fix="leave it out for the first container with GPUs",
        )
    return name


def network_of(
    cluster: GpuCluster, groups: Sequence[ec2.ISecurityGroup], chosen: ec2.SubnetSelection | None
) -> dict[str, list[str]]:
    """The configuration of ``awsvpc``, as the API has it."""
    return {
        "Subnets": cluster.hosts.subnets_of(chosen).ids,
        "SecurityGroups": [each.security_group_id for each in groups],
    }


def fleet_of(workload: Workload, pools: Sequence[Pool], timeout_seconds: int, longest: int) -> Fleet:
    """A job with its hosts, as a template of its own has it."""
    task = cast("Task", workload.task)
    step = Step(
        name=workload.name,
        task=task,
        waits=True,
        limit_seconds=timeout_seconds,
        whole_seconds=longest,
        may_come_back=True,
    )
    return Fleet(pools=tuple(pools), tasks=(task,), workloads=(workload,), steps=(step,))
