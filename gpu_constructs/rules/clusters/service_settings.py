"""Settings of a service: does ECS accept them together, and with those of the task definition?"""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.budget import brief
from gpu_constructs.fleet import PoolKind, Unknown, Workload
from gpu_constructs.hardware.aws_limits import DEFAULT_MAX_HEALTHY_PERCENT, MAX_PERCENT
from gpu_constructs.placement.reach import pools_of
from gpu_constructs.rules.change import either, one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word

_API = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html"
_WITHOUT_DEFAULT = "gets launch type EC2 then, and ECS starts no host for it"
_WITHOUT_INTERFACE = frozenset({"host", "none"})


@error(
    "GPU120",
    question="does the service have either a launch type or a capacity provider strategy?",
    because="ECS refuses a service that specifies both, whatever the launch type is",
    source=_API,
)
def one_destination(workload: Workload) -> Problems:
    if workload.strategy and isinstance(workload.launch_type, str):
        yield Problem(
            property_name="LaunchType",
            value=workload.launch_type,
            message=f"{workload.name} has the launch type {brief(workload.launch_type)} and a capacity provider "
            f"strategy ({and_list(brief(str(item.provider)) for item in workload.strategy)}); ECS accepts one of them",
            fix="remove LaunchType",
        )


@error(
    "GPU126",
    question="does a service have a network configuration if, and only if, its tasks use network mode awsvpc?",
    because="ECS refuses a service without a network configuration for a task in network mode awsvpc, and a service "
    "with one for a task in network mode bridge, host or none",
    source=_API,
)
def network_configured(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        task, configured = workload.task, workload.network_configuration
        if task is None or isinstance(configured, Unknown):
            continue
        if task.network_mode == "awsvpc" and not configured:
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration",
                message=f"{workload.name} has no network configuration, and {task.name} has network mode awsvpc, for "
                "which ECS must know the subnets",
                fix='"NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": […]}}, or another NetworkMode',
            )
        elif configured and (
            task.network_mode in _WITHOUT_INTERFACE or (task.network_mode == "bridge" and _is_on_ec2(context, workload))
        ):
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration",
                message=Text(
                    f"{workload.name} has ",
                    Word("a network configuration"),
                    f", and {task.name} has network mode {task.network_mode}, which ECS accepts only without",
                ),
                fix=Text("remove ", Word("NetworkConfiguration"), ", or use ", Word("NetworkMode awsvpc")),
            )


@error(
    "GPU278",
    question="do only tasks on Fargate ask for a public address?",
    because="ECS refuses AssignPublicIp ENABLED for tasks on EC2 hosts, whose network interfaces get no public address",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking-awsvpc.html",
    unless=("GPU126",),
)
def public_address_on_fargate(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        if workload.assigns_public_ip and _is_on_ec2(context, workload):
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp",
                value="ENABLED",
                allowed="DISABLED",
                message=Text(
                    f"{workload.name} has ",
                    Word("AssignPublicIp ENABLED"),
                    ", which ECS takes for Fargate only, and its tasks run on EC2 hosts",
                ),
                fix=Text(Word("AssignPublicIp DISABLED"), ", and subnets with a NAT gateway"),
            )


@error(
    "GPU283",
    question="does ECS take the percentages of a deployment?",
    because="ECS refuses a MinimumHealthyPercent above 100 and a MaximumPercent below 100",
    source="https://github.com/badmintoncryer/cdk-preflight/blob/main/rules/ecs/pf-ecs-service-deployment-percent/"
    "meta.yaml",
)
def percentages_of_a_deployment(workload: Workload) -> Problems:
    least, most = workload.min_healthy_percent, workload.max_healthy_percent
    if isinstance(least, int) and least > MAX_PERCENT:
        yield Problem(
            property_name="MinimumHealthyPercent",
            value=least,
            allowed=f"0 to {MAX_PERCENT}",
            message=f"{workload.name} keeps {least} % of its tasks running during a deployment, and ECS takes "
            f"{MAX_PERCENT} at most",
            fix="a lower MinimumHealthyPercent",
            ways=one_way(
                f"MinimumHealthyPercent: {MAX_PERCENT}, or less where a deployment has no room for one more task",
                replace(workload, min_healthy_percent=MAX_PERCENT),
            ),
            one_value=True,
        )
    if isinstance(most, int) and most < MAX_PERCENT:
        yield Problem(
            property_name="MaximumPercent",
            value=most,
            allowed=f"{MAX_PERCENT} or more",
            message=f"{workload.name} lets {most} % of its tasks run during a deployment, and ECS takes {MAX_PERCENT} "
            "at least",
            fix="a higher MaximumPercent",
            ways=either(
                (f"MaximumPercent: {MAX_PERCENT}", replace(workload, max_healthy_percent=MAX_PERCENT)),
                (f"leave it out for {DEFAULT_MAX_HEALTHY_PERCENT}", replace(workload, max_healthy_percent=None)),
            ),
            one_value=True,
        )


@error(
    "GPU258",
    question="does the task of a service with ECS Exec have a task role?",
    because="the SSM agent in the container acts with the task role, and ECS refuses a service whose task has none",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-exec.html",
)
def can_execute_commands(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        task = workload.task
        if workload.execute_command is True and task is not None and task.has_task_role is False:
            yield Problem(
                about=workload,
                involves=(task,),
                message=f"{workload.name} has ECS Exec on, and {task.name} has no task role, so that ECS refuses the "
                "service",
                fix="TaskRoleArn in the task definition, a role with ssmmessages permissions, or "
                "EnableExecuteCommand: false",
                property_name="EnableExecuteCommand",
                value=True,
            )


@warning(
    "GPU259",
    question="is a service created after its cluster has the capacity providers?",
    because="CloudFormation creates resources that do not refer to each other at the same time, and ECS refuses a "
    "service whose capacity providers its cluster does not have yet; one without a strategy gets launch type EC2, for "
    "which no host is started",
    source="https://github.com/aws/containers-roadmap/issues/631#issuecomment-816354807",
    unless=("GPU120", "GPU121"),
)
def comes_after_providers(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        if workload.may_precede_providers:
            yield Problem(
                about=workload,
                message=f"{workload.name} may be created before its cluster has the capacity providers, "
                + (_WITHOUT_DEFAULT if workload.has_default_strategy else "and ECS refuses it then"),
                fix="DependsOn the AWS::ECS::ClusterCapacityProviderAssociations",
                property_name="DependsOn",
            )


def _is_on_ec2(context: Context, workload: Workload) -> bool:
    """Whether its tasks certainly run on EC2 hosts of the account: elsewhere, a missing network mode means awsvpc."""
    if workload.task is None or set(workload.task.compatibilities) - {"EC2"}:
        return False
    if workload.strategy:
        return all(item.pool is not None and item.pool.runs_launch_type_ec2 for item in workload.strategy)
    pools = pools_of(context.fleet, workload)
    return workload.launch_type == "EC2" or (
        workload.launch_type is None and bool(pools) and all(each.kind is PoolKind.AUTO_SCALING_GROUP for each in pools)
    )
