"""Resources of Terraform that are read, and what they are in CloudFormation, in the notation of `kind`.

Work, the hosts that it runs on, and what is around them as far as rules read it. Some become a part of another
resource, which `translation` does: policies and their attachments of a role, disks of a host, and targets of a rule, of
which each is a rule of its own.

https://registry.terraform.io/providers/hashicorp/aws/latest/docs, versions 4 to 6
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.terraform.kind import Argument, Kind, argument_of, capitalized

# Names of attributes that are those of properties of something else.
_OF_EVERY_KIND = {
    **dict.fromkeys(("arn", "id", "region", "tags"), ""),
    "vpc_security_group_ids": "SecurityGroupIds",
}
_READ = """
aws_ecs_cluster = AWS::ECS::Cluster
    name = ClusterName
    setting = ClusterSettings[]
    default_capacity_provider_strategy = DefaultCapacityProviderStrategy[]
aws_ecs_cluster_capacity_providers = AWS::ECS::ClusterCapacityProviderAssociations
    cluster_name = Cluster
    default_capacity_provider_strategy = DefaultCapacityProviderStrategy[]
aws_ecs_capacity_provider = AWS::ECS::CapacityProvider
    cluster = ClusterName
aws_ecs_task_definition = AWS::ECS::TaskDefinition
    placement_constraints = PlacementConstraints[]
    container_definitions = ContainerDefinitions json
    inference_accelerator = InferenceAccelerators[]
    volume = Volumes[]
        host_path = Host.SourcePath
        docker_volume_configuration.driver_opts = DriverOpts free
        docker_volume_configuration.labels = Labels free
        efs_volume_configuration = EFSVolumeConfiguration
            file_system_id = FilesystemId
            authorization_config.iam = IAM
        fsx_windows_file_server_volume_configuration = FSxWindowsFileServerVolumeConfiguration
    proxy_configuration.properties =
aws_ecs_service = AWS::ECS::Service
    placement_constraints = PlacementConstraints[]
    capacity_provider_strategy = CapacityProviderStrategy[]
    network_configuration = NetworkConfiguration.AwsvpcConfiguration
        assign_public_ip = AssignPublicIp switch
    name = ServiceName
    deployment_circuit_breaker = DeploymentConfiguration.DeploymentCircuitBreaker
    deployment_maximum_percent = DeploymentConfiguration.MaximumPercent
    deployment_minimum_healthy_percent = DeploymentConfiguration.MinimumHealthyPercent
    deployment_configuration.lifecycle_hook = LifecycleHooks[]
    iam_role = Role
    load_balancer = LoadBalancers[]
        elb_name = LoadBalancerName
    ordered_placement_strategy = PlacementStrategies[]
    service_registries = ServiceRegistries[]
    service_connect_configuration.service = Services[]
    volume_configuration = VolumeConfigurations[]
        managed_ebs_volume = ManagedEBSVolume
    alarms = DeploymentConfiguration.Alarms
aws_autoscaling_group = AWS::AutoScaling::AutoScalingGroup
    name = AutoScalingGroupName
    launch_configuration = LaunchConfigurationName
    launch_template.id = LaunchTemplateId
    launch_template.name = LaunchTemplateName
    vpc_zone_identifier = VPCZoneIdentifier
    protect_from_scale_in = NewInstancesProtectedFromScaleIn
    target_group_arns = TargetGroupARNs
    load_balancers = LoadBalancerNames
    initial_lifecycle_hook = LifecycleHookSpecificationList[]
        name = LifecycleHookName
    mixed_instances_policy.launch_template.override = Overrides[]
    tag = Tags[]
    instance_refresh = /UpdatePolicy.AutoScalingInstanceRefresh
    traffic_source = TrafficSources[]
aws_autoscaling_lifecycle_hook = AWS::AutoScaling::LifecycleHook
    name = LifecycleHookName
    notification_target_arn = NotificationTargetARN
    role_arn = RoleARN
