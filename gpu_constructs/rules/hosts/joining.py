"""Joining: may ECS start hosts, and do they reach it, with credentials to register there?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, Unknown
from gpu_constructs.rules.finding import or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.model import Reference, Resource, Value, begin_of, end_of, pieces_of, references_in
from gpu_constructs.template.resources.networks import EGRESS, SecurityGroups
from gpu_constructs.template.resources.roles import Permission, Roles, is_closed_to, roles_with_policies
from gpu_constructs.template.resources.section import Section, is_list

_POLICY = "the AWS managed policy service-role/AmazonEC2ContainerServiceforEC2Role"
_MANAGED_POLICY = "the AWS managed policy AmazonECSInstanceRolePolicyForManagedInstances"
_INFRASTRUCTURE_POLICY = "AmazonECSInfrastructureRolePolicyForManagedInstances"
_PROFILES = {
    PoolKind.BATCH: "ComputeResources.InstanceRole",
    PoolKind.MANAGED_INSTANCES: "InstanceLaunchTemplate.Ec2InstanceProfileArn",
}
_CREDENTIALS = "AWS_ACCESS_KEY_ID"
_CLUSTER = "ECS_CLUSTER"
_EC2 = "ec2.amazonaws.com"
_ROLE_ARN = re.compile(r"(?:arn:[\w-]*:iam::[0-9]*)?:role/")
_REGISTERS = Permission(
    action="ecs:RegisterContainerInstance",
    given_by=frozenset({"AmazonEC2ContainerServiceforEC2Role", "AmazonECS_FullAccess", "AdministratorAccess"}),
    not_given_by=frozenset(
        {
            "AmazonEC2ContainerRegistryPullOnly",
            "AmazonEC2ContainerRegistryReadOnly",
            "AmazonECSTaskExecutionRolePolicy",
            "AmazonS3FullAccess",
            "AmazonS3ReadOnlyAccess",
            "AmazonSSMManagedInstanceCore",
            "CloudWatchAgentServerPolicy",
        }
    ),
)
_OF_AGENT = (_REGISTERS, *(replace(_REGISTERS, action=f"ecs:{each}") for each in ("DiscoverPollEndpoint", "Poll")))
_REACHED_BY_AGENT = frozenset({"ecs", "ecs-agent", "ecs-telemetry"})
_HTTPS = 443
_BLOCKED = {
    "AWS::EC2::NatGateway": (
        "have a route to NAT gateway {}, which leads to no internet gateway",
        "a public NAT gateway in a subnet with a route to an internet gateway, or {}",
    ),
    "AWS::EC2::NetworkAcl": (
        "have network ACL {}, which has no entries and lets nothing through",
        "entries of the network ACL in both directions, or, in the subnets of the hosts, {}",
    ),
    "AWS::EC2::VPC": (
        "are in {}, whose EnableDnsSupport is false, so that no name of AWS resolves there",
        "EnableDnsSupport true, which endpoints with private DNS need too, or DHCP options with a DNS server of yours",
    ),
}
_ENDPOINTS = (
    "interface endpoints for them, with private DNS and a security group that lets the hosts in, and for ECR, logs and "
    "S3 as tasks need them"
)
_SUBNETS = {PoolKind.MANAGED_INSTANCES: "Subnets", PoolKind.BATCH: "ComputeResources.Subnets"}


@error(
    "GPU264",
    question="do hosts get the credentials with which they register?",
    because="the agent registers its host with the role of the instance profile, whose credentials it gets from the "
    "instance metadata service: EC2 must be trusted to assume it, and it must allow ecs:RegisterContainerInstance, "
    "ecs:DiscoverPollEndpoint and ecs:Poll",
    softer="where the files have no task, and nothing joins the group to a cluster",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html",
)
def has_credentials(context: Context) -> Problems:
    # A group with an ECS image may be for something else than the work and the clusters of the files.
    shows_work = bool(context.fleet.tasks or context.fleet.workloads or context.fleet.provider_lists)
    for pool, data in (*launched(context), *_managed(context)):
        wrong = _unregistered(context, pool, data)
        if wrong is not None:
            message, fix = wrong
            yield Problem(
                about=pool,
                message=message,
                fix=fix,
                property_name=_profile_of(pool),
                is_certain=shows_work or pool.has_provider or pool.user_data.get(_CLUSTER) is not None,
            )
        if data.section("MetadataOptions").text("HttpEndpoint") == "disabled":
            yield Problem(
                about=pool,
                message=f"the instance metadata service of the hosts of {pool.name} is off, so that the agent cannot "
                "register them",
                fix="HttpEndpoint: enabled, with HttpTokens: required",
                property_name="MetadataOptions.HttpEndpoint",
            )


def launched(context: Context) -> Iterator[tuple[Pool, Section]]:
    """The pools of which the files say what their hosts are made from, with that."""
    for pool in context.fleet.pools:
        if (data := context.launch(pool)) is not None:
            yield pool, data


def _managed(context: Context) -> Iterator[tuple[Pool, Section]]:
    """Pools of ECS Managed Instances, with their instance profile as a launch template has it."""
    for pool in context.fleet.pools:
        found = context.section(pool) if pool.kind is PoolKind.MANAGED_INSTANCES else None
        given = None if found is None else found.section("ManagedInstancesProvider").section("InstanceLaunchTemplate")
        if given is not None and given.has("Ec2InstanceProfileArn"):  # ECS refuses none at once
            yield pool, replace(given, values={"IamInstanceProfile": {"Arn": given.get("Ec2InstanceProfileArn")}})


def _unregistered(context: Context, pool: Pool, data: Section) -> tuple[str, str] | None:
    """Why its hosts cannot register with the role that they have, and what to do; None where they may."""
    if pool.user_data.get(_CREDENTIALS) is not None or not pool.user_data.complete:
        return None
    profile = data.get("IamInstanceProfile")
    if not data.has("IamInstanceProfile"):
        return (
            f"the hosts of {pool.name} have no instance profile, and the agent cannot register them without its role",
            f"{_profile_of(pool)}, with a role that ec2.amazonaws.com may assume and {_POLICY}",
        )
    if isinstance(profile, Mapping):
        profile = profile.get("Arn") or profile.get("Name")
    roles = context.of_files(Roles)
    if _is_role(roles, profile):
        return (
            f"the hosts of {pool.name} name a role where EC2 takes an instance profile, which holds one",
            f"an AWS::IAM::InstanceProfile with the role in Roles, and its ARN in {_profile_of(pool)}",
        )
    role = roles.of_profile(profile)
    if role is not None and is_closed_to(role, _EC2):
        return (
            f"EC2 may not assume the role of the hosts of {pool.name}, so that they get no credentials",
            "Principal: {Service: ec2.amazonaws.com} in the AssumeRolePolicyDocument of the role",
        )
    lacking = [each.action for each in _OF_AGENT if role is not None and roles.allow(role, each) is False]
    if lacking:
        policy = _MANAGED_POLICY if pool.kind is PoolKind.MANAGED_INSTANCES else _POLICY
        denied = ", and no statement that denies it" if role is not None and roles.denies(role, lacking[0]) else ""
        return f"the role of the hosts of {pool.name} does not allow {lacking[0]}", f"{policy}{denied}"
    return None


def _profile_of(pool: Pool) -> str:
    return _PROFILES.get(pool.kind, "IamInstanceProfile")


def _is_role(roles: Roles, profile: Value) -> bool:
    """Whether a role stands where an instance profile belongs; a name that was chosen may be that of both."""
    if isinstance(profile, Reference):
        role = roles.named(profile)
        return role is not None and (profile.attribute == "Arn" or roles.has_a_name_of_its_own(role))
    return any(isinstance(each, str) and _ROLE_ARN.match(each) for each in pieces_of(profile))


@error(
    "GPU228",
    question="can hosts in subnets without a way out reach ECS?",
    because="without a route out, or without the public address that an internet gateway takes, the agent reaches ECS "
    "only through endpoints for ecs, ecs-agent and ecs-telemetry with private DNS, which are open where their security "
    "groups let something in at port 443; without the first two, its host never registers; a NAT gateway leads out if "
    "it is public and its own subnet has a route to an internet gateway, and nothing passes a network ACL without "
    "entries; a subnet without a route table has the main one of its VPC, which no resource gives a route; the rule "
    "needs the routes and the VPC of every subnet",
    softer="where other files, or stacks to which the VPC is exported, may have more routes and endpoints, the hosts a "
    "proxy, or a VPC without DNS a server that the files do not show",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html",
)
def reaches_ecs(context: Context) -> Problems:
    for pool in context.fleet.pools:
        missing = [each for each in pool.missing_endpoints if each in _REACHED_BY_AGENT]
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
        elif missing and not pool.user_data.names_proxy:
            what, fix = "have no route out", "a NAT gateway, or {}"
            if not pool.has_no_route_out:
                what = "have a route to an internet gateway only, and the hosts get no public address to use it"
                fix = "a public address for the hosts, a NAT gateway, or {}"
            elif pool.blocked_by is not None:
                what, fix = _BLOCKED[pool.blocked_by[0]]
                what = what.format(pool.blocked_by[1])
            yield Problem(
                about=pool,
                message=f"the subnets of {pool.name} {what}, and their VPC has no endpoint open to them "
                f"for {or_list(missing)}",
                fix=fix.format(_ENDPOINTS),
                property_name=_SUBNETS.get(pool.kind, "VPCZoneIdentifier"),
                # Hosts register without ecs-telemetry.
                is_certain=context.fleet.is_whole
                and missing != ["ecs-telemetry"]
                and not pool.may_be_let_out
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
    for pool, data in launched(context):
        security = context.of_files(SecurityGroups)
        groups = security.of_launch(data)
        of_batch = "ComputeResources." if pool.kind is PoolKind.BATCH else ""
        if not security.may_let(EGRESS, groups, _HTTPS) and not pool.user_data.names_proxy:
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


# Recorded: hashicorp/terraform-provider-aws, #21281 and #34145.
_DESCRIBES = Permission(
    action="ecs:DescribeClusters",
    given_by=frozenset({"AWSBatchServiceRole", "AmazonECS_FullAccess", "AdministratorAccess", "PowerUserAccess"}),
    not_given_by=_REGISTERS.not_given_by
    | {"AmazonEC2ContainerServiceforEC2Role", "AmazonECSInfrastructureRolePolicyForVolumes"},
)
_LAUNCHES = [
    replace(_DESCRIBES, action=f"ec2:{each}", given_by=frozenset()) for each in ("RunInstances", "CreateFleet")
]


class _Starter(NamedTuple):
    """The role with which a service of AWS starts hosts."""

    key: str
    service: str
    untrusted: str
    one_of: list[Permission]
    without: str
    policy: str


_STARTERS = {
    PoolKind.MANAGED_INSTANCES: _Starter(
        key="InfrastructureRoleArn",
        service="ecs.amazonaws.com",
        untrusted="ECS may not assume the infrastructure role",
        one_of=_LAUNCHES,
        without="ECS cannot start hosts",
        policy=f"the AWS managed policy {_INFRASTRUCTURE_POLICY}",
    ),
    PoolKind.BATCH: _Starter(
        key="ServiceRole",
        service="batch.amazonaws.com",
        untrusted="AWS Batch may not assume the service role",
        one_of=[_DESCRIBES],
        without="AWS Batch makes the environment INVALID, and starts no hosts",
        policy="the AWS managed policy service-role/AWSBatchServiceRole, or no ServiceRole",
    ),
}
# What the names of the roles begin with that AWS's policy passes.
_PASSED_NAMES = "ecsInstanceRole"
_SYMMETRIC = "SYMMETRIC_DEFAULT"
_KEY, _PERMISSION = "AWS::KMS::Key", "Custom::KeyPermission"
_AUTO_SCALING = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


@error(
    "GPU190",
    question="may ECS, Auto Scaling or AWS Batch start hosts with the role that is for it?",
    because="ECS starts Managed Instances with the infrastructure role, which has to trust ecs.amazonaws.com, to "
    f"launch instances and to pass the role of the hosts; {_INFRASTRUCTURE_POLICY} passes "
    "roles whose names begin with ecsInstanceRole, and any other name, such as one that CloudFormation makes, is an "
    "authorization error when a task is launched; a compute environment whose ServiceRole AWS Batch may not assume, or "
    "that does not allow ecs:DescribeClusters, becomes INVALID; the role of AWS with which Auto Scaling starts hosts "
    "has no permission for keys of yours, and their volumes need one in the policy of the key: Client error on launch; "
    "Amazon EBS takes only symmetric encryption keys",
    softer="for AWS Batch, where no page says so, and where something else may have a grant for that role",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-profile.html",
)
def may_start_hosts(context: Context) -> Problems:
    yield from _with_key(context)
    for pool in context.fleet.pools:
        found, roles = context.section(pool), context.of_files(Roles)
        starter = _STARTERS.get(pool.kind)
        if found is None or starter is None:
            continue
        provider = found.section("ManagedInstancesProvider")
        role = roles.named(found.get(starter.key) or provider.get(starter.key))
        host = roles.of_profile(provider.section("InstanceLaunchTemplate").get("Ec2InstanceProfileArn"))
        if role is not None and is_closed_to(role, starter.service):
            yield Problem(
                about=pool,
                property_name=starter.key,
                message=f"{starter.untrusted} of {pool.name}, so that it cannot start hosts",
                fix=f"Principal: {{Service: {starter.service}}} in the AssumeRolePolicyDocument of the role",
            )
        elif role is not None and all(roles.allow(role, each) is False for each in starter.one_of):
            yield Problem(
                about=pool,
                property_name=starter.key,
                message=f"the role in {starter.key} of {pool.name} does not allow {starter.one_of[0].action}: "
                f"{starter.without}",
                fix=starter.policy,
            )
        if role is None or host is None or not _has_no_other_policy(role, context.of_files(roles_with_policies)):
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


def _with_key(context: Context) -> Problems:
    """https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html."""
    index, granted = context.index, context.index.of_others
    # A grant of Terraform whose key the plan does not name may be of any, and so may one by the name of a key.
    is_known = context.fleet.is_whole and all(any(references_in(each.properties)) for each in index.all(_PERMISSION))
    is_known = is_known and not index.may_call("CreateGrant", "PutKeyPolicy")
    for pool, data in launched(context):
        if pool.kind is PoolKind.INSTANCE:
            continue  # the deploy itself says what is wrong with an instance
        disks = [each.section("Ebs") for each in data.sections("BlockDeviceMappings")]
        named = [index.find(each.get("KmsKeyId"), _KEY) for each in disks if each.flag("Encrypted") is True]
        for key in {each.reference: each for each in named if each}.values():
            spec, policy = key.properties.get("KeySpec", _SYMMETRIC), key.properties.get("KeyPolicy")
            if isinstance(spec, str) and spec != _SYMMETRIC:
                yield Problem(
                    about=pool,
                    property_name="BlockDeviceMappings.Ebs.KmsKeyId",
                    message=f"{key.logical_id}, the key of the volumes of {pool.name}, has KeySpec {spec}, and Amazon "
                    "EBS takes only symmetric encryption keys: no host starts",
                    fix="another key, with KeySpec SYMMETRIC_DEFAULT or none: the KeySpec of a key cannot change",
                )
            elif key.reference not in granted and context.of_files(Roles).are_left_out(policy):
                yield Problem(
                    about=pool,
                    property_name="BlockDeviceMappings.Ebs.KmsKeyId",
                    message=f"Auto Scaling starts the hosts of {pool.name} with a role that the policy of "
                    f"{key.logical_id}, the key of their volumes, does not name",
                    fix=f"statements in the policy of the key for {_AUTO_SCALING} with kms:CreateGrant, kms:Decrypt, "
                    "kms:DescribeKey, kms:Encrypt, kms:GenerateDataKey* and kms:ReEncrypt*",
                    is_certain=is_known
                    and pool.kind is not PoolKind.BATCH
                    and key.reference not in index.read_elsewhere,
                )


def _is_passed(name: Value) -> bool | Unknown:
    """Whether a role's name begins as it has to, as far as its beginning is known."""
    if isinstance(name, str):
        return name.startswith(_PASSED_NAMES)
    start = begin_of(name)
    is_passed = start.startswith(_PASSED_NAMES)
    return UNKNOWN if not is_passed and _PASSED_NAMES.startswith(start) else is_passed


def _has_no_other_policy(role: Resource, with_policies: frozenset[Reference | None]) -> bool:
    """Whether AWS's policy is certainly all that a role has; any other policy may pass other roles."""
    managed = role.properties.get("ManagedPolicyArns")
    arn = managed[0] if is_list(managed) and len(managed) == 1 else None
    return (
        end_of(arn).endswith(f"policy/{_INFRASTRUCTURE_POLICY}")
        and role.properties.get("Policies") in (None, [])
        and with_policies.isdisjoint({None, role.reference})
    )
