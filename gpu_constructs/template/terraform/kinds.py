"""Resources of Terraform that run work and the hosts it runs on, and what they are in CloudFormation; see `kind`.

https://registry.terraform.io/providers/hashicorp/aws/latest/docs, versions 4 to 6
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpu_constructs.template.terraform.kind import Argument, Kind, argument_of, below, capitalized
from gpu_constructs.template.terraform.kinds_around import AROUND

# Names of attributes that are those of properties of something else.
_OF_EVERY_KIND = {
    **dict.fromkeys(("arn", "id", "region", "tags"), ""),
    "vpc_security_group_ids": "SecurityGroupIds",
}
_MAPPINGS = {
    "block_device_mappings": "BlockDeviceMappings[]",
    "network_interfaces": "NetworkInterfaces[]",
    "network_interfaces.security_groups": "Groups",
    "tag_specifications": "TagSpecifications[]",
}
# Two blocks that `translation` makes one list of.
_DISKS = {"root_block_device": "Root", "ebs_block_device": "Disks[]"}
_TEMPLATE = {"id": "LaunchTemplateId", "name": "LaunchTemplateName", "version": "Version"}
_CONSTRAINTS = {"placement_constraints": "PlacementConstraints[]"}
_STRATEGY = {"capacity_provider_strategy": "CapacityProviderStrategy[]"}
_AWSVPC = {"network_configuration": "NetworkConfiguration.AwsvpcConfiguration"}
_PUBLIC = {"network_configuration.assign_public_ip": "AssignPublicIp switch"}


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
        },
        otherwise={"DesiredCount": 0},
    ),
    "aws_autoscaling_group": Kind(
        type="AWS::AutoScaling::AutoScalingGroup",
        names={
            "name": "AutoScalingGroupName",
            "launch_configuration": "LaunchConfigurationName",
            **below("launch_template", _TEMPLATE),
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
            "traffic_source": "TrafficSources[]",
            "warm_pool": "",
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
            "security_group_names": "SecurityGroups",
        },
    ),
    "aws_launch_configuration": Kind(
        type="AWS::AutoScaling::LaunchConfiguration",
        names={
            "name": "LaunchConfigurationName",
            "user_data": "UserData hashed",
            "user_data_base64": "UserData",
            "enable_monitoring": "InstanceMonitoring",
            **_DISKS,
        },
    ),
    "aws_instance": Kind(
        type="AWS::EC2::Instance",
        names={
            "ami": "ImageId",
            **below("launch_template", _TEMPLATE),
            "user_data": "UserData hashed",
            "user_data_base64": "UserData",
            "placement_group": "PlacementGroupName",
            **_DISKS,
            "security_groups": "",
        },
    ),
    "aws_batch_compute_environment": Kind(
        type="AWS::Batch::ComputeEnvironment",
        names={
            "compute_environment_name": "ComputeEnvironmentName",
            "name": "ComputeEnvironmentName",
            "status": "",
            "compute_resources.instance_type": "InstanceTypes",
            "compute_resources.max_vcpus": "MaxvCpus",
            "compute_resources.min_vcpus": "MinvCpus",
            "compute_resources.desired_vcpus": "DesiredvCpus",
            "compute_resources.tags": "",
            "compute_resources.ec2_configuration": "Ec2Configuration[]",
        },
    ),
    "aws_batch_job_queue": Kind(
        type="AWS::Batch::JobQueue",
        names={
            "name": "JobQueueName",
            "compute_environments": "ComputeEnvironmentOrder order",
            "compute_environment_order": "ComputeEnvironmentOrder[]",
            "job_state_time_limit_action": "JobStateTimeLimitActions[]",
        },
    ),
    "aws_batch_job_definition": Kind(
        type="AWS::Batch::JobDefinition",
        names={
            "name": "JobDefinitionName",
            "container_properties": "ContainerProperties json",
            "ecs_properties": "EcsProperties json",
            "node_properties": "NodeProperties json",
            "parameters": "Parameters free",
            "retry_strategy.evaluate_on_exit": "EvaluateOnExit[]",
        },
    ),
    "aws_batch_scheduling_policy": Kind(type="AWS::Batch::SchedulingPolicy", is_bare=True),
    **AROUND,
}


@cache
def argument(kind: str, names: tuple[str, ...]) -> Argument:
    """What an argument of a kind is called, by its name and those of the blocks around it."""
    found, path = KINDS[kind], ".".join(names)
    written = found.names.get(path)
    if written is None and len(names) == 1:
        written = "" if found.is_bare else _OF_EVERY_KIND.get(path)
    return argument_of(capitalized(names[-1]) if written is None else written)