aws_launch_template = AWS::EC2::LaunchTemplate.LaunchTemplateData
    block_device_mappings = BlockDeviceMappings[]
    network_interfaces = NetworkInterfaces[]
        security_groups = Groups
    tag_specifications = TagSpecifications[]
    name = /Properties.LaunchTemplateName
    description = /Properties.VersionDescription
    security_group_names = SecurityGroups
aws_launch_configuration = AWS::AutoScaling::LaunchConfiguration
    name = LaunchConfigurationName
    user_data = UserData hashed
    user_data_base64 = UserData
    enable_monitoring = InstanceMonitoring
    root_block_device = Root
    ebs_block_device = Disks[]
aws_instance = AWS::EC2::Instance
    ami = ImageId
    launch_template.id = LaunchTemplateId
    launch_template.name = LaunchTemplateName
    user_data = UserData hashed
    user_data_base64 = UserData
    placement_group = PlacementGroupName
    root_block_device = Root
    ebs_block_device = Disks[]
    security_groups =
aws_batch_compute_environment = AWS::Batch::ComputeEnvironment
    compute_environment_name = ComputeEnvironmentName
    name = ComputeEnvironmentName
    status =
    compute_resources
        instance_type = InstanceTypes
        max_vcpus = MaxvCpus
        min_vcpus = MinvCpus
        desired_vcpus = DesiredvCpus
        tags =
        ec2_configuration = Ec2Configuration[]
aws_batch_job_queue = AWS::Batch::JobQueue
    name = JobQueueName
    compute_environments = ComputeEnvironmentOrder order
    compute_environment_order = ComputeEnvironmentOrder[]
    job_state_time_limit_action = JobStateTimeLimitActions[]
aws_batch_job_definition = AWS::Batch::JobDefinition
    name = JobDefinitionName
    container_properties = ContainerProperties json
    ecs_properties = EcsProperties json
    node_properties = NodeProperties json
    parameters = Parameters free
    retry_strategy.evaluate_on_exit = EvaluateOnExit[]
aws_lb aws_alb = AWS::ElasticLoadBalancingV2::LoadBalancer
    load_balancer_type = Type
aws_lb_target_group aws_alb_target_group = AWS::ElasticLoadBalancingV2::TargetGroup
    health_check = .
        enabled = HealthCheckEnabled
        healthy_threshold = HealthyThresholdCount
        interval = HealthCheckIntervalSeconds
        matcher = Matcher.HttpCode
        path = HealthCheckPath
        port = HealthCheckPort
        protocol = HealthCheckProtocol
        timeout = HealthCheckTimeoutSeconds
        unhealthy_threshold = UnhealthyThresholdCount
aws_lb_listener aws_alb_listener = AWS::ElasticLoadBalancingV2::Listener
    default_action = DefaultActions[]
        forward = ForwardConfig
            target_group = TargetGroups[]
                arn = TargetGroupArn
aws_lb_listener_rule aws_alb_listener_rule = AWS::ElasticLoadBalancingV2::ListenerRule
    action = Actions[]
        forward = ForwardConfig
            target_group = TargetGroups[]
                arn = TargetGroupArn
    condition =
    transform =
aws_appautoscaling_target = AWS::ApplicationAutoScaling::ScalableTarget
    resource_id = ResourceId service
aws_appautoscaling_policy = AWS::ApplicationAutoScaling::ScalingPolicy
    name = PolicyName
    resource_id = ResourceId service
    step_scaling_policy_configuration.step_adjustment = StepAdjustments[]
    target_tracking_scaling_policy_configuration.customized_metric_specification
        dimensions = Dimensions[]
        metrics = Metrics[]
            metric_stat.metric.dimensions = Dimensions[]
        metric_dimension = Dimensions[]
aws_autoscaling_policy = AWS::AutoScaling::ScalingPolicy
    name =
    step_adjustment = StepAdjustments[]
    enabled =
    target_tracking_configuration.customized_metric_specification
        dimensions = Dimensions[]
        metrics = Metrics[]
            metric_stat.metric.dimensions = Dimensions[]
        metric_dimension = Dimensions[]
aws_autoscaling_schedule = AWS::AutoScaling::ScheduledAction
aws_cloudwatch_metric_alarm = AWS::CloudWatch::Alarm
    dimensions = Dimensions pairs
    metric_query = Metrics[]
        metric = MetricStat.Metric
            dimensions = Dimensions pairs
