"""Joining: has a host what it needs to register with ECS?"""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.rules.rule import Problem, Problems, error

_POLICY = "the AWS managed policy service-role/AmazonEC2ContainerServiceforEC2Role"
_CREDENTIALS = "AWS_ACCESS_KEY_ID"


@error(
    "GPU264",
    question="do hosts have a role with which they can register?",
    because="the agent registers its host with the role of the instance profile: EC2 must be trusted to assume it, and "
    "it must allow ecs:RegisterContainerInstance",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html",
)
def has_a_role(pool: Pool) -> Problems:
    details = pool.details
    if pool.kind is PoolKind.BATCH or pool.user_data.get(_CREDENTIALS) is not None or not pool.user_data.complete:
        return
    if details.names_profile is False:
        yield Problem(
            message=f"the hosts of {pool.name} have no instance profile, and the agent cannot register them without "
            "its role",
            fix=f"IamInstanceProfile, with a role that ec2.amazonaws.com may assume and {_POLICY}",
            property_name="IamInstanceProfile",
        )
    elif details.profile_is_role:
        yield Problem(
            message=f"the hosts of {pool.name} name a role where EC2 takes an instance profile, which holds one",
            fix="an AWS::IAM::InstanceProfile with the role in Roles, and its ARN in IamInstanceProfile",
            property_name="IamInstanceProfile",
        )
    elif details.trusts_ec2 is False:
        yield Problem(
            message=f"EC2 may not assume the role of the hosts of {pool.name}, so that they get no credentials",
            fix="Principal: {Service: ec2.amazonaws.com} in the AssumeRolePolicyDocument of the role",
            property_name="IamInstanceProfile",
        )
    elif details.may_register is False:
        yield Problem(
            message=f"the role of the hosts of {pool.name} does not allow ecs:RegisterContainerInstance",
            fix=_POLICY,
            property_name="IamInstanceProfile",
        )


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
