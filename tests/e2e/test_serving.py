"""Services behind their load balancers: deployed, sent requests, updated and destroyed on the emulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from ecs_emulator.account import Account
from ecs_emulator.local import Local, NotDeployedError
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition

from tests.synthesis import app_in

from .requests_path import Arrival, send

STACK = "Served"
PORT = 8000


def assembly(
    folder: Path,
    mode: ecs.NetworkMode = ecs.NetworkMode.BRIDGE,
    *,
    tag: str = "v1",
    path: str = "/health",
) -> Path:
    """An app with two copies behind HTTPS, and behind a Network Load Balancer."""
    app = app_in(folder)
    stack = cdk.Stack(app, STACK)
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", restrict_default_security_group=False))
    l4 = cluster.add_capacity("L4", instance_types=["g6.12xlarge"], max_instances=3)
    task = GpuTaskDefinition(stack, "Chat", capacity=[l4], network_mode=mode)
    image = ecs.ContainerImage.from_registry(f"vllm/vllm-openai:{tag}")
    task.add_gpu_container("vllm", image=image, port_mappings=[ecs.PortMapping(container_port=PORT)])
    service = GpuService(stack, "Service", cluster=cluster, task_definition=task, desired_count=2)
    certificate = acm.Certificate(stack, "Certificate", domain_name="chat.example.com")
    https = service.add_application_load_balancer("Https", certificate=certificate, health_check_path=path)
    tcp = service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)
    outputs = {"Url": https.url, "Address": tcp.address, "ClusterName": cluster.cluster.cluster_name}
    for name, value in outputs.items():
        cdk.CfnOutput(stack, name, value=value)
    return Path(app.synth().directory)


def template_of(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / f"{STACK}.template.json").read_text())
    return read


def arrived(account: Account, outputs: dict[str, str]) -> Arrival:
    return send(account, outputs["ClusterName"], f"{outputs['Url']}/v1/models")


@pytest.mark.parametrize("mode", [ecs.NetworkMode.BRIDGE, ecs.NetworkMode.HOST, ecs.NetworkMode.AWS_VPC])
def test_requests_arrive_before_and_after_an_update_and_nothing_stays(
    cloud: Local, tmp_path: Path, mode: ecs.NetworkMode
) -> None:
    stack = cloud.deploy_assembly(assembly(tmp_path / "1", mode), STACK)
    outputs = dict(stack.outputs)

    first = arrived(cloud.account, outputs)
    assert first.containers == ("vllm", "vllm")
    assert len(set(first.targets)) == 2
    assert mode is ecs.NetworkMode.BRIDGE or {port for _, port in first.targets} == {PORT}
    assert send(cloud.account, outputs["ClusterName"], f"tcp://{outputs['Address']}").containers == ("vllm", "vllm")
    plain = outputs["Url"].replace("https", "http")
    assert send(cloud.account, outputs["ClusterName"], f"{plain}/v1") == Arrival(
        301, f"{outputs['Url']}:443/v1".lower()
    )

    after = assembly(tmp_path / "2", mode, tag="v2", path="/v1/models")
    assert cloud.update(stack, template_of(after)).outputs == stack.outputs
    second = arrived(cloud.account, outputs)
    assert second.containers == ("vllm", "vllm")
    groups = cloud.account.client("elbv2").describe_target_groups()["TargetGroups"]
    assert {each.get("HealthCheckPath") for each in groups if each["Protocol"] == "HTTP"} == {"/v1/models"}

    cloud.destroy(stack)


def test_a_way_that_is_closed_is_a_service_that_is_never_stable(cloud: Local, tmp_path: Path) -> None:
    template = template_of(assembly(tmp_path))
    resources = template["Resources"]
    for name in [name for name, each in resources.items() if each["Type"] == "AWS::EC2::SecurityGroupIngress"]:
        del resources[name]
    with pytest.raises(NotDeployedError, match=r"not stable: .* is unhealthy in .*Target\.Timeout"):
        cloud.deploy(template)
