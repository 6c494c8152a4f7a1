"""Services whose count something else sets: deployed, scaled, updated and destroyed on the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_sqs as sqs
from ecs_emulator.account import Account
from ecs_emulator.local import Local
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ScaleBy

from tests.synthesis import app_in

from .test_serving import template_of

STACK = "Served"


def assembly(
    folder: Path, *, tag: str = "v1", most: int = 3, by_queue: bool = True, least: int = 0, home: str = ""
) -> Path:
    """An app whose service follows a queue, or the requests of a load balancer; `home` is the stack of its cluster."""
    app = app_in(folder)
    stack = cdk.Stack(app, STACK)
    place = cdk.Stack(app, home) if home else stack
    cluster = GpuCluster(place, "Cluster", vpc=ec2.Vpc(place, "Vpc", restrict_default_security_group=False))
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=4)
    task = GpuTaskDefinition(stack, "Draw", capacity=[l4])
    image = ecs.ContainerImage.from_registry(f"example/draw:{tag}")
    task.add_gpu_container("draw", image=image, port_mappings=[ecs.PortMapping(container_port=8188)])
    service = GpuService(stack, "Service", cluster=cluster, task_definition=task, service_name="draw")
    if by_queue:
        by = ScaleBy.queue(queue=sqs.Queue(stack, "Work"), messages_per_task=5)
    else:
        http = elbv2.ApplicationProtocol.HTTP
        endpoint = service.add_application_load_balancer("Http", protocol=http, health_check_path="/system_stats")
        by = ScaleBy.requests(endpoint=endpoint, per_task_per_minute=10)
    service.scale(by=[by], min_tasks=least, max_tasks=most)
    cdk.CfnOutput(place, "ClusterName", value=cluster.cluster.cluster_name)
    return Path(app.synth().directory)


def counts(account: Account, cluster: str) -> tuple[int, int]:
    (service,) = account.client("ecs").describe_services(cluster=cluster, services=["draw"])["services"]
    return service["desiredCount"], service["runningCount"]


def scale(account: Account, cluster: str, count: int) -> None:
    """As many messages as need so many tasks; without a queue, what a policy does. And time for it."""
    sqs = account.client("sqs")
    queues = sqs.list_queues().get("QueueUrls", ())
    for url in queues:
        while received := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for each in received:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
        for _ in range(5 * count):
            sqs.send_message(QueueUrl=url, MessageBody="draw")
    if not queues:
        account.client("ecs").update_service(cluster=cluster, service="draw", desiredCount=count)
    for _ in range(60):
        account.hosts(cluster)
        if counts(account, cluster) == (count, count):
            break


def policies(account: Account) -> dict[str, Any]:
    found = account.client("application-autoscaling").describe_scaling_policies(ServiceNamespace="ecs")
    return {each["PolicyName"]: each for each in found["ScalingPolicies"]}


@pytest.mark.parametrize("by_queue", [True, False])
def test_an_update_keeps_the_count_and_a_smaller_range_moves_it(cloud: Local, tmp_path: Path, by_queue: bool) -> None:
    least = 0 if by_queue else 1
    stack = cloud.deploy_assembly(assembly(tmp_path / "1", by_queue=by_queue, least=least), STACK)
    cluster = stack.outputs["ClusterName"]
    scale(cloud.account, cluster, 3)
    assert counts(cloud.account, cluster) == (3, 3)
    cloud.update(stack, template_of(assembly(tmp_path / "2", by_queue=by_queue, least=least, tag="v2")))
    assert counts(cloud.account, cluster) == (3, 3)

    cloud.update(stack, template_of(assembly(tmp_path / "3", by_queue=by_queue, least=least, most=2)))
    scale(cloud.account, cluster, counts(cloud.account, cluster)[0])
    assert counts(cloud.account, cluster) == (2, 2)
    assert len(policies(cloud.account)) == (2 if by_queue else 1)

    cloud.destroy(stack)
    assert policies(cloud.account) == {}


def test_a_deployment_goes_on_at_every_count_on_a_full_fleet(cloud: Local, tmp_path: Path) -> None:
    template = template_of(assembly(tmp_path, most=4))
    stack = cloud.deploy(template, STACK)
    cluster = stack.outputs["ClusterName"]
    (draw,) = (each for each in template["Resources"].values() if each["Type"] == "AWS::ECS::TaskDefinition")
    for count in range(5):
        scale(cloud.account, cluster, count)
        draw["Properties"]["ContainerDefinitions"][0]["Image"] = f"example/draw:v{count + 2}"
        cloud.update(stack, template)
        assert counts(cloud.account, cluster) == (count, count)
    cloud.destroy(stack)


def test_alarms_act_on_the_policies_and_a_larger_range_has_more_steps(cloud: Local, tmp_path: Path) -> None:
    account = cloud.account
    stack = cloud.deploy_assembly(assembly(tmp_path / "1"), STACK)
    cluster = stack.outputs["ClusterName"]
    alarms = account.client("cloudwatch").describe_alarms()["MetricAlarms"]
    actions = {action for alarm in alarms for action in alarm["AlarmActions"]}
    assert actions >= {each["PolicyARN"] for each in policies(account).values()}
    scale(account, cluster, 3)

    cloud.update(stack, template_of(assembly(tmp_path / "2", tag="v2", most=4)))
    assert counts(account, cluster) == (3, 3)
    steps = policies(account)["Backlog"]["StepScalingPolicyConfiguration"]["StepAdjustments"]
    assert [each["ScalingAdjustment"] for each in steps] == [1, 2, 3, 4]

    scale(account, cluster, 0)
    assert counts(account, cluster) == (0, 0)
    cloud.destroy(stack)


def test_a_service_behind_a_balancer_follows_its_requests_on_the_cluster_of_another_stack(
    cloud: Local, tmp_path: Path
) -> None:
    folder = assembly(tmp_path, by_queue=False, least=1, home="Home")
    home = cloud.deploy_assembly(folder, "Home")
    stack = cloud.deploy_assembly(folder, STACK)
    assert counts(cloud.account, home.outputs["ClusterName"]) == (1, 1)
    cloud.destroy(stack)
    cloud.destroy(home)
