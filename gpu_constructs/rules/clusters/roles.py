"""The infrastructure role: may ECS start Managed Instances with it?

Only templates define roles, so the rule reads the properties of the resources.
"""

from __future__ import annotations

from gpu_constructs.fleet import UNKNOWN, PoolKind, Unknown
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error
from gpu_constructs.template.model import Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.roles import Roles, is_closed_to, roles_with_policies
from gpu_constructs.template.resources.section import is_list

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
        if role is not None and is_closed_to(role, _ECS):
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
