"""Launches: does EC2 accept what the launch template and the group name?"""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.fleet import HostImage, Pool, PoolKind, Unknown
from gpu_constructs.hardware import IMAGES, Image, InstanceType, instance_type, is_supported
from gpu_constructs.rules.change import Way, first_of
from gpu_constructs.rules.evidence.fixes import EXAMPLE_TYPES, of_types
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_PAGE = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-launch-config.html"
_FIX = (
    "a launch template; in CDK the feature flag @aws-cdk/aws-autoscaling:generateLaunchTemplateInsteadOfLaunchConfig "
    "makes one"
)


_TYPES = (*EXAMPLE_TYPES, "c7i.2xlarge")


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
            fix="ImageId",
            ways=(tuple(_with_image(pool, each) for each in IMAGES if is_supported(each)),),
            property_name="ImageId",
        )
    if pool.kind is PoolKind.AUTO_SCALING_GROUP and _names_no_type(pool):
        yield Problem(
            message=f"neither the launch template nor the group of {pool.name} names an instance type",
            fix="InstanceType",
            ways=first_of((f"InstanceType, such as {each}", of_types(pool, (instance_type(each),))) for each in _TYPES),
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
    unless=("GPU095", "GPU104"),
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


def _with_image(pool: Pool, image: Image) -> Way:
    details = replace(pool.details, names_image=True)
    new = replace(pool, image=HostImage(image=image), details=details)
    return Way(text=f"ImageId, such as resolve:ssm:{image.ssm_parameter}", things=(new,))


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
