"""Joining: do hosts reach ECS, with credentials to register there?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpu_constructs.fleet import Blocked, Pool, PoolKind, Unknown
from gpu_constructs.rules.finding import or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.model import Reference, Value, pieces_of
from gpu_constructs.template.resources.networks import AGENT_ENDPOINTS
from gpu_constructs.template.resources.roles import Roles
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.security_groups import EGRESS, HTTPS, SecurityGroups

_POLICY = "the AWS managed policy service-role/AmazonEC2ContainerServiceforEC2Role"
_MANAGED_POLICY = "the AWS managed policy AmazonECSInstanceRolePolicyForManagedInstances"
_PROFILE = "IamInstanceProfile"
_PROFILES = {
    PoolKind.BATCH: "ComputeResources.InstanceRole",
    PoolKind.MANAGED_INSTANCES: "InstanceLaunchTemplate.Ec2InstanceProfileArn",
}
_ROLE_ARN = r"(?:arn:[\w-]*:iam::[0-9]*)?:role/"
_OF_AGENT = ("ecs:RegisterContainerInstance", "ecs:DiscoverPollEndpoint", "ecs:Poll")
_ENDPOINTS = (
    "interface endpoints for them, with private DNS and a security group that lets the hosts in, and for ECR, logs and "
    "S3 as tasks need them"
)
_BLOCKED = {
    Blocked.NO_ROUTE: ("have no route out", f"a NAT gateway, or {_ENDPOINTS}"),
    Blocked.NO_PUBLIC_ADDRESS: (
        "have a route to an internet gateway only, and the hosts get no public address to use it",
        f"a public address for the hosts, a NAT gateway, or {_ENDPOINTS}",
    ),
    Blocked.NAT_GATEWAY: (
        "have a route to NAT gateway {}, which leads to no internet gateway",
        f"a public NAT gateway in a subnet with a route to an internet gateway, or {_ENDPOINTS}",
    ),
    Blocked.NETWORK_ACL: (
        "have network ACL {}, which has no entries and lets nothing through",
        f"entries of the network ACL in both directions, or, in the subnets of the hosts, {_ENDPOINTS}",
    ),
    Blocked.NO_DNS: (
        "are in {}, whose EnableDnsSupport is false, so that no name of AWS resolves there",
        "EnableDnsSupport true, which endpoints with private DNS need too, or DHCP options with a DNS server of yours",
    ),
}
"""What is said of subnets without a way out, and what would do."""
_SUBNETS = {PoolKind.MANAGED_INSTANCES: "Subnets", PoolKind.BATCH: "ComputeResources.Subnets"}


@error(
    "GPU264",
    question="do hosts get the credentials with which they register?",
    because="the agent registers its host with the role of the instance profile, whose credentials it gets from the "
    "instance metadata service: EC2 must be trusted to assume it, and it must allow ecs:RegisterContainerInstance, "
    "ecs:DiscoverPollEndpoint and ecs:Poll",
    softer="where the files have no task, and nothing joins the group to a cluster, and where user data may give the "
    "agent other credentials",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html",
)
def has_credentials(context: Context) -> Problems:
    # A group with an ECS image may be for something else than the work and the clusters of the files.
    shows_work = bool(context.fleet.tasks or context.fleet.workloads or context.fleet.provider_lists)
    for pool, data in (*context.launched, *_managed(context)):
        wrong = _unregistered(context, pool, data)
        if wrong is not None:
            message, fix = wrong
            yield Problem(
                about=pool,
                message=message,
                fix=fix,
                property_name=_PROFILES.get(pool.kind, _PROFILE),
                is_certain=pool.user_data.complete
                and (shows_work or pool.has_provider or pool.user_data.get("ECS_CLUSTER") is not None),
            )
        if data.section("MetadataOptions").text("HttpEndpoint") == "disabled":
            yield Problem(
                about=pool,
                message=f"the instance metadata service of the hosts of {pool.name} is off, so that the agent cannot "
                "register them",
                fix="HttpEndpoint: enabled, with HttpTokens: required",
                property_name="MetadataOptions.HttpEndpoint",
            )


def _managed(context: Context) -> Iterator[tuple[Pool, Section]]:
    """Pools of ECS Managed Instances, with their instance profile as a launch template has it."""
    for pool in context.fleet.pools:
        found = context.section(pool) if pool.kind is PoolKind.MANAGED_INSTANCES else None
        given = None if found is None else found.section("ManagedInstancesProvider").section("InstanceLaunchTemplate")
        if given is not None and given.has("Ec2InstanceProfileArn"):  # ECS refuses none at once
            yield pool, replace(given, values={_PROFILE: {"Arn": given.get("Ec2InstanceProfileArn")}})


def _unregistered(context: Context, pool: Pool, data: Section) -> tuple[str, str] | None:
    """Why its hosts cannot register with the role that they have, and what to do; None where they may."""
    key = _PROFILES.get(pool.kind, _PROFILE)
    if "AWS_ACCESS_KEY_ID" in pool.user_data.text:
        return None
    profile = data.get(_PROFILE)
    if not data.has(_PROFILE):
        return (
            f"the hosts of {pool.name} have no instance profile, and the agent cannot register them without its role",
            f"{key}, with a role that ec2.amazonaws.com may assume and {_POLICY}",
        )
    if isinstance(profile, Mapping):
        profile = profile.get("Arn") or profile.get("Name")
    roles = context.of_files(Roles)
    if _is_role(roles, profile):
        return (
            f"the hosts of {pool.name} name a role where EC2 takes an instance profile, which holds one",
            f"an AWS::IAM::InstanceProfile with the role in Roles, and its ARN in {key}",
        )
    role = roles.of_profile(profile)
    policy = _MANAGED_POLICY if pool.kind is PoolKind.MANAGED_INSTANCES else _POLICY
    refused = None if role is None else roles.refusal(role, "ec2.amazonaws.com", _OF_AGENT, policy)
    return refused and (f"the role of the hosts of {pool.name} {refused[0]}", refused[1])


def _is_role(roles: Roles, profile: Value) -> bool:
    """Whether a role stands where an instance profile belongs; a name that was chosen may be that of both."""
    if isinstance(profile, Reference):
        role = roles.named(profile)
        return role is not None and (profile.attribute == "Arn" or roles.has_a_name_of_its_own(role))
    return any(isinstance(each, str) and re.match(_ROLE_ARN, each) for each in pieces_of(profile))


@error(
    "GPU228",
    question="can hosts in subnets without a way out reach ECS?",
    because="without a way out, such as a public NAT gateway whose own subnet has a route to an internet gateway, the "
    "agent reaches ECS only through endpoints for ecs, ecs-agent and ecs-telemetry, with private DNS and security "
    "groups open at port 443; without the first two, its host never registers; the rule needs all routes and the VPC",
    softer="where other files, or stacks to which the VPC is exported, may have more routes and endpoints, the hosts a "
    "proxy, or a VPC without DNS a server that the files do not show",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html",
)
def reaches_ecs(context: Context) -> Problems:
    for pool in context.fleet.pools:
        way_out = pool.way_out
        missing = [each for each in way_out.missing_endpoints if each in AGENT_ENDPOINTS]
        if way_out.lacks_public_address is True:  # only the constructs know what kind of subnet an id stands for
            yield Problem(
                about=pool,
                message="hosts get no public address, and a public subnet has no other way out: they reach ECS only if "
                "the VPC has endpoints for it",
                fix="private subnets with a NAT gateway, or associate_public_ip_address=True of the GpuCluster",
                property_name="VPCZoneIdentifier",
                changes="InstanceType",
                is_certain=False,
            )
        elif way_out.blocked_by is not None and missing and not pool.user_data.names_proxy:
            what, fix = _BLOCKED[way_out.blocked_by]
            yield Problem(
                about=pool,
                message=f"the subnets of {pool.name} {what.format(way_out.blocker)}, and their VPC has no endpoint "
                f"open to them for {or_list(missing)}",
                fix=fix,
                property_name=_SUBNETS.get(pool.kind, "VPCZoneIdentifier"),
                is_certain=context.fleet.is_whole
                and any(AGENT_ENDPOINTS[each] for each in missing)
                and not way_out.may_be_opened
                and not _may_have_proxy(pool),
            )


@error(
    "GPU277",
    question="do the security groups of the hosts let them reach ECS?",
    because="the agent reaches ECS at port 443, through a route out or an endpoint; a host whose security groups let "
    "nothing out there never registers",
    softer="where the hosts may have a proxy that the files do not show",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/networking-connecting-vpc.html",
)
def lets_out(context: Context) -> Problems:
    for pool, data in context.launched:
        security = context.of_files(SecurityGroups)
        groups = security.of_launch(data, "")  # a script on a host that is let out nowhere does not reach EC2 either
        of_batch = "ComputeResources." if pool.kind is PoolKind.BATCH else ""
        if not security.may_let(EGRESS, groups, HTTPS) and not pool.user_data.names_proxy:
            yield Problem(
                about=pool,
                message=f"security group {groups[0].logical_id} of {pool.name} lets nothing out at port 443, where the "
                "agent reaches ECS",
                fix="SecurityGroupEgress with IpProtocol tcp and port 443; in CDK allow_all_outbound=True",
                property_name=f"{of_batch}SecurityGroupIds",
                is_certain=not _may_have_proxy(pool),
            )


def _may_have_proxy(pool: Pool) -> bool:
    """Whether what the files do not show may configure one.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/http_proxy_config.html
    """
    return not pool.user_data.complete or (not isinstance(pool.image, Unknown) and pool.image.is_own)
