"""Resources of Terraform around hosts and services, as far as rules read them, in CloudFormation; see `kind`.

Some become a part of another resource, which `translation` does: policies and their attachments of a role, and targets
of a rule, of which each is a rule of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.template.terraform.kind import Kind, below

ATTACHMENT, TARGET, RULE = "Terraform::Attachment", "AWS::Events::Rule", "Terraform::EventRule"
"""A policy of a role as a resource of its own, a target with its rule, and a rule alone."""

SYSTEM_POLICY = "Terraform::FileSystemPolicy"
ROUTE, ROUTE_TABLE, PROPAGATION = "AWS::EC2::Route", "AWS::EC2::RouteTable", "AWS::EC2::VPNGatewayRoutePropagation"
_ASSOCIATION = "AWS::EC2::SubnetRouteTableAssociation"

_RUNS = {
    "network_configuration": "NetworkConfiguration.AwsvpcConfiguration",
    "network_configuration.assign_public_ip": "AssignPublicIp switch",
    "capacity_provider_strategy": "CapacityProviderStrategy[]",
    "placement_constraint": "PlacementConstraints[]",
    "placement_constraints": "PlacementConstraints[]",
    "placement_strategy": "PlacementStrategy[]",
    "ordered_placement_strategy": "PlacementStrategy[]",
    "tags": "",
}
_HEALTH_CHECK = {
    "": ".",
    "enabled": "HealthCheckEnabled",
    "healthy_threshold": "HealthyThresholdCount",
    "interval": "HealthCheckIntervalSeconds",
    "matcher": "Matcher.HttpCode",
    "path": "HealthCheckPath",
    "port": "HealthCheckPort",
    "protocol": "HealthCheckProtocol",
    "timeout": "HealthCheckTimeoutSeconds",
    "unhealthy_threshold": "UnhealthyThresholdCount",
}
_ACTION = {
    "forward": "ForwardConfig",
    "forward.target_group": "TargetGroups[]",
    "forward.target_group.arn": "TargetGroupArn",
}
_BALANCERS: Mapping[str, Kind] = {
    "lb": Kind(
        type="AWS::ElasticLoadBalancingV2::LoadBalancer",
        names={"load_balancer_type": "Type"},
    ),
    "lb_target_group": Kind(
        type="AWS::ElasticLoadBalancingV2::TargetGroup",
        names={f"health_check.{name}".strip("."): to for name, to in _HEALTH_CHECK.items()},
    ),
    "lb_listener": Kind(
        type="AWS::ElasticLoadBalancingV2::Listener",
        names={"default_action": "DefaultActions[]", **below("default_action", _ACTION)},
    ),
    "lb_listener_rule": Kind(
        type="AWS::ElasticLoadBalancingV2::ListenerRule",
        names={"action": "Actions[]", **below("action", _ACTION), "condition": "", "transform": ""},
    ),
}
_SCALING = {
    "customized_metric_specification.dimensions": "Dimensions[]",
    "customized_metric_specification.metrics": "Metrics[]",
    "customized_metric_specification.metric_dimension": "Dimensions[]",
    "customized_metric_specification.metrics.metric_stat.metric.dimensions": "Dimensions[]",
}

AROUND: Mapping[str, Kind] = {
    **{f"aws_{name}": kind for name, kind in _BALANCERS.items()},
    **{f"aws_a{name}": kind for name, kind in _BALANCERS.items()},
    "aws_appautoscaling_target": Kind(
        type="AWS::ApplicationAutoScaling::ScalableTarget",
        names={"resource_id": "ResourceId service", "suspended_state": "SuspendedState"},
    ),
    "aws_appautoscaling_policy": Kind(
        type="AWS::ApplicationAutoScaling::ScalingPolicy",
        names={
            "name": "PolicyName",
            "resource_id": "ResourceId service",
            "step_scaling_policy_configuration.step_adjustment": "StepAdjustments[]",
            **below("target_tracking_scaling_policy_configuration", _SCALING),
        },
    ),
    "aws_autoscaling_policy": Kind(
        type="AWS::AutoScaling::ScalingPolicy",
        names={
            "name": "",
            "step_adjustment": "StepAdjustments[]",
            "enabled": "",
            **below("target_tracking_configuration", _SCALING),
        },
    ),
    "aws_autoscaling_schedule": Kind(
        type="AWS::AutoScaling::ScheduledAction", names={"scheduled_action_name": "ScheduledActionName"}
    ),
    "aws_cloudwatch_metric_alarm": Kind(
        type="AWS::CloudWatch::Alarm",
        names={
            "dimensions": "Dimensions pairs",
            "metric_query": "Metrics[]",
            "metric_query.metric": "MetricStat.Metric",
            "metric_query.metric.dimensions": "Dimensions pairs",
        },
    ),
    "aws_cloudwatch_event_rule": Kind(
        type=RULE, names={"is_enabled": "State switch", "event_pattern": "EventPattern policy"}
    ),
    "aws_cloudwatch_event_target": Kind(
        type=TARGET,
        below=("Properties", "Targets", 0),
        names={
            "arn": "Arn",
            "rule": "/Rule",
            "target_id": "Id",
            "ecs_target": "EcsParameters",
            **below("ecs_target", _RUNS),
            "ecs_target.network_configuration": "NetworkConfiguration.AwsVpcConfiguration",
            "batch_target": "BatchParameters",
            "batch_target.array_size": "ArrayProperties.Size",
            "batch_target.job_attempts": "RetryStrategy.Attempts",
            "input_transformer.input_paths": "InputPathsMap free",
        },
    ),
    "aws_scheduler_schedule": Kind(
        type="AWS::Scheduler::Schedule",
        names={"target.ecs_parameters": "EcsParameters", **below("target.ecs_parameters", _RUNS), "group_name": ""},
    ),
    "aws_pipes_pipe": Kind(
        type="AWS::Pipes::Pipe",
        names={
            "target_parameters.ecs_task_parameters.network_configuration.aws_vpc_configuration": "AwsvpcConfiguration",
            "target_parameters.ecs_task_parameters.capacity_provider_strategy": "CapacityProviderStrategy[]",
            "target_parameters.ecs_task_parameters.overrides.container_override": "ContainerOverrides[]",
            "target_parameters.batch_job_parameters.parameters": "Parameters free",
        },
    ),
    "aws_sfn_state_machine": Kind(
        type="AWS::StepFunctions::StateMachine",
        names={"definition": "DefinitionString", "name": "StateMachineName", "type": "StateMachineType"},
    ),
    "aws_security_group": Kind(
        type="AWS::EC2::SecurityGroup",
        names={"name": "GroupName", "ingress": "SecurityGroupIngress[]", "egress": "SecurityGroupEgress[]"},
    ),
    "aws_security_group_rule": Kind(
        type="AWS::EC2::SecurityGroupIngress", names={"security_group_id": "GroupId", "protocol": "IpProtocol"}
    ),
    **{
        f"aws_vpc_security_group_{side.lower()}_rule": Kind(
            type=f"AWS::EC2::SecurityGroup{side}",
            names={
                "security_group_id": "GroupId",
                "cidr_ipv4": "CidrIp",
                "cidr_ipv6": "CidrIpv6",
                "referenced_security_group_id": f"{other}SecurityGroupId",
            },
        )
        for side, other in (("Ingress", "Source"), ("Egress", "Destination"))
    },
    "aws_subnet": Kind(type="AWS::EC2::Subnet"),
    "aws_vpc": Kind(type="AWS::EC2::VPC", is_bare=True),
    "aws_internet_gateway": Kind(type="AWS::EC2::InternetGateway", is_bare=True),
    "aws_vpc_endpoint": Kind(type="AWS::EC2::VPCEndpoint"),
    "aws_route": Kind(type=ROUTE),
    "aws_route_table": Kind(
        type=ROUTE_TABLE,
        names={
            "route": "Routes[]",
            "route.cidr_block": "DestinationCidrBlock",
            "route.ipv6_cidr_block": "DestinationIpv6CidrBlock",
        },
    ),
    "aws_route_table_association": Kind(type=_ASSOCIATION),
    # Which subnets have the main table is not said, so it may be any.
    "aws_default_route_table": Kind(type=_ASSOCIATION, is_bare=True),
    "aws_main_route_table_association": Kind(type=_ASSOCIATION, is_bare=True),
    "aws_vpn_gateway_route_propagation": Kind(type=PROPAGATION, is_bare=True),
    "aws_efs_file_system": Kind(type="AWS::EFS::FileSystem", is_bare=True),
    "aws_efs_file_system_policy": Kind(type=SYSTEM_POLICY, names={"policy": "PolicyDocument policy"}),
    "aws_placement_group": Kind(type="AWS::EC2::PlacementGroup", names={"name": "GroupName"}),
    "aws_ec2_capacity_reservation": Kind(type="AWS::EC2::CapacityReservation"),
    "aws_ec2_fleet": Kind(type="AWS::EC2::EC2Fleet", is_bare=True),
    "aws_spot_fleet_request": Kind(type="AWS::EC2::SpotFleet", is_bare=True),
    "aws_iam_role": Kind(
        type="AWS::IAM::Role",
        names={
            "name": "RoleName",
            "assume_role_policy": "AssumeRolePolicyDocument policy",
            "inline_policy": "Policies[]",
            "inline_policy.name": "PolicyName",
            "inline_policy.policy": "PolicyDocument policy",
        },
    ),
    "aws_iam_policy": Kind(
        type="AWS::IAM::ManagedPolicy", names={"name": "ManagedPolicyName", "policy": "PolicyDocument policy"}
    ),
    "aws_iam_instance_profile": Kind(
        type="AWS::IAM::InstanceProfile", names={"name": "InstanceProfileName", "role": "Roles one"}
    ),
    "aws_iam_role_policy": Kind(type=ATTACHMENT, names={"policy": "PolicyDocument policy"}),
    "aws_iam_role_policy_attachment": Kind(type=ATTACHMENT),
    "aws_ssm_parameter": Kind(type="AWS::SSM::Parameter", names={"insecure_value": "Value"}),
    "aws_ssm_association": Kind(type="AWS::SSM::Association", is_bare=True),
    "aws_ssm_document": Kind(type="AWS::SSM::Document", is_bare=True),
    "aws_lambda_function": Kind(type="AWS::Lambda::Function", is_bare=True),
}
