"""A nightly batch starts a host from zero, by a rule and by a schedule with a strategy; a launch type starts none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ecs_patterns as patterns
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from ecs_emulator.local import Deployed, Local
from gpu_constructs import GpuCluster, GpuTaskDefinition

from tests.synthesis import app_in

from .templates import cluster_template, resource

ARN = {"Fn::GetAtt": ["Cluster", "Arn"]}


def fire(cloud: Local, name: str, cluster: str) -> str:
    """Let the time of a rule or a schedule come; returns what came of it."""
    cloud.switch("due", name)
    cloud.minutes(cluster)
    return str(cloud.account.client("ssm").get_parameter(Name=f"/emulator/runs/{name}")["Parameter"]["Value"])


def test_a_strategy_starts_a_host_from_zero(cloud: Local, tmp_path: Path) -> None:
    app = app_in(tmp_path)
    stack = cdk.Stack(app, "Batch")
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=2)
    batch = GpuTaskDefinition(stack, "Task", capacity=[l4])
    batch.add_gpu_container("embed", image=ecs.ContainerImage.from_registry("example/embed:1"), gpus=1)
    rule = events.Rule(stack, "Rule", rule_name="rule", schedule=events.Schedule.cron(hour="2", minute="0"))
    rule.add_target(targets.EcsTask(cluster=cluster.cluster, task_definition=batch))
    strategy = [{"CapacityProvider": l4.provider.capacity_provider_name, "Weight": 1}]
    lowest = rule.node.default_child
    assert isinstance(lowest, events.CfnRule)
    lowest.add_property_override("Targets.0.EcsParameters.CapacityProviderStrategy", strategy)
    of_schedule = scheduler_targets.EcsRunEc2Task(
        cluster.cluster, task_definition=batch, capacity_provider_strategies=[l4.strategy()]
    )
    nightly = scheduler.ScheduleExpression.cron(hour="3", minute="0")
    scheduler.Schedule(stack, "Schedule", schedule_name="schedule", schedule=nightly, target=of_schedule)
    cdk.CfnOutput(stack, "Name", value=cluster.cluster.cluster_name)
    app.synth()
    deployed = cloud.deploy_assembly(tmp_path, "Batch")
    name = deployed.outputs["Name"]
    assert cloud.account.hosts(name) == ()

    (target,) = cloud.account.client("events").list_targets_by_rule(Rule="rule")["Targets"]
    assert target["EcsParameters"]["CapacityProviderStrategy"][0]["weight"] == 1
    for made in ("rule", "schedule"):
        assert fire(cloud, made, name).startswith("started arn:")
    cloud.minutes(name, 5)
    assert [task.status for task in cloud.account.tasks(name)] == ["RUNNING"] * 2

    cloud.account.stop_all(name)
    cloud.destroy(deployed)


def test_the_default_strategy_of_a_cluster_starts_a_host_for_targets_without_one(cloud: Local, tmp_path: Path) -> None:
    app = app_in(tmp_path)
    stack = cdk.Stack(app, "Batch")
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=2)
    cluster.set_default_strategy([l4.strategy()])
    batch = GpuTaskDefinition(stack, "Task", capacity=[l4])
    batch.add_gpu_container("embed", image=ecs.ContainerImage.from_registry("example/embed:1"), gpus=1)
    daily = cdk.Duration.days(1)
    target = targets.EcsTask(cluster=cluster, task_definition=batch)
    events.Rule(stack, "Rule", rule_name="rule", schedule=events.Schedule.rate(daily), targets=[target])
    patterns.ScheduledEc2Task(
        stack,
        "Pattern",
        rule_name="pattern",
        cluster=cluster.cluster,
        schedule=scaling.Schedule.rate(daily),
        scheduled_ec2_task_definition_options=patterns.ScheduledEc2TaskDefinitionOptions(task_definition=batch),
    )
    cdk.CfnOutput(stack, "Name", value=cluster.cluster.cluster_name)
    app.synth()
    deployed = cloud.deploy_assembly(tmp_path, "Batch")
    for made in ("rule", "pattern"):
        assert fire(cloud, made, deployed.outputs["Name"]).startswith("started arn:")
    cloud.minutes(deployed.outputs["Name"], 5)
    assert [task.status for task in cloud.account.tasks(deployed.outputs["Name"])] == ["RUNNING"] * 2

    cloud.account.stop_all(deployed.outputs["Name"])
    cloud.destroy(deployed)


def _with_launch_type(cloud: Local, kind: str, **settings: Any) -> Deployed:
    parameters = {"TaskDefinitionArn": {"Ref": "Task"}, "LaunchType": "EC2"}
    target = {"Id": "0", "Arn": ARN, "RoleArn": "arn:aws:iam::123456789012:role/events", "EcsParameters": parameters}
    several = kind == "Events::Rule"
    made = resource(kind, Name="nightly", **settings, **({"Targets": [target]} if several else {"Target": target}))
    template = cluster_template(max_size=1)
    template["Resources"]["Nightly"] = made
    return cloud.deploy(template)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("Events::Rule", {"ScheduleExpression": "rate(1 day)"}),
        ("Scheduler::Schedule", {"ScheduleExpression": "rate(1 day)", "FlexibleTimeWindow": {"Mode": "OFF"}}),
    ],
)
def test_a_launch_type_starts_no_host(cloud: Local, kind: str, settings: dict[str, Any]) -> None:
    stack = _with_launch_type(cloud, kind, **settings)
    cluster = stack.outputs["Cluster"]
    # What RunTask answers where no host is registered, and where the only one is full.
    assert fire(cloud, "nightly", cluster) == "failed: No Container Instances were found in your cluster."
    assert cloud.run(cluster, stack.outputs["Task"], stack.outputs["Provider"]) == "RUNNING"
    assert fire(cloud, "nightly", cluster).endswith("RESOURCE:GPU")

    cloud.account.stop_all(cluster)
    cloud.destroy(stack)
