"""What a load balancer of a service cannot be is refused on the line, and leaves nothing."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from gpu_constructs import GpuConstructsError, IncompatibleError, InvalidValueError
from tests.services.chat import chat
from tests.synthesis import Ground


@pytest.mark.parametrize(
    ("given", "refused", "message"),
    [
        ({}, InvalidValueError, r"certificate: a listener with encryption.*fix: certificate=acm\..*protocol=elbv2"),
        (
            {"certificate": "arn:aws:acm:…"},
            InvalidValueError,
            "certificate: expects an? (acm|certificatemanager).ICertificate",
        ),
        ({"protocol": "HTTP"}, InvalidValueError, r"protocol: expects .*fix: .*ApplicationProtocol\.HTTP"),
        ({"health_check_path": None}, InvalidValueError, "health_check_path: .*'/health' for vLLM"),
        ({"health_check_path": "health"}, InvalidValueError, "health_check_path: .*begins with /"),
        ({"container_port": 9000}, InvalidValueError, r"container_port: container vllm does not map .*allowed: 8000"),
        ({"container_name": "vlm"}, InvalidValueError, "container_name: "),
        ({"port": 70000}, InvalidValueError, "port: expects a whole number.*1 to 65535"),
        ({"vpc_subnets": [1]}, InvalidValueError, "vpc_subnets: expects an ec2.SubnetSelection"),
        ({"priority": 1}, IncompatibleError, "priority: only a rule of a listener of yours has it"),
        ({"access_logs_bucket": "logs"}, InvalidValueError, "access_logs_bucket: expects an? s3.IBucket"),
        ({"construct_id": "SecurityGroup"}, InvalidValueError, "construct_id: 'SecurityGroup' is already used"),
    ],
)
def test_what_cannot_be_is_refused_on_the_line_and_leaves_nothing(
    ground: Ground, given: dict[str, Any], refused: type[GpuConstructsError], message: str
) -> None:
    service = chat(ground, mode=ecs.NetworkMode.AWS_VPC)
    plain = (
        {"protocol": elbv2.ApplicationProtocol.HTTP} if given and not given.keys() & {"certificate", "protocol"} else {}
    )
    arguments = {"construct_id": "Https", "health_check_path": "/health", **plain, **given}
    with ground.refuses(refused, match=message):
        service.add_application_load_balancer(**arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"priority": None}, "priority: a listener sends requests to the service by a rule"),
        ({"priority": "10"}, "priority: .*fix: priority=10$"),
        ({"priority": 50_001}, "priority: .*1 to 50000"),
        ({"conditions": None}, "conditions: a listener sends requests"),
        ({"internet_facing": True}, "internet_facing: your listener has its own"),
        ({"protocol": elbv2.ApplicationProtocol.HTTP}, "protocol: your listener has its own"),
    ],
)
def test_a_rule_of_a_listener_has_what_a_rule_has(ground: Ground, given: dict[str, Any], message: str) -> None:
    balancer = elbv2.ApplicationLoadBalancer(ground.stack, "Yours", vpc=ground.vpc)
    arguments = {
        "listener": balancer.add_listener("Http", port=80, default_action=elbv2.ListenerAction.fixed_response(404)),
        "priority": 10,
        "conditions": [elbv2.ListenerCondition.path_patterns(["/v1/*"])],
        "health_check_path": "/health",
        **given,
    }
    service = chat(ground)
    with ground.refuses(GpuConstructsError, match=message):
        service.add_application_load_balancer("Rule", **arguments)


def test_a_container_without_a_port_is_named_with_the_line_that_is_missing(ground: Ground) -> None:
    with pytest.raises(InvalidValueError, match=r"vllm maps no TCP port.*fix: container\.add_port_mappings"):
        chat(ground, port=None).add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)


def test_a_network_balancer_for_udp_is_one_of_your_own(ground: Ground) -> None:
    service = chat(ground)
    with pytest.raises(InvalidValueError, match=r"protocol: expects TLS or TCP.*fix: for UDP .*load_balancer_target"):
        service.add_network_load_balancer("Udp", protocol=elbv2.Protocol.UDP, container_port=8000)
