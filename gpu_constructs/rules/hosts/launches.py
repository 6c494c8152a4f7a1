"""How hosts are launched: from a launch template, and with a way out?"""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

__all__ = ["is_complete", "reaches_ecs", "way_out"]

_PAGE = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-launch-config.html"
# Hosts register without them.
_REPORTS = frozenset({"ecs-telemetry", "monitoring"})
_FIX = (
    "a launch template; in CDK the feature flag @aws-cdk/aws-autoscaling:generateLaunchTemplateInsteadOfLaunchConfig "
    "makes one"
)


@error(
    "GPU055",
    question="can a launch configuration launch the instance type?",
    because="CreateLaunchConfiguration refuses instance types that were released after 2022-12-31",
    source=_PAGE,
)
def old_enough(pool: Pool) -> Problems:
    newer = _too_new(pool)
    if newer:
        yield Problem(
            message=f"a launch configuration cannot launch {or_list(newer)}: types that were released after "
            "2022-12-31 are refused",
            fix=_FIX,
            property_name="LaunchConfigurationName",
        )


@warning(
    "GPU056",
    question="are the hosts launched from a launch template?",
    because="accounts that were created since 2024-10-01 cannot create launch configurations",
    source=_PAGE,
)
def launch_template(pool: Pool) -> Problems:
    if pool.launch_configuration and not _too_new(pool):
        yield Problem(
            message=f"{pool.name} has a launch configuration, which accounts since 2024-10-01 cannot create",
            fix=_FIX,
            property_name="LaunchConfigurationName",
        )


@warning(
    "GPU008",
    question="do hosts without a public address run in subnets with another way out?",
    because="a host that cannot reach the ECS endpoints never registers; only the constructs find it, because a "
    "template does not show what kind of subnet an id stands for",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/networking-outbound.html",
    changes="InstanceType",
)
def way_out(pool: Pool) -> Problems:
    """Hosts without a public address in a public subnet."""
    if pool.public_subnets is True:
        yield Problem(
            message="hosts get no public address, and a public subnet has no other way out: they reach ECS only if the "
            "VPC has endpoints for it",
            fix="private subnets with a NAT gateway, or associate_public_ip_address=True of the GpuCluster",
            property_name="VPCZoneIdentifier",
        )


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
        if pool.missing_endpoints:
            what = "have no route out"
            if not pool.has_no_route_out:
                what = "have a route to an internet gateway only, and the hosts get no public address to use it"
            yield Problem(
                about=pool,
                message=f"the subnets of {pool.name} {what}, and their VPC has no endpoint for "
                f"{or_list(pool.missing_endpoints)}",
                fix="a NAT gateway, or interface endpoints for them, with private DNS and a security group that lets "
                "the hosts in, and for ECR, logs and S3 as tasks need them; in CDK a HostEndpoints defines them",
                property_name="Subnets" if pool.kind is PoolKind.MANAGED_INSTANCES else "VPCZoneIdentifier",
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


@error(
    "GPU266",
    question="does the group say what to launch, and where?",
    because="EC2 Auto Scaling refuses a group without subnets or Availability Zones and a launch template without a "
    "machine image or an instance type; EC2 refuses security groups together with network interfaces, which have "
    "groups of their own",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-launch-template.html",
)
def is_complete(pool: Pool) -> Problems:
    if pool.kind is PoolKind.AUTO_SCALING_GROUP and not pool.group.has_subnets:
        yield Problem(
            message=f"the group of {pool.name} names no subnets and no Availability Zones",
            fix="VPCZoneIdentifier with private subnets",
            property_name="VPCZoneIdentifier",
        )
    if pool.details.names_image is False:
        yield Problem(
            message=f"the launch template of {pool.name} names no machine image",
            fix="ImageId, such as resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/"
            "image_id",
            property_name="ImageId",
        )
    if pool.kind is PoolKind.AUTO_SCALING_GROUP and _names_no_type(pool):
        yield Problem(
            message=f"neither the launch template nor the group of {pool.name} names an instance type",
            fix="InstanceType, such as g6.xlarge",
            property_name="InstanceType",
        )
    if pool.details.names_groups_and_interfaces:
        yield Problem(
            message=f"the launch template of {pool.name} names both security groups and network interfaces, and EC2 "
            "takes those of the interfaces only",
            fix="Groups in NetworkInterfaces, and no SecurityGroupIds",
            property_name="SecurityGroupIds",
        )


@warning(
    "GPU282",
    question="is a group of hosts in a cluster placement group in one Availability Zone?",
    because="a cluster placement group is in one zone: once it has hosts, no others can start in another zone",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-groups.html",
    unless=("GPU095",),
)
def in_one_zone(pool: Pool) -> Problems:
    # Subnets whose zones are not known are usually one for each zone.
    zones = pool.group.subnets if pool.zones is None else pool.zones
    if pool.placement_group is True and zones > 1 and pool.max_instances not in {0, 1}:
        what = "subnets, which are usually in as many zones" if pool.zones is None else "Availability Zones"
        yield Problem(
            message=f"the hosts of {pool.name} are in a cluster placement group, which is in one zone, and the group "
            f"has {zones} {what}",
            fix="subnets of one zone",
            property_name="VPCZoneIdentifier",
        )


def _names_no_type(pool: Pool) -> bool:
    """Whether the launch template is there, and nothing says which types it starts."""
    is_read = not isinstance(pool.details.names_image, Unknown)
    return is_read and not (
        pool.instance_types or pool.unknown_type_names or pool.has_unknown_types or pool.requirements is not None
    )


def _too_new(pool: Pool) -> list[InstanceType]:
    return (
        [each for each in pool.instance_types if each.traits.released_after_2022] if pool.launch_configuration else []
    )
