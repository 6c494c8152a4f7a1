"""A load balancer and the tasks behind it go together, and security groups let it in; what is not known is no hole."""

from __future__ import annotations

import pytest

from tests.reports import of_part
from tests.rules.changed import severities

_CHECKED_AT_8000 = "  Targets: {Properties: {HealthCheckPort: '8000'}}\n"
_AGENT_AT_8000 = (
    "  Template: {Properties: {LaunchTemplateData: {UserData: {'Fn::Base64': !Sub '#!/bin/bash\n"
    "echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config\nnode-agent --port 8000'}}}}"
)
_TASK_AT_8000 = (
    "  Exporter: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: "
    "[{Name: x, Image: x, Memory: 64, PortMappings: [{ContainerPort: 80, HostPort: 8000}]}]}}"
)
_REPLACED = "  Hosts: {{Properties: {{HealthCheckType: {}, {}}}}}\n"
_BY_TARGETS = _REPLACED.format("ELB", "TargetGroupARNs: [!Ref Targets]")
_OUT = "{{Properties: {{SecurityGroupEgress: [{{IpProtocol: tcp, FromPort: 1024, ToPort: 65535, {}}}]}}}}"
_NETWORK = """
  Balancer: {Properties: {Type: network, SecurityGroups: null}}
  Targets: {Properties: {Protocol: TCP, HealthCheckPath: null}}
"""


def found(part: str) -> list[str]:
    """What the rules say of a service behind its load balancer, with this difference."""
    findings = of_part("GPU206", f"Resources:\n{part}")
    return [f"{each.severity} {each.rule} {each.message}; {each.fix}" for each in findings]


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(
            "  LetIn: {Properties: {FromPort: 49153}}\n"
            "  Template: {Properties: {LaunchTemplateData: {UserData: 'sysctl net.ipv4.ip_local_port_range=…'}}}",
            id="hosts with ports of their own",
        ),
        pytest.param(
            f"  LetIn: {{Properties: {{SourceSecurityGroupId: null, CidrIp: 10.0.0.0/8}}}}{_NETWORK}",
            id="a network load balancer by its address",
        ),
        pytest.param(
            f"  LetIn: null{_NETWORK}  Other: {{Type: AWS::ElasticLoadBalancingV2::Listener, Properties: "
            "{LoadBalancerArn: arn, DefaultActions: [{Type: forward, TargetGroupArn: !Ref Targets}]}}",
            id="two load balancers, one of elsewhere",
        ),
        pytest.param("  LetIn: {Properties: {FromPort: !Ref Port}}", id="a port of the deploy"),
        pytest.param("  LetIn: null\n  Balancer: {Properties: {SecurityGroups: null}}", id="a balancer without groups"),
        pytest.param("  Task: {Properties: {NetworkMode: !Ref Mode}}\n  LetIn: null", id="an unknown mode"),
        pytest.param("  Task: {Properties: {ContainerDefinitions: []}}", id="a task without containers"),
    ],
)
def test_what_may_be_let_in_is_no_hole(part: str) -> None:
    assert found(part) == []


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            "  LetIn: null",
            "GPU206 load balancers do not reach container vllm: HostGroup, the security group of its hosts, lets none",
        ),
        (
            "  LetIn: {Properties: {FromPort: 49153}}",
            "lets them in on 49153 to 60999, and not on all of ports 32768 to",
        ),
        (
            f"  BalancerGroup: {_OUT.format('CidrIp: 255.255.255.255/32')}",
            "lets none out on ports 32768 to 65535; SecurityGroupEgress of BalancerGroup to the security group of the",
        ),
        (_NETWORK, "lets none in on ports 32768 to 65535, and none by its address; SecurityGroupIngress of HostGroup"),
    ],
)
def test_what_cannot_work_is_said(part: str, expected: str) -> None:
    (finding,) = found(part)
    assert expected in finding
    assert finding.startswith("warning" if "49153" in expected else "error")


