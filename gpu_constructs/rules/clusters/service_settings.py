"""Settings of a service that the ECS API refuses beside each other, or beside those of its task definition."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import PoolKind, Unknown, Workload
from gpu_constructs.placement.destinations import pools_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_API = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html"
_WITHOUT_INTERFACE = frozenset({"bridge", "host", "none"})


@rule(
    "GPU120",
    Severity.ERROR,
    about=Workload,
    question="does each service have either a launch type or a capacity provider strategy?",
    because="if a capacity provider strategy is specified, the launch type must be omitted; ECS refuses a service with "
    "both, whatever the launch type is",
    source=_API,
)
def one_destination(workload: Workload) -> Iterator[Problem]:
    if workload.strategy and isinstance(workload.launch_type, str):
        yield Problem(
            about=workload,
            message=f"{workload.name} has the launch type {brief(workload.launch_type)} and a capacity provider "
            f"strategy ({and_list(brief(str(item.provider)) for item in workload.strategy)}); ECS takes one of "
            "them",
            fix="no LaunchType",
        )


@rule(
    "GPU126",
    Severity.ERROR,
    about=Context,
    question="does a service have a network configuration just where its tasks have network mode awsvpc?",
    because="ECS refuses a service without a network configuration for a task in network mode awsvpc, and one with it "
    "for the modes bridge, host and none",
    source=_API,
)
def network_configured(context: Context) -> Iterator[Problem]:
    for workload in context.once(accelerated_workloads):
        task, configured = workload.task, workload.network_configuration
        if task is None or isinstance(configured, Unknown):
            continue
        if task.network_mode == "awsvpc" and not configured:
            yield Problem(
                about=workload,
                message=f"{workload.name} has no network configuration, and {task.name} has network mode awsvpc: ECS "
                "must know the subnets of its network interface",
                fix='"NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": […]}}, or another NetworkMode',
            )
        elif configured and task.network_mode in _WITHOUT_INTERFACE and _is_on_ec2(context, workload):
            yield Problem(
                about=workload,
                message=f"{workload.name} has a network configuration, and {task.name} has network mode "
                f"{task.network_mode}, which gets no network interface: ECS refuses that",
                fix="NetworkMode awsvpc for the task definition, or no NetworkConfiguration",
            )


def _is_on_ec2(context: Context, workload: Workload) -> bool:
    """Whether its tasks certainly go to EC2 hosts of one's own: elsewhere, no network mode at all means awsvpc."""
    if workload.task is None or set(workload.task.compatibilities) - {"EC2"}:
        return False
    if workload.strategy:
        return all(item.pool is not None and item.pool.runs_launch_type_ec2 for item in workload.strategy)
    pools = pools_of(context.fleet, workload)
    return workload.launch_type == "EC2" or (
        workload.launch_type is None and bool(pools) and all(each.kind is PoolKind.AUTO_SCALING_GROUP for each in pools)
    )
