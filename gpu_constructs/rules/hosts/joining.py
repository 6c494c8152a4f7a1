"""Joining: has a host what it needs to register with ECS?"""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error

_POLICY = "the AWS managed policy service-role/AmazonEC2ContainerServiceforEC2Role"
_CREDENTIALS = "AWS_ACCESS_KEY_ID"
_CLUSTER = "ECS_CLUSTER"


@error(
    "GPU264",
    question="do hosts have a role with which they can register?",
    because="the agent registers its host with the role of the instance profile: EC2 must be trusted to assume it, and "
    "it must allow ecs:RegisterContainerInstance",
    softer="where the files have no task, and nothing joins the group to a cluster",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html",
)
def has_a_role(context: Context) -> Problems:
    for pool in context.fleet.pools:
        wrong = _unregistered(pool)
        if wrong is not None:
            message, fix = wrong
            yield Problem(
                about=pool,
                message=message,
                fix=fix,
                property_name="IamInstanceProfile",
                is_certain=_joins(context, pool),
            )


def _unregistered(pool: Pool) -> tuple[str, str] | None:
    """Why its hosts cannot register with the role that they have, and what to do; None where they may."""
    details = pool.details
    if pool.kind is PoolKind.BATCH or pool.user_data.get(_CREDENTIALS) is not None or not pool.user_data.complete:
        return None
    if details.names_profile is False:
        return (
            f"the hosts of {pool.name} have no instance profile, and the agent cannot register them without its role",
            f"IamInstanceProfile, with a role that ec2.amazonaws.com may assume and {_POLICY}",
        )
    if details.profile_is_role:
        return (
            f"the hosts of {pool.name} name a role where EC2 takes an instance profile, which holds one",
            "an AWS::IAM::InstanceProfile with the role in Roles, and its ARN in IamInstanceProfile",
        )
    if details.trusts_ec2 is False:
        return (
            f"EC2 may not assume the role of the hosts of {pool.name}, so that they get no credentials",
            "Principal: {Service: ec2.amazonaws.com} in the AssumeRolePolicyDocument of the role",
        )
    if details.may_register is False:
        return f"the role of the hosts of {pool.name} does not allow ecs:RegisterContainerInstance", _POLICY
    return None


def _joins(context: Context, pool: Pool) -> bool:
    """Whether the files show work or a cluster for hosts: a group with an ECS image may be for something else."""
    fleet = context.fleet
    is_member = pool.has_provider or pool.user_data.get(_CLUSTER) is not None
    return is_member or bool(fleet.tasks or fleet.workloads or fleet.provider_lists)


@error(
    "GPU265",
    question="can the agent read the metadata of its host?",
    because="the agent gets identity, region and credentials of its host from the instance metadata service",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-metadata.html",
)
def has_metadata(pool: Pool) -> Problems:
    if pool.details.metadata_is_off:
        yield Problem(
            message=f"the instance metadata service of the hosts of {pool.name} is off, so that the agent cannot "
            "register them",
            fix="HttpEndpoint: enabled, with HttpTokens: required",
            property_name="MetadataOptions.HttpEndpoint",
            value="disabled",
            allowed="enabled",
        )
