"""What Terraform calls the resources of CloudFormation and their properties, for plans that are written for tests."""

from __future__ import annotations

# Names that are not those of CloudFormation with underscores, by the type and the way to them; "" takes a level away.
TYPES: dict[str, tuple[str, dict[str, str]]] = {
    "AWS::ECS::Cluster": ("aws_ecs_cluster", {"ClusterName": "name", "ClusterSettings": "setting"}),
    "AWS::ECS::ClusterCapacityProviderAssociations": (
        "aws_ecs_cluster_capacity_providers",
        {"Cluster": "cluster_name"},
    ),
    "AWS::ECS::CapacityProvider": ("aws_ecs_capacity_provider", {"ClusterName": "cluster"}),
    "AWS::ECS::TaskDefinition": (
        "aws_ecs_task_definition",
        {"Volumes": "volume", "Volumes.EFSVolumeConfiguration.FilesystemId": "file_system_id"},
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
            "NewInstancesProtectedFromScaleIn": "protect_from_scale_in",
            "LaunchConfigurationName": "launch_configuration",
            "LaunchTemplate.LaunchTemplateId": "id",
            "LifecycleHookSpecificationList": "initial_lifecycle_hook",
            "LifecycleHookSpecificationList.LifecycleHookName": "name",
            "MixedInstancesPolicy.LaunchTemplate.Overrides": "override",
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
        },
    ),
    "AWS::Batch::ComputeEnvironment": (
        "aws_batch_compute_environment",
        {
            "ComputeResources.InstanceTypes": "instance_type",
            "ComputeResources.MaxvCpus": "max_vcpus",
            "ComputeResources.MinvCpus": "min_vcpus",
            "ComputeResources.DesiredvCpus": "desired_vcpus",
        },
    ),
    "AWS::Batch::JobQueue": ("aws_batch_job_queue", {}),
    "AWS::Batch::JobDefinition": ("aws_batch_job_definition", {}),
    "AWS::IAM::Role": ("aws_iam_role", {"AssumeRolePolicyDocument": "assume_role_policy"}),
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
                }.items()
            },
        },
    ),
    "AWS::EC2::SecurityGroupIngress": (
        "aws_vpc_security_group_ingress_rule",
        {"GroupId": "security_group_id", "SourceSecurityGroupId": "referenced_security_group_id"},
    ),
    "AWS::EC2::VPC": ("aws_vpc", {}),
    "AWS::SNS::Topic": ("aws_sns_topic", {}),
    "AWS::ElasticLoadBalancingV2::LoadBalancer": ("aws_lb", {"Scheme": "-"}),
    "AWS::ElasticLoadBalancingV2::TargetGroup": ("aws_lb_target_group", {"HealthCheckPath": "health_check.path"}),
    "AWS::ElasticLoadBalancingV2::Listener": ("aws_lb_listener", {"DefaultActions": "default_action"}),
    "AWS::CloudWatch::Alarm": ("aws_cloudwatch_metric_alarm", {"Dimensions": "-"}),
    "AWS::ApplicationAutoScaling::ScalingPolicy": ("aws_appautoscaling_policy", {"PolicyName": "name"}),
    "AWS::AutoScaling::ScheduledAction": ("aws_autoscaling_schedule", {}),
    "AWS::AutoScaling::LaunchConfiguration": ("aws_launch_configuration", {}),
    "AWS::EC2::Instance": (
        "aws_instance",
        {"ImageId": "ami", "BlockDeviceMappings": "ebs_block_device", "BlockDeviceMappings.Ebs": ""},
    ),
    "AWS::Scheduler::Schedule": ("aws_scheduler_schedule", {}),
}
