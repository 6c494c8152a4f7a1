"""What a launch template says of its hosts beyond what decides where a task fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gpu_constructs.fleet import UNKNOWN, LaunchDetails, Unknown, Volume
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.roles import INSTANCE_PROFILE, ROLE, roles_with_policies
from gpu_constructs.template.resources.section import Section, is_list

__all__ = ["Details"]

_EC2 = "ec2.amazonaws.com"
_REGISTERS = frozenset({"*", "ecs:*", "ecs:registercontainerinstance", "ecs:register*"})
# Policies of AWS with which hosts register, and others that are often seen and with which they do not.
_REGISTERING = frozenset({"AmazonEC2ContainerServiceforEC2Role", "AmazonECS_FullAccess", "AdministratorAccess"})
_NOT_REGISTERING: Final = frozenset(
    {
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonEC2ContainerRegistryReadOnly",
        "AmazonECSTaskExecutionRolePolicy",
        "AmazonS3FullAccess",
        "AmazonS3ReadOnlyAccess",
        "AmazonSSMManagedInstanceCore",
        "CloudWatchAgentServerPolicy",
    }
)


class Details:
    """Reads what launch templates, launch configurations and instances say."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._with_policies: frozenset[Reference | None] | None = None

    def of(self, data: Section) -> LaunchDetails:
        """What ``LaunchTemplateData``, a launch configuration or an instance's properties say."""
        if data.is_unknown or data.has("InstanceId"):
            return LaunchDetails()  # a launch configuration may be made like an instance that is there
        profile = data.get("IamInstanceProfile")
        role = self._role(profile)
        options = data.section("MetadataOptions")
        return LaunchDetails(
            names_image=data.has("ImageId"),
            names_profile=data.has("IamInstanceProfile"),
            trusts_ec2=UNKNOWN if role is None else _trusts_ec2(role),
            may_register=UNKNOWN if role is None else self._may_register(role),
            metadata_is_off=options.text("HttpEndpoint") == "disabled",
            lists_groups_twice=any(_is_full(data.get(each)) for each in ("SecurityGroupIds", "SecurityGroups"))
            and _is_full(data.get("NetworkInterfaces")),
            volumes=tuple(_volumes(data)),
        )

    def _role(self, profile: Value) -> Resource | None:
        if isinstance(profile, Mapping):
            profile = profile.get("Arn") or profile.get("Name")
        found = self._index.find(profile, INSTANCE_PROFILE)
        roles = found.properties.get("Roles") if found is not None else None
        return self._index.find(roles[0], ROLE) if is_list(roles) and len(roles) == 1 else None

    def _may_register(self, role: Resource) -> bool | Unknown:
        if self._with_policies is None:
            self._with_policies = roles_with_policies(self._index)
        managed = role.properties.get("ManagedPolicyArns")
        policies = role.properties.get("Policies")
        arns = managed if is_list(managed) else (managed,) if managed is not None else ()
        names = {_policy_name(each) for each in arns}
        actions = list(_actions(policies))
        if names & _REGISTERING or any(isinstance(each, str) and each.lower() in _REGISTERS for each in actions):
            return True
        is_all_known = names <= _NOT_REGISTERING and all(isinstance(each, str) and "*" not in each for each in actions)
        return False if is_all_known and self._with_policies.isdisjoint({None, role.reference}) else UNKNOWN


def _policy_name(arn: Value) -> str | None:
    end = arn.pieces[-1] if isinstance(arn, Text) and arn.pieces else arn
    return end.rpartition("/")[2] if isinstance(end, str) else None


def _actions(policies: Value) -> Iterator[Value]:
    """What the policies of a role allow; something unknown where that is not known."""
    if policies is None:
        return
    for policy in policies if is_list(policies) else (UNKNOWN,):
        document = policy.get("PolicyDocument") if isinstance(policy, Mapping) else None
        statements = document.get("Statement") if isinstance(document, Mapping) else None
        for each in statements if is_list(statements) else (statements,):
            if not isinstance(each, Mapping) or each.get("NotAction") is not None:
                yield UNKNOWN
            elif each.get("Effect") != "Deny":
                actions = each.get("Action")
                yield from actions if is_list(actions) else (actions,)


def _trusts_ec2(role: Resource) -> bool | Unknown:
    """Whether EC2 may assume a role; unknown where its trust policy is not written out."""
    document = role.properties.get("AssumeRolePolicyDocument")
    statements = document.get("Statement") if isinstance(document, Mapping) else None
    for each in statements if is_list(statements) else (statements,):
        principal = each.get("Principal") if isinstance(each, Mapping) else None
        services = principal.get("Service") if isinstance(principal, Mapping) else UNKNOWN
        for name in services if is_list(services) else (services,):
            # In China it has the suffix .cn, and CDK writes the region's suffix as a reference.
            if not isinstance(name, str) or name.startswith(_EC2):
                return UNKNOWN if not isinstance(name, str) else True
    return False


def _is_full(value: Value) -> bool:
    return is_list(value) and bool(value) and not any(isinstance(each, Unknown) for each in value)


def _volumes(data: Section) -> Iterator[Volume]:
    for each in data.sections("BlockDeviceMappings"):
        if each.has("Ebs") and not each.is_unknown:
            volume = each.section("Ebs")
            yield Volume(
                device=each.text("DeviceName") or "",
                size_gib=volume.integer("VolumeSize"),
                type=volume.text("VolumeType"),
                iops=volume.integer("Iops"),
                throughput_mib_per_second=volume.integer("Throughput"),
            )
