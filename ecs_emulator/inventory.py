"""Everything that costs money or blocks a name, so that a test can say that nothing is left behind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["inventory"]

_KINDS: dict[str, tuple[str, str, str, str]] = {
    # kind: service, operation, key of the list, key of the id ("" for a list of plain ids)
    "alarm": ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    "address": ("ec2", "describe_addresses", "Addresses", "AllocationId"),
    "auto scaling group": ("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", "AutoScalingGroupName"),
    "capacity provider": ("ecs", "describe_capacity_providers", "capacityProviders", "name"),
    "cluster": ("ecs", "list_clusters", "clusterArns", ""),
    "compute environment": (
        "batch",
        "describe_compute_environments",
        "computeEnvironments",
        "computeEnvironmentName",
    ),
    "dashboard": ("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName"),
    "event rule": ("events", "list_rules", "Rules", "Name"),
    "file system": ("efs", "describe_file_systems", "FileSystems", "FileSystemId"),
    "flow log": ("ec2", "describe_flow_logs", "FlowLogs", "FlowLogId"),
    "function": ("lambda", "list_functions", "Functions", "FunctionName"),
    "image repository": ("ecr", "describe_repositories", "repositories", "repositoryName"),
    "instance profile": ("iam", "list_instance_profiles", "InstanceProfiles", "InstanceProfileName"),
    "internet gateway": ("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    "job definition": ("batch", "describe_job_definitions", "jobDefinitions", "jobDefinitionArn"),
    "job queue": ("batch", "describe_job_queues", "jobQueues", "jobQueueName"),
    "file system of FSx": ("fsx", "describe_file_systems", "FileSystems", "FileSystemId"),
    "launch template": ("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    "load balancer": ("elbv2", "describe_load_balancers", "LoadBalancers", "LoadBalancerArn"),
    "log group": ("logs", "describe_log_groups", "logGroups", "logGroupName"),
    "metric filter": ("logs", "describe_metric_filters", "metricFilters", "filterName"),
    "nat gateway": ("ec2", "describe_nat_gateways", "NatGateways", "NatGatewayId"),
    "namespace": ("servicediscovery", "list_namespaces", "Namespaces", "Id"),
    "network interface": ("ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    "pipe": ("pipes", "list_pipes", "Pipes", "Name"),
    "placement group": ("ec2", "describe_placement_groups", "PlacementGroups", "GroupName"),
    "queue": ("sqs", "list_queues", "QueueUrls", ""),
    "role": ("iam", "list_roles", "Roles", "RoleName"),
    "route table": ("ec2", "describe_route_tables", "RouteTables", "RouteTableId"),
    "schedule": ("scheduler", "list_schedules", "Schedules", "Name"),
    "scheduled action": (
        "autoscaling",
        "describe_scheduled_actions",
        "ScheduledUpdateGroupActions",
        "ScheduledActionName",
    ),
    "scheduling policy": ("batch", "list_scheduling_policies", "schedulingPolicies", "arn"),
    "secret": ("secretsmanager", "list_secrets", "SecretList", "ARN"),
    "security group": ("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
    "service of Cloud Map": ("servicediscovery", "list_services", "Services", "Id"),
    "stack": ("cloudformation", "describe_stacks", "Stacks", "StackName"),
    "state machine": ("stepfunctions", "list_state_machines", "stateMachines", "stateMachineArn"),
    "subnet": ("ec2", "describe_subnets", "Subnets", "SubnetId"),
    "table": ("dynamodb", "list_tables", "TableNames", ""),
    "target group": ("elbv2", "describe_target_groups", "TargetGroups", "TargetGroupArn"),
    "task definition": ("ecs", "list_task_definitions", "taskDefinitionArns", ""),
    "topic": ("sns", "list_topics", "Topics", "TopicArn"),
    "volume": ("ec2", "describe_volumes", "Volumes", "VolumeId"),
    "vpc": ("ec2", "describe_vpcs", "Vpcs", "VpcId"),
    "vpc endpoint": ("ec2", "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
}
_GONE = "deleted"


def inventory(
    client: Callable[[str], Any], is_used: Callable[[str, str], bool] = lambda service, listed: True
) -> frozenset[tuple[str, str]]:
    """List what was made in the account, which is all but what AWS puts into each from the start.

    Args:
        client: Makes a client of a service.
        is_used: Whether a service can hold any of what an operation lists, such as ``launch_templates``.

    Returns:
        Pairs of kind and id.
    """
    found = {
        kind: getattr(client(service), operation)().get(items, ())  # without queues, SQS answers without a list
        for kind, (service, operation, items, _) in _KINDS.items()
        if is_used(service, operation.partition("_")[2])
    }
    home = functools.cache(functools.partial(_home, client))
    listed = {
        (kind, item[key] if key else item)
        for kind, given in found.items()
        for key in [_KINDS[kind][3]]
        for item in given
        if not key or not (item.get("State") == _GONE or _is_given(item, home))
    }
    return frozenset(listed | _instances(client)) if is_used("ec2", "reservations") else frozenset(listed)


def _home(client: Callable[[str], Any]) -> set[str]:
    found = client("ec2").describe_vpcs(Filters=[{"Name": "isDefault", "Values": ["true"]}])["Vpcs"]
    return {each["VpcId"] for each in found}


def _is_given(item: Mapping[str, Any], home: Callable[[], set[str]]) -> bool:
    """Whether it is the default VPC, or what that has from the start."""
    is_main = any(each.get("Main") for each in item.get("Associations", ()))
    is_default = item.get("IsDefault") or item.get("DefaultForAz") or item.get("GroupName") == "default"
    return bool(is_default or is_main) and item.get("VpcId") in home()


def _instances(client: Callable[[str], Any]) -> set[tuple[str, str]]:
    there = {"Name": "instance-state-name", "Values": ["pending", "running", "shutting-down", "stopping", "stopped"]}
    reservations = client("ec2").describe_instances(Filters=[there])["Reservations"]
    return {("instance", each["InstanceId"]) for reservation in reservations for each in reservation["Instances"]}
