"""What `Local.inventory` does not ask for holds nothing: it finds one thing of each kind, alone in a new account."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ecs_emulator.inventory import _KINDS, inventory
from ecs_emulator.local import Local, local

Clients = Callable[[str], Any]

ROLE = "arn:aws:iam::123456789012:role/worker"
QUEUE = "arn:aws:sqs:us-east-1:123456789012:work"


def _vpc(client: Clients) -> str:
    return str(client("ec2").describe_vpcs()["Vpcs"][0]["VpcId"])


def _subnet(client: Clients) -> str:
    return str(client("ec2").describe_subnets()["Subnets"][0]["SubnetId"])


def _role(client: Clients) -> None:
    client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument="{}")


def _function(client: Clients) -> None:
    _role(client)
    client("lambda").create_function(
        FunctionName="worker", Runtime="python3.13", Role=ROLE, Handler="worker.run", Code={"ZipFile": b""}
    )


def _flow_log(client: Clients) -> None:
    client("s3").create_bucket(Bucket="flows")
    client("ec2").create_flow_logs(
        ResourceIds=[_vpc(client)],
        ResourceType="VPC",
        TrafficType="ALL",
        LogDestinationType="s3",
        LogDestination="arn:aws:s3:::flows",
    )


def _launch_template(client: Clients) -> None:
    data = {"InstanceType": "g6.xlarge", "ImageId": "ami-12c6146b"}
    client("ec2").create_launch_template(LaunchTemplateName="hosts", LaunchTemplateData=data)


def _group(client: Clients) -> None:
    _launch_template(client)
    client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="hosts",
        MinSize=0,
        MaxSize=0,
        VPCZoneIdentifier=_subnet(client),
        LaunchTemplate={"LaunchTemplateName": "hosts", "Version": "1"},
    )


def _scheduled_action(client: Clients) -> None:
    _group(client)
    client("autoscaling").put_scheduled_update_group_action(
        AutoScalingGroupName="hosts", ScheduledActionName="night", Recurrence="0 0 * * *", MinSize=0
    )


def _capacity_provider(client: Clients) -> None:
    _group(client)
    (group,) = client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    provider = {"autoScalingGroupArn": group["AutoScalingGroupARN"]}
    client("ecs").create_capacity_provider(name="hosts", autoScalingGroupProvider=provider)


def _compute_environment(client: Clients) -> None:
    _role(client)
    client("batch").create_compute_environment(computeEnvironmentName="hosts", type="UNMANAGED", serviceRole=ROLE)


def _job_queue(client: Clients) -> None:
    _compute_environment(client)
    order = [{"order": 1, "computeEnvironment": "hosts"}]
    client("batch").create_job_queue(jobQueueName="work", priority=1, state="ENABLED", computeEnvironmentOrder=order)


def _job_definition(client: Clients) -> None:
    needs = [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "128"}]
    client("batch").register_job_definition(
        jobDefinitionName="job", type="container", containerProperties={"image": "job", "resourceRequirements": needs}
    )


def _metric_filter(client: Clients) -> None:
    client("logs").create_log_group(logGroupName="work")
    metric = {"metricName": "errors", "metricNamespace": "work", "metricValue": "1"}
    client("logs").put_metric_filter(
        logGroupName="work", filterName="errors", filterPattern="error", metricTransformations=[metric]
    )


def _alarm(client: Clients) -> None:
    client("cloudwatch").put_metric_alarm(
        AlarmName="errors",
        MetricName="errors",
        Namespace="work",
        ComparisonOperator="GreaterThanThreshold",
        EvaluationPeriods=1,
        Threshold=1,
        Period=60,
        Statistic="Sum",
    )


def _table(client: Clients) -> None:
    client("dynamodb").create_table(
        TableName="work",
        KeySchema=[{"AttributeName": "Id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def _schedule(client: Clients) -> None:
    client("scheduler").create_schedule(
        Name="night",
        ScheduleExpression="rate(1 hour)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": QUEUE, "RoleArn": ROLE},
    )


def _service_of_cloud_map(client: Clients) -> None:
    client("servicediscovery").create_http_namespace(Name="models")
    (namespace,) = client("servicediscovery").list_namespaces()["Namespaces"]
    client("servicediscovery").create_service(Name="chat", NamespaceId=namespace["Id"])


def _stack(client: Clients, **resource: object) -> None:
    resource = resource or {"Type": "AWS::SQS::Queue"}
    client("cloudformation").create_stack(StackName="work", TemplateBody=json.dumps({"Resources": {"Thing": resource}}))


def _state_machine(client: Clients) -> None:
    definition = {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}
    client("stepfunctions").create_state_machine(name="work", roleArn=ROLE, definition=json.dumps(definition))


MADE: dict[str, Callable[[Clients], object]] = {
    "address": lambda client: client("ec2").allocate_address(Domain="vpc"),
    "alarm": _alarm,
    "auto scaling group": _group,
    "capacity provider": _capacity_provider,
    "cluster": lambda client: client("ecs").create_cluster(clusterName="gpus"),
    "compute environment": _compute_environment,
    "dashboard": lambda client: client("cloudwatch").put_dashboard(
        DashboardName="gpus", DashboardBody='{"widgets": []}'
    ),
    "event rule": lambda client: client("events").put_rule(Name="night", ScheduleExpression="rate(1 hour)"),
    "file system": lambda client: client("efs").create_file_system(CreationToken="weights"),
    "file system of FSx": lambda client: client("fsx").create_file_system(
        FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=[_subnet(client)]
    ),
    "flow log": _flow_log,
    "function": _function,
    "image repository": lambda client: client("ecr").create_repository(repositoryName="chat"),
    "instance": lambda client: client("ec2").run_instances(
        ImageId="ami-12c6146b", MinCount=1, MaxCount=1, InstanceType="t3.micro"
    ),
    "instance profile": lambda client: client("iam").create_instance_profile(InstanceProfileName="host"),
    "internet gateway": lambda client: client("ec2").create_internet_gateway(),
    "job definition": _job_definition,
    "job queue": _job_queue,
    "launch template": _launch_template,
    "load balancer": lambda client: client("elbv2").create_load_balancer(
        Name="chat", Type="network", Subnets=[_subnet(client)]
    ),
    "log group": lambda client: client("logs").create_log_group(logGroupName="work"),
    "metric filter": _metric_filter,
    "namespace": lambda client: client("servicediscovery").create_http_namespace(Name="models"),
    "nat gateway": lambda client: client("ec2").create_nat_gateway(
        SubnetId=_subnet(client), ConnectivityType="private"
    ),
    "network interface": lambda client: client("ec2").create_network_interface(SubnetId=_subnet(client)),
    "pipe": lambda client: client("pipes").create_pipe(Name="work", RoleArn=ROLE, Source=QUEUE, Target=QUEUE),
    "placement group": lambda client: _stack(client, Type="AWS::EC2::PlacementGroup"),
    "queue": lambda client: client("sqs").create_queue(QueueName="work"),
    "role": _role,
    "route table": lambda client: client("ec2").create_route_table(VpcId=_vpc(client)),
    "schedule": _schedule,
    "scheduled action": _scheduled_action,
    "scheduling policy": lambda client: client("batch").create_scheduling_policy(name="fair", fairsharePolicy={}),
    "secret": lambda client: client("secretsmanager").create_secret(Name="key", SecretString="of the test"),
    "security group": lambda client: client("ec2").create_security_group(
        GroupName="chat", Description="chat", VpcId=_vpc(client)
    ),
    "service of Cloud Map": _service_of_cloud_map,
    "stack": _stack,
    "state machine": _state_machine,
    "subnet": lambda client: client("ec2").create_subnet(VpcId=_vpc(client), CidrBlock="172.31.96.0/20"),
    "table": _table,
    "target group": lambda client: client("elbv2").create_target_group(
        Name="chat", Protocol="TCP", Port=80, VpcId=_vpc(client)
    ),
    "task definition": lambda client: client("ecs").register_task_definition(
        family="chat", containerDefinitions=[{"name": "chat", "image": "chat", "memory": 10}]
    ),
    "topic": lambda client: client("sns").create_topic(Name="work"),
    "volume": lambda client: client("ec2").create_volume(AvailabilityZone="us-east-1a", Size=1),
    "vpc": lambda client: client("ec2").create_vpc(CidrBlock="10.0.0.0/16"),
    "vpc endpoint": lambda client: client("ec2").create_vpc_endpoint(
        VpcId=_vpc(client), ServiceName="com.amazonaws.us-east-1.s3"
    ),
}
"""One thing of each kind, with what it needs."""


def found(cloud: Local) -> set[str]:
    """The kinds of what is there, which the inventory that asks every API finds too."""
    there = cloud.inventory()
    assert there == inventory(cloud.account.client)
    return {kind for kind, _ in there}


@pytest.mark.parametrize("kind", sorted({*_KINDS, *MADE}))
def test_one_thing_of_a_kind_is_found(kind: str) -> None:
    with local() as cloud:
        MADE[kind](cloud.account.client)
        assert kind in {found for found, _ in cloud.inventory()}


def test_another_vpc_in_the_place_of_the_default_one_is_found() -> None:
    with local() as cloud:
        assert found(cloud) == set()
        ec2, home = cloud.account.client("ec2"), _vpc(cloud.account.client)
        for subnet in ec2.describe_subnets()["Subnets"]:
            ec2.delete_subnet(SubnetId=subnet["SubnetId"])
        ec2.delete_vpc(VpcId=home)
        assert found(cloud) == set()
        own = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        ec2.create_subnet(VpcId=own, CidrBlock="10.0.0.0/24")
        assert found(cloud) == {"route table", "security group", "subnet", "vpc"}
