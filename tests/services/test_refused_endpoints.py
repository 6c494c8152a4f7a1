"""What a load balancer of a service cannot be is refused on the line, and leaves nothing."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from gpu_constructs import GpuConstructsError, IncompatibleError, InvalidValueError
from tests.services.chat import certificate_of, chat
from tests.synthesis import Ground


@pytest.mark.parametrize(
    ("given", "refused", "message"),
    [
        ({}, InvalidValueError, r"certificate: a listener with encryption.*fix: certificate=acm\..*protocol=elbv2"),
        (
            {"certificate": "arn:aws:acm:…"},
            InvalidValueError,
            "certificate: expects an? certificatemanager.ICertificate",
        ),
        ({"protocol": "HTTP"}, InvalidValueError, r"protocol: expects .*fix: .*ApplicationProtocol\.HTTP"),
        ({"health_check_path": None}, InvalidValueError, "health_check_path: .*'/health' for vLLM"),
        ({"health_check_path": "health"}, InvalidValueError, "health_check_path: .*begins with /"),
        ({"container_port": 9000}, InvalidValueError, r"container_port: container vllm does not map .*allowed: 8000"),
        ({"container_port": [1]}, InvalidValueError, r"container_port: expects a whole number, got \[1\]"),
        ({"container_name": "vlm"}, InvalidValueError, "container_name: "),
        ({"port": 70000}, InvalidValueError, "port: expects a whole number.*1 to 65535"),
        ({"idle_timeout": cdk.Duration.hours(2)}, InvalidValueError, "idle_timeout: .*1 to 4000"),
        ({"deregistration_delay": cdk.Duration.hours(2)}, InvalidValueError, "deregistration_delay: .*0 to 3600"),
        ({"vpc_subnets": [1]}, InvalidValueError, "vpc_subnets: expects an ec2.SubnetSelection"),
        ({"priority": 1}, IncompatibleError, "priority: only a rule of an existing listener has it"),
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
    before = ground.children()
    with pytest.raises(refused, match=message):
        service.add_application_load_balancer(**arguments)
    assert ground.children() == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"priority": None}, "priority: a listener sends requests to the service by a rule"),
        ({"priority": 0}, "priority: expects a whole number.*1 to 50000"),
        ({"conditions": None}, "conditions: a listener sends requests"),
        ({"internet_facing": True}, "internet_facing: an existing listener has its own"),
        ({"protocol": elbv2.ApplicationProtocol.HTTP}, "protocol: an existing listener has its own"),
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
    before = ground.children()
    with pytest.raises(GpuConstructsError, match=message):
        service.add_application_load_balancer("Rule", **arguments)
    assert ground.children() == before


def test_a_port_of_a_load_balancer_has_one_listener(ground: Ground) -> None:
    service, certificate = chat(ground), certificate_of(ground.stack)
    https = service.add_application_load_balancer("Https", certificate=certificate, health_check_path="/health")
    again: dict[str, Any] = {"load_balancer": https.load_balancer, "certificate": certificate}
    before = ground.children()
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "port: the load balancer has a listener on port 443 already"),
        ({"port": 80}, "port: the load balancer has a listener on port 80 already"),
        ({"port": 8443, "redirect_http": True}, "redirect_http: the load balancer has a listener on port 80 already"),
    ]
    for given, message in refused:
        with pytest.raises(InvalidValueError, match=message):
            service.add_application_load_balancer("Again", health_check_path="/health", **again, **given)
    assert ground.children() == before
    service.add_application_load_balancer("Again", health_check_path="/health", port=8443, **again)


def test_a_priority_of_a_listener_has_one_rule(ground: Ground) -> None:
    balancer = elbv2.ApplicationLoadBalancer(ground.stack, "Yours", vpc=ground.vpc)
    listener = balancer.add_listener("Http", port=80, default_action=elbv2.ListenerAction.fixed_response(404))
    conditions = [elbv2.ListenerCondition.path_patterns(["/v1/*"])]
    arguments: dict[str, Any] = {"listener": listener, "conditions": conditions, "health_check_path": "/health"}
    service = chat(ground)
    service.add_application_load_balancer("First", priority=10, **arguments)
    before = ground.children()
    with pytest.raises(InvalidValueError, match=r"priority: .*priority 10 already.*in use: 10; fix: priority=11"):
        service.add_application_load_balancer("Second", priority=10, **arguments)
    assert ground.children() == before
    service.add_application_load_balancer("Second", priority=11, **arguments)


def test_a_container_without_a_port_is_named_with_the_line_that_is_missing(ground: Ground) -> None:
    with pytest.raises(InvalidValueError, match=r"vllm maps no TCP port.*fix: container\.add_port_mappings"):
        chat(ground, port=None).add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)
