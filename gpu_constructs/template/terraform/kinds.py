"""Which resource of Terraform is which resource of CloudFormation, and how its arguments are called there.

The name of an argument is that of the property with capitals, ``min_size`` and ``MinSize``, and a block is an object.
What differs is written here, by the names of the argument and of the blocks around it:

    "volume": "Volumes[]"                        a block that may be there several times, as a list of objects
    "load_balancer.elb_name": "LoadBalancerName" another name
    "network_configuration": "NetworkConfiguration.AwsvpcConfiguration"    further down
    "deployment_maximum_percent": "DeploymentConfiguration.MaximumPercent"
    "managed": "."                               what is in the block belongs to what is around it
    "timeouts": ""                               left out
    "instance_refresh": "/UpdatePolicy.…"        beside the properties of the resource
    "container_definitions": "ContainerDefinitions json"    a form, see `Form`

https://registry.terraform.io/providers/hashicorp/aws/latest/docs, versions 4 to 6
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from functools import cache

from gpu_constructs.facts.values import dataclass
from gpu_constructs.template.documents.node import Node


class Form(Enum):
    """What becomes of a value."""

    PLAIN = ""
    JSON = "json"  # a text that is JSON in the words of an API
    POLICY = "policy"  # a text that is JSON in words of its own
    FREE = "free"  # an object with keys of the user
    ONE = "one"  # the only item of a list
    SWITCH = "switch"  # true and false as ENABLED and DISABLED
    HASHED = "hashed"  # a text that Terraform keeps as its SHA-1


def words(text: str) -> list[str]:
    """The words of a text, as a table of names is written."""
    return text.split()


@dataclass(frozen=True, slots=True)
class Argument:
    """What an argument is called.

    Attributes:
        steps: Names from the object around it, or from the resource; none where it belongs to what is around it.
        is_list: Whether the block may be there several times.
        form: What becomes of its value.
        is_of_resource: Whether the steps begin at the resource.
        is_left_out: Whether it is left out.
    """

    steps: tuple[str, ...]
    is_list: bool = False
    form: Form = Form.PLAIN
    is_of_resource: bool = False
    is_left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One resource of Terraform.

    Attributes:
        type: The type of CloudFormation.
        names: Arguments whose names differ.
        below: Where the properties are that arguments become.
        otherwise: What a property is where the argument is left out and Terraform has another default.
    """

    type: str
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    below: tuple[str, ...] = ("Properties",)
    otherwise: Mapping[str, Node] = field(default_factory=dict, hash=False)


# Attributes that no argument is, and what Terraform alone knows.
_OF_EVERY_KIND = {
    **dict.fromkeys(
        ("arn", "id", "owner_id", "region", "tags", "tags_all", "timeouts", "tags_as_map", "latest_version"), ""
    ),
    "vpc_security_group_ids": "SecurityGroupIds",
    "client_token": "",
}
_MAPPINGS = {
    "block_device_mappings": "BlockDeviceMappings[]",
    "network_interfaces": "NetworkInterfaces[]",
    "network_interfaces.security_groups": "Groups",
    "tag_specifications": "TagSpecifications[]",
    "license_specification": "",
    "elastic_gpu_specifications": "",
}
_TEMPLATE = {"id": "LaunchTemplateId", "name": "LaunchTemplateName", "version": "Version"}
_CONSTRAINTS = {"placement_constraints": "PlacementConstraints[]"}
_STRATEGY = {"capacity_provider_strategy": "CapacityProviderStrategy[]"}
_AWSVPC = {"network_configuration": "NetworkConfiguration.AwsvpcConfiguration"}
_PUBLIC = {"network_configuration.assign_public_ip": "AssignPublicIp switch"}


def _below(block: str, names: Mapping[str, str]) -> dict[str, str]:
    return {f"{block}.{name}": to for name, to in names.items()}