@pytest.mark.parametrize(
    ("image", "grace", "is_too_short"),
    [
        ("vllm/vllm-openai:v0.11.0", "60", True),
        ("vllm/vllm-openai:v0.11.0", "!Ref Grace", False),
        ("ollama/ollama:0.5", "0", False),
        ("example.com/mine:1", "0", False),
    ],
)
def test_a_server_of_models_has_time_to_load(image: str, grace: str, is_too_short: bool) -> None:
    mapped = "[{ContainerPort: 8000}]"
    containers = f"[{{Name: vllm, Image: '{image}', Memory: 4096, PortMappings: {mapped}}}]"
    part = (
        f"Resources:\n  Task: {{Properties: {{ContainerDefinitions: {containers}}}}}\n"
        f"  Service: {{Properties: {{HealthCheckGracePeriodSeconds: {grace}}}}}\n"
    )
    assert bool(of_part("GPU263", part)) is is_too_short


@pytest.mark.parametrize(
    ("changes", "severities"),
    [
        ("", ["error"]),
        ("  Targets: {Properties: {HealthCheckPort: '22', HealthCheckProtocol: TCP}}", ["warning"]),
        (_CHECKED_AT_8000 + _AGENT_AT_8000, ["warning"]),
        ("  Targets: {Properties: {HealthCheckPort: !Ref Port}}", []),
        (_CHECKED_AT_8000 + _TASK_AT_8000, []),
        (_BY_TARGETS, ["warning"]),
        (_REPLACED.format("'EC2,ELB'", "TrafficSources: [{Identifier: !Ref Targets, Type: elbv2}]"), ["warning"]),
        (_REPLACED.format("EC2", "TargetGroupARNs: [!Ref Targets]"), []),
        (_REPLACED.format("ELB", "TargetGroupARNs: [!ImportValue Targets]"), []),
        (_REPLACED.format("ELB", "TargetGroupARNs: [!Ref Targets], SuspendedProcesses: [ReplaceUnhealthy]"), []),
        (_BY_TARGETS + _AGENT_AT_8000, []),
        (_BY_TARGETS + _TASK_AT_8000, []),
    ],
)
def test_health_checks_of_a_port_that_docker_chooses_go_to_no_fixed_one(changes: str, severities: list[str]) -> None:
    found = of_part("GPU307", f"Resources:\n{changes or _CHECKED_AT_8000}")
    assert [str(each.severity) for each in found] == severities


@pytest.mark.parametrize(
    ("mode", "target_type", "expected"),
    [
        ("awsvpc", "instance", ["error"]),
        ("bridge", "ip", ["error"]),
        ("host", "ip", ["warning"]),
        ("awsvpc", "ip", []),
    ],
)
def test_a_target_group_registers_what_its_tasks_have(mode: str, target_type: str, expected: list[str]) -> None:
    changes = {"Task": {"NetworkMode": mode}, "Targets": {"TargetType": target_type}}
    assert severities("GPU204", changes) == expected


_NESTED = {"TemplateURL": "x", "Parameters": {"Targets": {"Ref": "Targets"}}}
_MAKES_LISTENERS = {
    "Listener": {"Type": "AWS::SNS::Topic"},
    "Edge": {"Type": "AWS::CloudFormation::Stack", "Properties": _NESTED},
}
_OF_ELSEWHERE = {
    "ContainerName": "vllm",
    "ContainerPort": 8000,
    "TargetGroupArn": "arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/a/1",
}


@pytest.mark.parametrize(
    ("properties", "resources"),
    [
        ({}, _MAKES_LISTENERS),
        ({"Service": {"LoadBalancers": [_OF_ELSEWHERE]}}, {}),
    ],
)
def test_a_listener_that_may_be_elsewhere_is_not_missing(
    properties: dict[str, object], resources: dict[str, object]
) -> None:
    assert severities("GPU298", properties, **resources) == []


@pytest.mark.parametrize(
    ("protocol", "of_targets", "expected"),
    [("udp", "HTTP", True), ("17", "TCP", True), ("udp", "UDP", False)],
)
def test_only_tcp_counts_for_requests_over_tcp(protocol: str, of_targets: str, expected: bool) -> None:
    let_in = f"  LetIn: {{Properties: {{IpProtocol: '{protocol}'}}}}\n"
    assert bool(found(f"{let_in}  Targets: {{Properties: {{Protocol: {of_targets}}}}}")) is expected
