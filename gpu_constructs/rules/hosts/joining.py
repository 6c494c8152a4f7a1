"""Joining: do hosts reach ECS, with credentials to register there?"""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error

_POLICY = "the AWS managed policy service-role/AmazonEC2ContainerServiceforEC2Role"
_CREDENTIALS = "AWS_ACCESS_KEY_ID"
_CLUSTER = "ECS_CLUSTER"


@error(
    "GPU264",
    question="do hosts get the credentials with which they register?",
    because="the agent registers its host with the role of the instance profile, whose credentials it gets from the "
    "instance metadata service: EC2 must be trusted to assume it, and it must allow ecs:RegisterContainerInstance",
    softer="where the files have no task, and nothing joins the group to a cluster",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html",
)
def has_credentials(context: Context) -> Problems:
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
        if pool.details.metadata_is_off:
            yield Problem(
                about=pool,
                message=f"the instance metadata service of the hosts of {pool.name} is off, so that the agent cannot "
                "register them",
                fix="HttpEndpoint: enabled, with HttpTokens: required",
                property_name="MetadataOptions.HttpEndpoint",
                value="disabled",
                allowed="enabled",
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


_SUBNETS = {PoolKind.MANAGED_INSTANCES: "Subnets", PoolKind.BATCH: "ComputeResources.Subnets"}
# Hosts register without them.
_REPORTS = frozenset({"ecs-telemetry", "monitoring"})


@error(
    "GPU228",
    question="can hosts in subnets without a way out reach ECS?",
    because="without a route out, or without the public address that an internet gateway takes, the agent reaches ECS "
    "only through endpoints for ecs, ecs-agent and ecs-telemetry; without the first two, its host never registers; the "
    "rule needs the routes and the VPC of every subnet in the files",
    softer="where other files may have more routes and endpoints",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html",
)
def reaches_ecs(context: Context) -> Problems:
    for pool in context.fleet.pools:
        if pool.public_subnets is True:  # only the constructs know what kind of subnet an id stands for
            yield Problem(
                about=pool,
                message="hosts get no public address, and a public subnet has no other way out: they reach ECS only if "
                "the VPC has endpoints for it",
                fix="private subnets with a NAT gateway, or associate_public_ip_address=True of the GpuCluster",
                property_name="VPCZoneIdentifier",
                changes="InstanceType",
                is_certain=False,
            )
        elif pool.missing_endpoints:
            what = "have no route out"
            if not pool.has_no_route_out:
                what = "have a route to an internet gateway only, and the hosts get no public address to use it"
            yield Problem(
                about=pool,
                message=f"the subnets of {pool.name} {what}, and their VPC has no endpoint for "
                f"{or_list(pool.missing_endpoints)}",
                fix="a NAT gateway, or interface endpoints for them, with private DNS and a security group that lets "
                "the hosts in, and for ECR, logs and S3 as tasks need them; in CDK a HostEndpoints defines them",
                property_name=_SUBNETS.get(pool.kind, "VPCZoneIdentifier"),
                is_certain=context.fleet.is_whole and not _REPORTS.issuperset(pool.missing_endpoints),
            )


@error(
    "GPU277",
    question="do the security groups of the hosts let them reach ECS?",
    because="the agent reaches ECS at port 443, through a route out or an endpoint; a host whose security groups let "
    "nothing out there never registers",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/networking-connecting-vpc.html",
)
def lets_out(pool: Pool) -> Problems:
    if pool.details.lets_nothing_out:
        yield Problem(
            message=f"security group {pool.details.lets_nothing_out} of {pool.name} lets nothing out at port 443, "
            "where the agent reaches ECS",
            fix="SecurityGroupEgress with IpProtocol tcp and port 443; in CDK allow_all_outbound=True",
            property_name="SecurityGroupIds",
        )
