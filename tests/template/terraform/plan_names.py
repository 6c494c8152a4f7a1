"""What Terraform calls the resources of CloudFormation and their properties, for plans that are written for tests."""

from __future__ import annotations

__all__ = ["TYPES"]

# Names that are not those of CloudFormation with underscores, by the type and the way to them; "" takes a level away.
TYPES: dict[str, tuple[str, dict[str, str]]] = {
    "AWS::ECS::Cluster": (
        "aws_ecs_cluster",
        {"ClusterName": "name", "ClusterSettings": "setting", "CapacityProviders": "capacity_providers"},
    ),
    "AWS::ECS::ClusterCapacityProviderAssociations": (
        "aws_ecs_cluster_capacity_providers",
        {"Cluster": "cluster_name"},
    ),
    "AWS::ECS::CapacityProvider": ("aws_ecs_capacity_provider", {"ClusterName": "cluster"}),
    "AWS::ECS::TaskDefinition": (
        "aws_ecs_task_definition",
        {
            "Volumes": "volume",
            "Volumes.Host": "",
            "Volumes.Host.SourcePath": "host_path",
            "Volumes.EFSVolumeConfiguration": "efs_volume_configuration",
            "Volumes.EFSVolumeConfiguration.FilesystemId": "file_system_id",
            "Volumes.EFSVolumeConfiguration.AuthorizationConfig.IAM": "iam",
        },
    ),
    "AWS::ECS::Service": (
        "aws_ecs_service",
        {
            "ServiceName": "name",
            "NetworkConfiguration.AwsvpcConfiguration": "",
            "DeploymentConfiguration": "",
            "DeploymentConfiguration.MaximumPercent": "deployment_maximum_percent",
            "DeploymentConfiguration.MinimumHealthyPercent": "deployment_minimum_healthy_percent",
            "LoadBalancers": "load_balancer",
            "PlacementStrategies": "ordered_placement_strategy",
        },
    ),
    "AWS::AutoScaling::AutoScalingGroup": (
        "aws_autoscaling_group",
        {
            "AutoScalingGroupName": "name",
            "VPCZoneIdentifier": "vpc_zone_identifier",
            "NewInstancesProtectedFromScaleIn": "protect_from_scale_in",
            "LaunchConfigurationName": "launch_configuration",
            "LaunchTemplate.LaunchTemplateId": "id",
            "LaunchTemplate.LaunchTemplateName": "name",
            "LifecycleHookSpecificationList": "initial_lifecycle_hook",
            "LifecycleHookSpecificationList.LifecycleHookName": "name",
            "MixedInstancesPolicy.LaunchTemplate.Overrides": "override",
            "TargetGroupARNs": "target_group_arns",
            "Tags": "",
            "MetricsCollection": "",
        },
    ),
    "AWS::EC2::LaunchTemplate": (
        "aws_launch_template",
        {
            "LaunchTemplateName": "name",
            "LaunchTemplateData": "",
            "LaunchTemplateData.SecurityGroupIds": "vpc_security_group_ids",
            "LaunchTemplateData.NetworkInterfaces.Groups": "security_groups",
            "TagSpecifications": "",
        },
    ),
    "AWS::Batch::ComputeEnvironment": (
        "aws_batch_compute_environment",
        {
            "ComputeResources.InstanceTypes": "instance_type",
            "ComputeResources.MaxvCpus": "max_vcpus",
            "ComputeResources.MinvCpus": "min_vcpus",
            "ComputeResources.DesiredvCpus": "desired_vcpus",
            "ReplaceComputeEnvironment": "-",
            "UpdatePolicy": "-",
        },
    ),
    "AWS::Batch::JobQueue": ("aws_batch_job_queue", {"JobQueueName": "name"}),
    "AWS::Batch::JobDefinition": ("aws_batch_job_definition", {"JobDefinitionName": "name"}),
    "AWS::IAM::Role": ("aws_iam_role", {"RoleName": "name", "AssumeRolePolicyDocument": "assume_role_policy"}),
    "AWS::IAM::InstanceProfile": ("aws_iam_instance_profile", {"Roles": "role"}),
    "AWS::EC2::Subnet": ("aws_subnet", {}),
    "AWS::EC2::PlacementGroup": ("aws_placement_group", {}),
    "AWS::ApplicationAutoScaling::ScalableTarget": ("aws_appautoscaling_target", {}),
    "AWS::EC2::SecurityGroup": (
        "aws_security_group",
        {
            "SecurityGroupIngress": "ingress",
            "SecurityGroupEgress": "egress",
            **{
                f"SecurityGroup{side}.{key}": name
                for side in ("Ingress", "Egress")
                for key, name in {
                    "IpProtocol": "protocol",
                    "CidrIp": "cidr_blocks",
                    "SourceSecurityGroupId": "security_groups",
                    "DestinationSecurityGroupId": "security_groups",
                }.items()
            },
        },
    ),
    "AWS::EC2::SecurityGroupIngress": (
        "aws_vpc_security_group_ingress_rule",
        {
            "GroupId": "security_group_id",
            "CidrIp": "cidr_ipv4",
            "SourceSecurityGroupId": "referenced_security_group_id",
        },
    ),
    "AWS::EC2::VPC": ("aws_vpc", {}),
    "AWS::SNS::Topic": ("aws_sns_topic", {"Subscription": ""}),
    "AWS::ElasticLoadBalancingV2::LoadBalancer": (
        "aws_lb",
        {"Type": "load_balancer_type", "LoadBalancerAttributes": "", "Scheme": "-", "SubnetMappings": "-"},
    ),
    "AWS::ElasticLoadBalancingV2::TargetGroup": (
        "aws_lb_target_group",
        {
            "TargetGroupAttributes": "",
            "HealthCheckPath": "health_check.path",
            "HealthCheckPort": "health_check.port",
            "HealthCheckProtocol": "health_check.protocol",
            "HealthCheckIntervalSeconds": "health_check.interval",
            "HealthCheckTimeoutSeconds": "health_check.timeout",
            "HealthyThresholdCount": "health_check.healthy_threshold",
            "UnhealthyThresholdCount": "health_check.unhealthy_threshold",
            "Matcher": "-",
        },
    ),
    "AWS::ElasticLoadBalancingV2::Listener": (
        "aws_lb_listener",
        {"DefaultActions": "default_action", "DefaultActions.ForwardConfig": "forward", "Certificates": ""},
    ),
    "AWS::ElasticLoadBalancingV2::ListenerRule": (
        "aws_lb_listener_rule",
        {"Actions": "action", "Actions.ForwardConfig": "forward", "Conditions": ""},
    ),
    "AWS::CloudWatch::Alarm": ("aws_cloudwatch_metric_alarm", {"Dimensions": "-"}),
    "AWS::ApplicationAutoScaling::ScalingPolicy": ("aws_appautoscaling_policy", {"PolicyName": "name"}),
    "AWS::AutoScaling::ScheduledAction": ("aws_autoscaling_schedule", {}),
    "AWS::AutoScaling::LifecycleHook": ("aws_autoscaling_lifecycle_hook", {"LifecycleHookName": "name"}),
    "AWS::AutoScaling::LaunchConfiguration": (
        "aws_launch_configuration",
        {"BlockDeviceMappings": "ebs_block_device", "BlockDeviceMappings.Ebs": ""},
    ),
    "AWS::EC2::Instance": (
        "aws_instance",
        {
            "ImageId": "ami",
            "SecurityGroupIds": "vpc_security_group_ids",
            "BlockDeviceMappings": "ebs_block_device",
            "BlockDeviceMappings.Ebs": "",
        },
    ),
    "AWS::Scheduler::Schedule": (
        "aws_scheduler_schedule",
        {
            "Target.EcsParameters.NetworkConfiguration.AwsvpcConfiguration": "",
            "FlexibleTimeWindow": "flexible_time_window",
        },
    ),
    "AWS::StepFunctions::StateMachine": ("aws_sfn_state_machine", {"DefinitionString": "definition"}),
    "AWS::SSM::Parameter": ("aws_ssm_parameter", {"Value": "insecure_value"}),
}