KINDS: Mapping[str, Kind] = {
    "aws_ecs_cluster": Kind(
        type="AWS::ECS::Cluster",
        names={
            "name": "ClusterName",
            "setting": "ClusterSettings[]",
            "default_capacity_provider_strategy": "DefaultCapacityProviderStrategy[]",
        },
    ),
    "aws_ecs_cluster_capacity_providers": Kind(
        type="AWS::ECS::ClusterCapacityProviderAssociations",
        names={
            "cluster_name": "Cluster",
            "default_capacity_provider_strategy": "DefaultCapacityProviderStrategy[]",
        },
        otherwise={"CapacityProviders": [], "DefaultCapacityProviderStrategy": []},
    ),
    "aws_ecs_capacity_provider": Kind(
        type="AWS::ECS::CapacityProvider",
        names={"cluster": "ClusterName"},
    ),
    "aws_ecs_task_definition": Kind(
        type="AWS::ECS::TaskDefinition",
        names={
            **_CONSTRAINTS,
            "container_definitions": "ContainerDefinitions json",
            "inference_accelerator": "InferenceAccelerators[]",
            "revision": "",
            "arn_without_revision": "",
            "skip_destroy": "",
            "track_latest": "",
            "volume": "Volumes[]",
            "volume.host_path": "Host.SourcePath",
            "volume.docker_volume_configuration.driver_opts": "DriverOpts free",
            "volume.docker_volume_configuration.labels": "Labels free",
            "volume.efs_volume_configuration": "EFSVolumeConfiguration",
            "volume.efs_volume_configuration.file_system_id": "FilesystemId",
            "volume.efs_volume_configuration.authorization_config.iam": "IAM",
            "volume.fsx_windows_file_server_volume_configuration": "FSxWindowsFileServerVolumeConfiguration",
            "proxy_configuration.properties": "",
        },
    ),
    "aws_ecs_service": Kind(
        type="AWS::ECS::Service",
        names={
            **_CONSTRAINTS,
            **_STRATEGY,
            **_AWSVPC,
            **_PUBLIC,
            "name": "ServiceName",
            "deployment_circuit_breaker": "DeploymentConfiguration.DeploymentCircuitBreaker",
            "deployment_maximum_percent": "DeploymentConfiguration.MaximumPercent",
            "deployment_minimum_healthy_percent": "DeploymentConfiguration.MinimumHealthyPercent",
            "deployment_configuration.lifecycle_hook": "LifecycleHooks[]",
            "iam_role": "Role",
            "load_balancer": "LoadBalancers[]",
            "load_balancer.elb_name": "LoadBalancerName",
            "ordered_placement_strategy": "PlacementStrategies[]",
            "service_registries": "ServiceRegistries[]",
            "service_connect_configuration.service": "Services[]",
            "volume_configuration": "VolumeConfigurations[]",
            "alarms": "DeploymentConfiguration.Alarms",
            "force_new_deployment": "",
            "force_delete": "",
            "triggers": "",
            "wait_for_steady_state": "",
            "sigint_rollback": "",
        },
        otherwise={"DesiredCount": 0},
    ),
    "aws_autoscaling_group": Kind(
        type="AWS::AutoScaling::AutoScalingGroup",
        names={
            "name": "AutoScalingGroupName",
            "launch_configuration": "LaunchConfigurationName",
            **_below("launch_template", _TEMPLATE),
            "vpc_zone_identifier": "VPCZoneIdentifier",
            "protect_from_scale_in": "NewInstancesProtectedFromScaleIn",
            "target_group_arns": "TargetGroupARNs",
            "load_balancers": "LoadBalancerNames",
            "initial_lifecycle_hook": "LifecycleHookSpecificationList[]",
            "initial_lifecycle_hook.name": "LifecycleHookName",
            "mixed_instances_policy.launch_template.override": "Overrides[]",
            "tag": "Tags[]",
            "instance_refresh": "/UpdatePolicy.AutoScalingInstanceRefresh",
            "instance_refresh.preferences.min_healthy_percentage": "MinHealthyPercentage",
            "instance_refresh.triggers": "",
            "traffic_source": "TrafficSources[]",
            **dict.fromkeys(
                (
                    "force_delete",
                    "force_delete_warm_pool",
                    "warm_pool",
                    "warm_pool_size",
                    "wait_for_capacity_timeout",
                    "wait_for_elb_capacity",
                    "min_elb_capacity",
                    "predicted_capacity",
                    "name_prefix",
                    "enabled_metrics",
                    "metrics_granularity",
                    "ignore_failed_scaling_activities",
                    "tags",
                ),
                "",
            ),
        },
    ),
    "aws_autoscaling_lifecycle_hook": Kind(
        type="AWS::AutoScaling::LifecycleHook",
        names={"name": "LifecycleHookName", "notification_target_arn": "NotificationTargetARN", "role_arn": "RoleARN"},
    ),
    "aws_launch_template": Kind(
        type="AWS::EC2::LaunchTemplate",
        below=("Properties", "LaunchTemplateData"),
        names={
            **_MAPPINGS,
            "name": "/Properties.LaunchTemplateName",
            "description": "/Properties.VersionDescription",
            "default_version": "",
            "name_prefix": "",
            "update_default_version": "",
            "security_group_names": "SecurityGroups",
        },
    ),
    "aws_launch_configuration": Kind(
        type="AWS::AutoScaling::LaunchConfiguration",
        names={
            "name": "LaunchConfigurationName",
            "name_prefix": "",
            "user_data": "UserData hashed",
            "user_data_base64": "UserData",
            "enable_monitoring": "InstanceMonitoring",
            "ebs_block_device": "",
            "ephemeral_block_device": "",
            "root_block_device": "",
        },
    ),
    "aws_instance": Kind(
        type="AWS::EC2::Instance",
        names={
            "ami": "ImageId",
            **_below("launch_template", _TEMPLATE),
            "user_data": "UserData hashed",
            "user_data_base64": "UserData",
            "placement_group": "PlacementGroupName",
            **dict.fromkeys(
                (
                    "ebs_block_device",
                    "ephemeral_block_device",
                    "network_interface",
                    "primary_network_interface",
                    "root_block_device",
                    "security_groups",
                    "user_data_replace_on_change",
                    "volume_tags",
                ),
                "",
            ),
        },
    ),
}


@cache
def argument(kind: str, names: tuple[str, ...]) -> Argument:
    """What an argument of a kind is called, by its name and those of the blocks around it."""
    table, path = KINDS[kind].names, ".".join(names)
    written = table.get(path)
    if written is None and len(names) == 1:
        written = _OF_EVERY_KIND.get(path)
    return _argument(_capitalized(names[-1]) if written is None else written)


def _argument(written: str) -> Argument:
    if not written:
        return Argument((), is_left_out=True)
    target, _, form = written.partition(" ")
    is_of_resource, is_list = target.startswith("/"), target.endswith("[]")
    steps = target.removeprefix("/").removesuffix("[]").strip(".")
    return Argument(
        tuple(steps.split(".")) if steps else (),
        is_list=is_list,
        form=Form(form),
        is_of_resource=is_of_resource,
    )


# Words that CloudFormation writes in another way than with one capital.
_WORDS = {"gb": "GB", "gib": "GiB", "mib": "MiB", "vcpu": "VCpu"}


def _capitalized(name: str) -> str:
    return "".join(_WORDS.get(word, word[:1].upper() + word[1:]) for word in name.split("_"))
