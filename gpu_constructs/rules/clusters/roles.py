"""Roles: may ECS start Managed Instances, may EventBridge run tasks, and may ECS Exec open a shell?

Only templates define roles, so these rules read the properties of the resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_constructs.fleet import UNKNOWN, Origin, PoolKind, Unknown
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.rule import Problem, Problems, error
from gpu_constructs.template.model import Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.roles import Roles, roles_with_policies, trusts
from gpu_constructs.template.resources.section import Section, is_list

_ECS = "ecs.amazonaws.com"
_AWS_POLICY = "policy/AmazonECSInfrastructureRolePolicyForManagedInstances"
# What the names of the roles begin with that AWS's policy passes.
_PASSED_NAMES = "ecsInstanceRole"


@error(
    "GPU190",
    question="may ECS start Managed Instances with the infrastructure role?",
    because="ECS starts Managed Instances with the infrastructure role, which has to trust ecs.amazonaws.com and to "
    "pass the role of the hosts; AmazonECSInfrastructureRolePolicyForManagedInstances passes roles whose names begin "
    "with ecsInstanceRole, and any other name, such as one that CloudFormation makes, is an authorization error when a "
    "task is launched",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-profile.html",
)
def may_start_managed_instances(context: Context) -> Problems:
    for pool in context.fleet.pools:
        found = context.section(pool)
        if found is None or pool.kind is not PoolKind.MANAGED_INSTANCES:
            continue
        roles, provider = Roles(context.index), found.section("ManagedInstancesProvider")
        role = roles.named(provider.get("InfrastructureRoleArn"))
        host = roles.of_profile(provider.section("InstanceLaunchTemplate").get("Ec2InstanceProfileArn"))
        if role is not None and trusts(role, _ECS) is False:
            yield Problem(
                about=pool,
                property_name="InfrastructureRoleArn",
                message=f"ECS may not assume the infrastructure role of {pool.name}, so that it cannot start hosts",
                fix="Principal: {Service: ecs.amazonaws.com} in the AssumeRolePolicyDocument of the role",
            )
        if role is None or host is None or not _has_no_other_policy(role, context.once(_roles_with_policies)):
            continue
        # Without a name CloudFormation begins one with the stack's.
        if _is_passed(host.properties.get("RoleName") or host.stack) is False:
            yield Problem(
                about=pool,
                property_name="InfrastructureRoleArn",
                message="the infrastructure role has only the policy of AWS, which does not pass the role of the "
                "instance profile, because its name does not begin with ecsInstanceRole",
                fix="give that role a RoleName that begins with ecsInstanceRole, or allow the infrastructure role "
                "iam:PassRole for its ARN",
            )


@error(
    "GPU258",
    question="does the task of a service with ECS Exec have a task role?",
    because="the SSM agent in the container acts with the task role, and ECS refuses a service whose task has none",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-exec.html",
)
def can_execute_commands(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        service, task = context.section(workload), workload.task
        if service is None or task is None or service.flag("EnableExecuteCommand") is not True:
            continue
        if task.has_task_role is False:
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


@error(
    "GPU300",
    question="does a rule or a schedule name a role that may run the task?",
    because="EventBridge calls RunTask with the role of the target, and starts nothing without one",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/CWE_IAM_role.html",
)
def may_run(context: Context) -> Problems:
    for workload in context.fleet.workloads:
        resource = context.resource(workload)
        parameters = context.section(workload)
        if resource is None or parameters is None or parameters.path[-1:] != ("EcsParameters",):
            continue
        if not any(_names_role(each) for each in (resource.properties, _around(parameters, resource))):
            yield Problem(
                about=workload,
                property_name="RoleArn",
                origin=_above(workload.origin),
                message=f"{workload.name} runs {'a task' if workload.task is None else workload.task.name} without a "
                "role with which EventBridge may start it",
                fix="a RoleArn beside the Arn of the target, of a role that may call ecs:RunTask and pass the roles of "
                "the task",
            )


def _around(parameters: Section, resource: Resource) -> Value:
    value: Value = resource.properties
    for step in parameters.path[len(resource.below) : -1]:
        if isinstance(value, Mapping) and isinstance(step, str):
            value = value.get(step)
        elif is_list(value) and isinstance(step, int):
            value = value[step]
    return value


def _names_role(value: Value) -> bool:
    return isinstance(value, Mapping) and value.get("RoleArn") is not None


def _above(origin: Origin | None) -> Origin | None:
    """The target around what ``RunTask`` is given."""
    return None if origin is None else replace(origin, path=origin.path[:-1])


def _roles_with_policies(context: Context) -> frozenset[Reference | None]:
    return roles_with_policies(context.index)


def _is_passed(name: Value) -> bool | Unknown:
    """Whether a role's name begins as it has to, as far as its beginning is known."""
    if isinstance(name, str):
        return name.startswith(_PASSED_NAMES)
    start = name.pieces[0] if isinstance(name, Text) and name.pieces else UNKNOWN
    if not isinstance(start, str):
        return UNKNOWN
    is_passed = start.startswith(_PASSED_NAMES)
    return UNKNOWN if not is_passed and _PASSED_NAMES.startswith(start) else is_passed


def _has_no_other_policy(role: Resource, with_policies: frozenset[Reference | None]) -> bool:
    """Whether AWS's policy is certainly all that a role has; any other policy may pass other roles."""
    managed = role.properties.get("ManagedPolicyArns")
    arn = managed[0] if is_list(managed) and len(managed) == 1 else None
    return (
        end_of(arn).endswith(_AWS_POLICY)
        and role.properties.get("Policies") is None
        and with_policies.isdisjoint({None, role.reference})
    )