aws_cloudwatch_event_rule = Terraform::EventRule
    is_enabled = State switch
    event_pattern = EventPattern policy
aws_cloudwatch_event_target = AWS::Events::Rule.Targets.0
    arn = Arn
    rule = /Rule
    target_id = Id
    ecs_target = EcsParameters
        network_configuration = NetworkConfiguration.AwsVpcConfiguration
            assign_public_ip = AssignPublicIp switch
        capacity_provider_strategy = CapacityProviderStrategy[]
        placement_constraint = PlacementConstraints[]
        placement_constraints = PlacementConstraints[]
        placement_strategy = PlacementStrategy[]
        ordered_placement_strategy = PlacementStrategy[]
        tags =
    batch_target = BatchParameters
        array_size = ArrayProperties.Size
        job_attempts = RetryStrategy.Attempts
    input_transformer.input_paths = InputPathsMap free
aws_scheduler_schedule = AWS::Scheduler::Schedule
    target.ecs_parameters = EcsParameters
        network_configuration = NetworkConfiguration.AwsvpcConfiguration
            assign_public_ip = AssignPublicIp switch
        capacity_provider_strategy = CapacityProviderStrategy[]
        placement_constraint = PlacementConstraints[]
        placement_constraints = PlacementConstraints[]
        placement_strategy = PlacementStrategy[]
        ordered_placement_strategy = PlacementStrategy[]
        tags =
    group_name =
aws_pipes_pipe = AWS::Pipes::Pipe
    target_parameters
        ecs_task_parameters
            network_configuration.aws_vpc_configuration = AwsvpcConfiguration
            capacity_provider_strategy = CapacityProviderStrategy[]
            overrides.container_override = ContainerOverrides[]
        batch_job_parameters.parameters = Parameters free
aws_sfn_state_machine = AWS::StepFunctions::StateMachine
    definition = DefinitionString
    name = StateMachineName
    type = StateMachineType
aws_security_group = AWS::EC2::SecurityGroup
    name = GroupName
    ingress = SecurityGroupIngress[]
    egress = SecurityGroupEgress[]
aws_security_group_rule = AWS::EC2::SecurityGroupIngress
    security_group_id = GroupId
    protocol = IpProtocol
aws_vpc_security_group_ingress_rule = AWS::EC2::SecurityGroupIngress
    security_group_id = GroupId
    cidr_ipv4 = CidrIp
    referenced_security_group_id = SourceSecurityGroupId
aws_vpc_security_group_egress_rule = AWS::EC2::SecurityGroupEgress
    security_group_id = GroupId
    cidr_ipv4 = CidrIp
    referenced_security_group_id = DestinationSecurityGroupId
aws_subnet = AWS::EC2::Subnet
aws_vpc_endpoint = AWS::EC2::VPCEndpoint
aws_nat_gateway = AWS::EC2::NatGateway
aws_route = AWS::EC2::Route
aws_route_table = AWS::EC2::RouteTable
    route = Routes[]
        cidr_block = DestinationCidrBlock
        ipv6_cidr_block = DestinationIpv6CidrBlock
aws_route_table_association = AWS::EC2::SubnetRouteTableAssociation
aws_efs_mount_target = AWS::EFS::MountTarget
aws_efs_file_system_policy = Terraform::FileSystemPolicy
    policy = PolicyDocument policy
aws_placement_group = AWS::EC2::PlacementGroup
    name = GroupName
aws_ec2_capacity_reservation = AWS::EC2::CapacityReservation
aws_iam_role = AWS::IAM::Role
    name = RoleName
    assume_role_policy = AssumeRolePolicyDocument policy
    inline_policy = Policies[]
        name = PolicyName
        policy = PolicyDocument policy
aws_iam_policy = AWS::IAM::ManagedPolicy
    name = ManagedPolicyName
    policy = PolicyDocument policy
aws_iam_instance_profile = AWS::IAM::InstanceProfile
    name = InstanceProfileName
    role = Roles one
