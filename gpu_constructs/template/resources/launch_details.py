"""What a launch template says of its hosts beyond what decides where a task fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from gpu_constructs.fleet import UNKNOWN, LaunchDetails, Unknown, Volume
from gpu_constructs.template.model import Reference, Text, Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.roles import Permission, Roles, trusts
from gpu_constructs.template.resources.section import Section, is_list, is_off
from gpu_constructs.template.resources.security_groups import SecurityGroups

_ROLE_ARN = re.compile(r"(?:arn:[\w-]*:iam::[0-9]*)?:role/")
_HTTPS = 443
_EC2 = "ec2.amazonaws.com"
_REGISTERS: Final = Permission(
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


class LaunchReader:
    """Reads what launch templates, launch configurations and instances say."""

    def __init__(self, index: Index, security: SecurityGroups) -> None:
        self._security = security
        self._roles = Roles(index)

    def of(self, data: Section) -> LaunchDetails:
        """What ``LaunchTemplateData``, a launch configuration or an instance's properties say."""
        if data.is_unknown or data.has("InstanceId"):
            return LaunchDetails()  # a launch configuration may be made like an instance that is there
        profile = data.get("IamInstanceProfile")
        if isinstance(profile, Mapping):
            profile = profile.get("Arn") or profile.get("Name")
        role = self._roles.of_profile(profile)
        options = data.section("MetadataOptions")
        return LaunchDetails(
            names_image=data.has("ImageId"),
            names_profile=data.has("IamInstanceProfile"),
            profile_is_role=self._is_role(profile),
            trusts_ec2=UNKNOWN if role is None else trusts(role, _EC2),
            may_register=UNKNOWN if role is None else self._roles.allow(role, _REGISTERS),
            may_have_address=not is_off(data.get("AssociatePublicIpAddress"))
            or any(not is_off(each.get("AssociatePublicIpAddress")) for each in data.sections("NetworkInterfaces")),
            lets_nothing_out=self._closed_group(data),
            metadata_is_off=options.text("HttpEndpoint") == "disabled",
            names_groups_and_interfaces=any(_is_full(data.get(each)) for each in ("SecurityGroupIds", "SecurityGroups"))
            and _is_full(data.get("NetworkInterfaces")),
            volumes=tuple(_volumes(data)),
        )

    def _closed_group(self, data: Section) -> str:
        """A security group of hosts that let nothing out at the port of AWS's services."""
        interfaces = data.sections("NetworkInterfaces")
        lists = [self._security.listed(each, "Groups") for each in interfaces] or [
            self._security.listed(data, "SecurityGroupIds") or self._security.listed(data, "SecurityGroups")
        ]
        groups = self._security.together(lists)
        return "" if not groups or self._security.may_let_out(groups, _HTTPS) else groups[0].logical_id

    def _is_role(self, profile: Value) -> bool:
        """Whether the ARN of a role stands where that of an instance profile belongs; their names may be the same."""
        if isinstance(profile, Reference):
            return profile.attribute == "Arn" and self._roles.named(profile) is not None
        pieces = profile.pieces if isinstance(profile, Text) else (profile,)
        return any(isinstance(each, str) and _ROLE_ARN.match(each) for each in pieces)


def _is_full(value: Value) -> bool:
    return is_list(value) and bool(value) and not any(isinstance(each, Unknown) for each in value)


def _volumes(data: Section) -> Iterator[Volume]:
    for each in data.sections("BlockDeviceMappings"):
        if each.has("Ebs") and not each.is_unknown:
            volume = each.section("Ebs")
            yield Volume(
                device=each.text("DeviceName") or "",
                size_gib=UNKNOWN if volume.has("SnapshotId") else volume.integer("VolumeSize"),
                type=volume.text("VolumeType"),
                iops=volume.integer("Iops"),
                throughput_mib_per_second=volume.integer("Throughput"),
            )
