"""A load balancer and the tasks behind it go together, and security groups let it in; what is not known is no hole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reports import of_part
from tests.rules.changed import severities

_VLLM = "vllm/vllm-openai:v0.27.1"
_OF_SERVER = {"Name": "vllm", "Memory": 8192, "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]}
_AT_8000 = [{"ContainerPort": 8000}]
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
_CALLS = '{Type: Custom::AWS, Properties: {Create: \'{"action": "authorizeSecurityGroupIngress"}\'}}'
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
        pytest.param(f"  LetIn: null\n  Opens: {_CALLS}", id="what may call ec2:AuthorizeSecurityGroupIngress"),
        pytest.param("  LetIn: null\n  A: {Type: Custom::A, Properties: {A: !Ref HostGroup}}", id="a group given away"),
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
        ("vllm/vllm-openai:v0.11.0", "null", True),
        ("vllm/vllm-openai:v0.11.0", "120", False),
        ("vllm/vllm-openai:v0.11.0", "!Ref Grace", False),
        ("ollama/ollama:0.5", "0", False),
        ("pytorch/pytorch:2.11.0", "0", False),
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


def _asks(**check: Any) -> dict[str, Any]:
    return {"HealthCheck": {"Command": ["CMD-SHELL", "curl -f http://localhost:8000/health"], **check}}


_ALONE: dict[str, Any] = {"LoadBalancers": None, "HealthCheckGracePeriodSeconds": None}


@pytest.mark.parametrize(
    ("container", "service", "expected"),
    [
        (_asks(StartPeriod=29), _ALONE, ["warning"]),
        (_asks(StartPeriod=30), _ALONE, []),
        (_asks(Interval=119, Retries=1), _ALONE, ["warning"]),
        (_asks(StartPeriod=60, Interval=10), _ALONE, ["warning"]),
        (_asks(Interval={"Ref": "AWS::Region"}), _ALONE, []),
        ({**_asks(), "Essential": False}, _ALONE, []),
        (_asks(Command=["CMD-SHELL", "nvidia-smi"]), _ALONE, []),
        (_asks(), {**_ALONE, "HealthCheckGracePeriodSeconds": 600}, []),
        (_asks(), {}, ["warning"]),  # said once, of the checks of its load balancer
    ],
)
def test_a_server_has_time_to_load_before_its_own_health_check_counts(
    container: dict[str, Any], service: dict[str, Any], expected: list[str]
) -> None:
    task = {"ContainerDefinitions": [{**_OF_SERVER, "Image": _VLLM, "PortMappings": _AT_8000, **container}]}
    assert severities("GPU263", {"Task": task, "Service": service}) == expected


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


_NIM = "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4"
_SGLANG, _LAUNCH = "lmsysorg/sglang:v0.5.17", "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B"
_TGI = "ghcr.io/huggingface/text-generation-inference:3.3.7"
_COMFYUI = "example.com/comfyui:1"
_TRITON = "nvcr.io/nvidia/tritonserver:26.03-py3"
_PROXY = {"Name": "proxy", "Image": "nginx", "Memory": 64}


@pytest.mark.parametrize(
    ("image", "command", "port", "expected"),
    [
        (_VLLM, "Qwen/Qwen3-8B --port=9000", 8000, ["error"]),
        (_VLLM, "Qwen/Qwen3-8B --host 127.0.0.1", 8000, ["error"]),
        (_VLLM, "Qwen/Qwen3-8B --host ::1", 8000, ["error"]),
        (_VLLM, "Qwen/Qwen3-8B", {"Ref": "AWS::Region"}, []),
        *(
            (_VLLM, f"Qwen/Qwen3-8B {each}", 9000, [])
            for each in ("--config /vllm.yaml", "--nnodes 2", "--distributed-executor-backend=mp", "ray")
        ),
        (_VLLM, "Qwen/Qwen3-8B --uds /tmp/vllm.sock", 9000, []),
        (_VLLM, "Qwen/Qwen3-8B --port $PORT", 8000, []),
        (_VLLM, "Qwen/Qwen3-8B --data-parallel-supervisor-port 9256", 9256, []),
        (_SGLANG, f"{_LAUNCH} --host 0.0.0.0", 30000, []),
        (_SGLANG, _LAUNCH, 30000, ["error"]),
        (_SGLANG, "sglang serve --model-path Qwen/Qwen3-8B", 8000, ["error"]),
        (_SGLANG, "python3 sglang.launch_server", 8000, []),
        (_SGLANG, f"sh -c {_LAUNCH}", 8000, []),
        (_SGLANG, "python3 -m sglang.srt.disaggregation.mini_lb --prefill http://a:30000", 8000, []),
        (_TGI, "--model-id gpt2", 9000, []),  # its metrics
        (_TGI, "--model-id gpt2", 3000, ["error"]),
        (_TGI, "--model-id gpt2 -p3000", 3000, []),
        (_TGI, "--model-id gpt2 --port 03000", 3000, []),
        *(
            (_TGI.replace("3.3.7", f"3.3.7-{each}"), "--model-id gpt2", 8080, [])
            for each in ("trtllm", "llamacpp", "neuron", "gaudi")
        ),
        (_TRITON, "tritonserver --model-repository=/models --http-address=127.0.0.1", 8001, []),
        (_TRITON, "tritonserver --model-repository=s3://b/m --http-port=9000", 8000, ["error"]),
        (_TRITON, "tritonserver --model-repository=/models --allow-sagemaker=true", 8080, []),
        (_TRITON, "python3 /opt/tritonserver/python/openai/main.py --backend vllm", 9000, []),
        ("ghcr.io/huggingface/text-embeddings-inference:1.8", "--model-id BAAI/bge-m3", 3000, ["error"]),
        ("ghcr.io/huggingface/text-embeddings-inference:1.8", "--model-id BAAI/bge-m3", 80, []),
        (_COMFYUI, "python3 main.py", 8188, ["warning"]),
        (_COMFYUI, "python3 /app/main.py --listen", 8188, []),
        (_COMFYUI, "python3 other.py", 8188, []),
        ("nvcr.io/nim/nvidia/parakeet:1", "", 9000, []),
        ("example.com/vllm:1", "Qwen/Qwen3-8B --port 9000", 8000, []),
    ],
)
def test_a_server_listens_where_requests_go(image: str, command: str, port: Any, expected: list[str]) -> None:
    mapped = {"Image": image, "Command": command.split(), "PortMappings": [{"ContainerPort": port}]}
    assert _listens({**_OF_SERVER, **mapped}, port) == expected


@pytest.mark.parametrize(
    ("changes", "others", "mode", "expected"),
    [
        ({}, [], "bridge", ["error"]),
        ({"EntryPoint": ["/start.sh"]}, [], "bridge", []),
        ({"EnvironmentFiles": [{"Type": "s3", "Value": "arn:aws:s3:::settings/tgi.env"}]}, [], "bridge", []),
        ({"Secrets": [{"Name": {"Ref": "Name"}, "ValueFrom": "arn:aws:ssm:::parameter/tgi"}]}, [], "bridge", []),
        ({"Environment": [{"Name": "PORT", "Value": "3000"}]}, [], "bridge", []),
        ({"Environment": [{"Name": "PORT", "Value": {"Ref": "AWS::Region"}}]}, [], "bridge", []),
        ({"Environment": [{"Name": {"Ref": "AWS::Region"}, "Value": "3000"}]}, [], "bridge", []),
        ({"Environment": [{"Name": "SUPPORT_EMAIL", "Value": "a"}]}, [], "bridge", ["error"]),
        ({"Image": _NIM, "Environment": [{"Name": "NIM_HEALTH_PORT", "Value": "3000"}]}, [], "bridge", []),
        ({"Environment": [{"Name": "PORT", "Value": "3000"}], "Image": _VLLM}, [], "bridge", ["error"]),
        ({"Command": [{"Ref": "AWS::Region"}]}, [], "bridge", []),
        ({}, [_PROXY], "host", ["warning"]),  # which shares its network
        ({}, [{**_PROXY, "PortMappings": [{"ContainerPort": 3000}]}], "host", []),
        ({}, [{**_PROXY, "PortMappings": [{"ContainerPort": 3000}]}], "bridge", ["error"]),
        ({}, [{**_PROXY, "PortMappings": {"Fn::ImportValue": "Ports"}}], "host", []),
    ],
)
def test_something_else_may_listen_there(changes: Any, others: list[Any], mode: str, expected: list[str]) -> None:
    server = {**_OF_SERVER, "Image": _TGI, "PortMappings": [{"ContainerPort": 3000}], **changes}
    assert _listens(server, 3000, *others, mode=mode) == expected


@pytest.mark.parametrize(
    ("host", "command", "port", "expected"),
    [
        ("127.0.0.1:11434", [], 11434, ["error"]),
        ("localhost", ["serve"], 11434, ["error"]),
        (None, [], 8080, ["error"]),
        ("0.0.0.0:8080", [], 8080, []),
        (":8080", [], 8080, []),
        ("[::]:8080", [], 8080, []),
        ("http://127.0.0.1", [], 80, []),
        ("127.0.0.1", ["pull", "qwen3"], 11434, []),
        ({"Ref": "AWS::Region"}, [], 8080, []),
    ],
)
def test_a_variable_says_where_a_server_listens(host: Any, command: list[str], port: int, expected: list[str]) -> None:
    said = {"Environment": [{"Name": "OLLAMA_HOST", "Value": host}][: host is not None], "Command": command}
    mapped = {"Image": "ollama/ollama:0.12.0", "PortMappings": [{"ContainerPort": port}]}
    assert _listens({**_OF_SERVER, **mapped, **said}, port) == expected


def test_the_proxy_of_service_connect_may_listen_there() -> None:
    server = {**_OF_SERVER, "Image": _TGI, "PortMappings": _AT_8000}
    assert _listens(server, 8000, ServiceConnectConfiguration={"Enabled": True}) == ["warning"]


def _listens(server: Any, port: Any, *others: Any, mode: str = "bridge", **service: Any) -> list[str]:
    entry = {"ContainerName": "vllm", "ContainerPort": port, "TargetGroupArn": {"Ref": "Targets"}}
    task = {"NetworkMode": mode, "ContainerDefinitions": [server, *others]}
    return severities("GPU395", {"Task": task, "Service": {"LoadBalancers": [entry], **service}})


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