aws_iam_role_policy = Terraform::Attachment
    policy = PolicyDocument policy
aws_iam_role_policy_attachment = Terraform::Attachment
aws_iam_policy_attachment = Terraform::Attachment
aws_iam_role_policy_attachments_exclusive = Terraform::Attachment
    role_name = Role
aws_kms_key = AWS::KMS::Key
    policy = KeyPolicy policy
    customer_master_key_spec = KeySpec
aws_kms_grant aws_kms_key_policy = Custom::KeyPermission
aws_cloudwatch_log_group = AWS::Logs::LogGroup
    name = LogGroupName
aws_ssm_parameter = AWS::SSM::Parameter
    insecure_value = Value
"""
# Which subnets have the default or main route table is not said, nor which group an endpoint gets: it may be any.
_ONLY_THERE = """
aws_batch_scheduling_policy = AWS::Batch::SchedulingPolicy
aws_vpc = AWS::EC2::VPC
aws_internet_gateway = AWS::EC2::InternetGateway
aws_route53_resolver_rule_association aws_route53_zone aws_route53_zone_association = AWS::Route53::HostedZone
aws_vpc_endpoint_security_group_association = AWS::EC2::SecurityGroupIngress
aws_vpc_endpoint_private_dns = AWS::Route53::HostedZone
aws_vpc_endpoint_route_table_association = Terraform::EndpointRouteTable
aws_route53profiles_association aws_vpc_dhcp_options_association = AWS::EC2::VPCDHCPOptionsAssociation
aws_vpn_gateway_route_propagation = AWS::EC2::VPNGatewayRoutePropagation
aws_efs_file_system = AWS::EFS::FileSystem
aws_ec2_fleet = AWS::EC2::EC2Fleet
aws_spot_fleet_request = AWS::EC2::SpotFleet
aws_ssm_association = AWS::SSM::Association
aws_ssm_document = AWS::SSM::Document
aws_lambda_function = AWS::Lambda::Function
aws_default_route_table aws_main_route_table_association = AWS::EC2::SubnetRouteTableAssociation
"""
_OTHERWISE: Mapping[str, Mapping[str, Node]] = {
    "aws_ecs_cluster_capacity_providers": {"CapacityProviders": [], "DefaultCapacityProviderStrategy": []},
    "aws_ecs_service": {"DesiredCount": 0},
}


def _kinds(table: str, *, are_bare: bool) -> Iterator[tuple[str, Kind]]:
    for written in re.split(r"\n(?=\S)", table.strip()):
        heading, *lines = written.split("\n")
        names, _, made = heading.partition(" = ")
        kind, *steps = made.split(".")
        for name in names.split():
            yield (
                name,
                Kind(
                    type=kind,
                    names=dict(_arguments(lines)),
                    below=("Properties", *(int(each) if each.isdecimal() else each for each in steps)),
                    is_bare=are_bare,
                    otherwise=_OTHERWISE.get(name, {}),
                ),
            )


def _arguments(lines: Iterable[str]) -> Iterator[tuple[str, Argument]]:
    """Arguments by their names and those of the blocks around them, which a line is indented below."""
    around: list[str] = []
    for line in lines:
        name, is_named, written = line.strip().partition(" =")
        depth, more = divmod(len(line) - len(line.lstrip()), 4)
        if more or not 1 <= depth <= len(around) + 1:
            raise ValueError(f"indented as in no block: {line!r}")
        around[depth - 1 :] = [name]
        if is_named:
            yield ".".join(around), argument_of(written.strip())


KINDS: Mapping[str, Kind] = dict((*_kinds(_READ, are_bare=False), *_kinds(_ONLY_THERE, are_bare=True)))


@cache
def argument(kind: str, names: tuple[str, ...]) -> Argument:
    """What an argument of a kind is called, by its name and those of the blocks around it."""
    found, path = KINDS[kind], ".".join(names)
    if path in found.names:
        return found.names[path]
    is_left_out = found.is_bare and len(names) == 1
    written = _OF_EVERY_KIND.get(path)
    return argument_of("" if is_left_out else capitalized(names[-1]) if written is None else written)
