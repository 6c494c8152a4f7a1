"""What is not of the kind that CDK takes is refused under the name that the user wrote, with the value and the fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, InvalidValueError, ScaleBy
from gpu_constructs.services.endpoint import ServiceEndpoint
from tests.synthesis import Ground, Site

Call = Callable[[Site, Mapping[str, Any]], object]


def _cluster(site: Site, arguments: Mapping[str, Any]) -> object:
    return GpuCluster(site.stack, "Other", **arguments)


def _capacity(site: Site, arguments: Mapping[str, Any]) -> object:
    return site.capacity("g6.xlarge", **arguments)


def _managed(site: Site, arguments: Mapping[str, Any]) -> object:
    return site.managed(instance_types=["g6.xlarge"], **arguments)


def _task(site: Site, arguments: Mapping[str, Any]) -> object:
    return GpuTaskDefinition(site.stack, "Task", **{"capacity": [site.l4], **arguments})


def _container(site: Site, arguments: Mapping[str, Any]) -> object:
    return site.task().add_gpu_container("train", **{"image": site.image, **arguments})


def _neuron(site: Site, arguments: Mapping[str, Any]) -> object:
    return site.task(site.capacity("inf2.xlarge")).add_neuron_container("infer", **{"image": site.image, **arguments})


def _sidecar(site: Site, arguments: Mapping[str, Any]) -> object:
    return site.task().add_container("side", **{"image": site.image, **arguments})


def _service(site: Site, arguments: Mapping[str, Any]) -> object:
    task = site.task()
    task.add_gpu_container("train", image=site.image)
    return GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, **arguments)


def _balancer(site: Site, arguments: Mapping[str, Any]) -> object:
    task = site.task()
    task.add_gpu_container("train", image=site.image, port_mappings=[ecs.PortMapping(container_port=80)])
    service = GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    return service.add_application_load_balancer("Http", **arguments)


def _scale(_: Site, arguments: Mapping[str, Any]) -> object:
    return ScaleBy.queue(messages_per_task=5, **arguments)


ROLE = "arn:aws:iam::111122223333:role/task"
LISTENER = "arn:aws:elasticloadbalancing:us-east-1:111122223333:listener/app/a/1/2"
ENDPOINT = ServiceEndpoint(listener=None, target_group=None, url="", balancer=None)  # type: ignore[arg-type]
NAMED = "self, 'ApplicationListener', listener_arn="

REFUSED: list[tuple[Call, str, Any, str, str]] = [
    (_cluster, "vpc", ec2.Vpc, "an ec2.IVpc, got the class Vpc", "ec2.Vpc(self, 'Vpc')"),
    (_cluster, "cluster", "my-cluster", "an ecs.ICluster, got 'my-cluster'", "ecs.Cluster.from_cluster_attributes("),
    (_cluster, "vpc", "vpc-1", "an ec2.IVpc, got 'vpc-1'", "ec2.Vpc.from_lookup(self, 'Vpc', vpc_id='vpc-1')"),
    (
        _cluster,
        "container_insights_v2",
        "enhanced",
        "an ecs.ContainerInsights, got 'enhanced'",
        "ecs.ContainerInsights.ENHANCED",
    ),
    (_cluster, "vpc_subnets", "private", "an ec2.SubnetSelection, got 'private'", "ec2.SubnetSelection("),
    (_capacity, "vpc_subnets", ["a"], "an ec2.SubnetSelection, got ['a']", "ec2.SubnetSelection("),
    (_managed, "vpc_subnets", 1, "an ec2.SubnetSelection, got 1", "ec2.SubnetSelection("),
    (_task, "network_mode", "host", "an ecs.NetworkMode, got 'host'", "ecs.NetworkMode.HOST"),
    (_task, "network_mode", "awsvpc", "an ecs.NetworkMode, got 'awsvpc'", "ecs.NetworkMode.AWS_VPC"),
    (_task, "log_retention", 30, "a logs.RetentionDays, got 30", "logs.RetentionDays.ONE_MONTH"),
    (
        _task,
        "log_group",
        "my-logs",
        "a logs.ILogGroup, got 'my-logs'",
        "from_log_group_name(self, 'LogGroup', 'my-logs')",
    ),
    (_task, "log_group", logs.LogGroup, "a logs.ILogGroup, got the class LogGroup", "logs.LogGroup("),
    (_task, "task_role", object(), "an iam.IRole, got object(…)", "iam.Role("),
    (_task, "execution_role", "role", "an iam.IRole, got 'role'", "iam.Role.from_role_name(self, 'Role', 'role')"),
    (_task, "task_role", ROLE, f"an iam.IRole, got '{ROLE}'", f"iam.Role.from_role_arn(self, 'Role', '{ROLE}')"),
    (
        _container,
        "image",
        "nvidia/cuda",
        "an ecs.ContainerImage, got 'nvidia/cuda'",
        "ecs.ContainerImage.from_registry('nvidia/cuda')",
    ),
    (_container, "image", None, "an ecs.ContainerImage, got None", "ecs.ContainerImage.from_registry("),
    (_container, "stop_timeout", 30, "a cdk.Duration, got 30", "cdk.Duration.seconds(30)"),
    (_container, "essential", "yes", "True or False, got 'yes'", "essential=True"),
    (_container, "user", 1000, "text, got 1000", "user='1000'"),
    (_container, "working_directory", 5, "text, got 5", "working_directory='5'"),
    (_container, "readonly_root_filesystem", 1, "True or False, got 1", "readonly_root_filesystem=True"),
    (_container, "logging", "awslogs", "an ecs.LogDriver, got 'awslogs'", "ecs.LogDrivers.aws_logs("),
    (_container, "health_check", {}, "an ecs.HealthCheck, got {}", "ecs.HealthCheck("),
    (_container, "environment", ["A=b"], "a mapping, got ['A=b']", "environment={"),
    (_container, "secrets", ["A"], "a mapping, got ['A']", "secrets={"),
    (_neuron, "image", "infer:1", "an ecs.ContainerImage, got 'infer:1'", "from_registry('infer:1')"),
    (_sidecar, "image", "nginx", "an ecs.ContainerImage, got 'nginx'", "from_registry('nginx')"),
    (_sidecar, "essential", 0, "True or False, got 0", "essential=False"),
    (_service, "health_check_grace_period", 300, "a cdk.Duration, got 300", "cdk.Duration.seconds(300)"),
    (_balancer, "listener", LISTENER, "an elbv2.IApplicationListener, got ", f"from_lookup({NAMED}'{LISTENER}')"),
    (_balancer, "listener", ENDPOINT, "an elbv2.IApplicationListener, got ServiceEndpoint(", "endpoint.listener"),
    (_scale, "queue", "https://a", "a sqs.IQueue, got 'https://a'", "from_queue_arn(self, 'Queue', 'arn:…')"),
    (_service, "enable_execute_command", "maybe", "True or False, got 'maybe'", "leave it out"),
    (_balancer, "internet_facing", "false", "True or False, got 'false'", "internet_facing=False"),
]


@pytest.mark.parametrize(
    ("call", "argument", "value", "expected", "fix"),
    [pytest.param(*row, id=f"{row[0].__name__[1:]} {row[1]} {type(row[2]).__name__}") for row in REFUSED],
)
def test_another_kind_is_refused_with_the_value_and_the_fix(
    ground: Ground, *, call: Call, argument: str, value: Any, expected: str, fix: str
) -> None:
    with pytest.raises(InvalidValueError) as refused:
        call(ground, {argument: value})
    assert (refused.value.argument, refused.value.value) == (argument, value)
    assert str(refused.value).startswith(f"{argument}: expects {expected}")
    assert fix in str(refused.value.fix)
    assert refused.value.__cause__ is None


def test_a_number_given_as_text_is_offered_as_that_number(ground: Ground) -> None:
    with pytest.raises(InvalidValueError, match="fix: max_instances=2$"):
        ground.cluster.add_capacity("Two", instance_types=["g6.xlarge"], max_instances="2")  # type: ignore[arg-type]


def test_what_cdk_takes_passes(site: Site) -> None:
    role = iam.Role.from_role_arn(site.stack, "Role", "arn:aws:iam::123456789012:role/task")
    group = logs.LogGroup.from_log_group_name(site.stack, "Logs", "logs")
    task = site.task(task_role=role, log_group=group, network_mode=ecs.NetworkMode.HOST)
    task.add_gpu_container(
        "train",
        image=ecs.ContainerImage.from_registry("nginx"),
        health_check=ecs.HealthCheck(command=["true"]),
        stop_timeout=cdk.Duration.seconds(5),
        logging=ecs.LogDrivers.json_file(),
        environment={"A": "b"},
    )
    assert site.container()["StopTimeout"] == 5
