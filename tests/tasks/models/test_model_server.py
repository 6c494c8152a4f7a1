"""Servers that people run: each becomes a container that is reached, told of its GPUs, and led to its cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, get_args

import aws_cdk as cdk
import pytest
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_secretsmanager as secretsmanager

from gpu_constructs import (
    DoesNotFitError,
    GpuService,
    GpuShare,
    IncompatibleError,
    InvalidValueError,
    ModelCache,
    ModelServer,
)
from gpu_constructs.check.report import check_files
from gpu_constructs.facts import records
from gpu_constructs.facts.servers import arguments_in, known_servers, made_for_devices
from gpu_constructs.rules import Severity
from gpu_constructs.tasks.models.model_server import Preset
from tests.synthesis import Ground, Site

_IMAGE = ecs.ContainerImage.from_registry("registry.example.com/mine:1")
_QWEN = "Qwen/Qwen2.5-7B-Instruct"
_SMALL, _SHARED = "Qwen/Qwen2.5-0.5B-Instruct", {"gpus": GpuShare(memory_mib=8192)}
SERVERS: dict[str, Callable[[], ModelServer]] = {
    "vllm": lambda: ModelServer.vllm(_QWEN),
    "sglang": lambda: ModelServer.sglang(_QWEN),
    "tgi": lambda: ModelServer.tgi(_QWEN),
    "triton": lambda: ModelServer.triton(tag="25.03-py3"),
    "comfyui": lambda: ModelServer.preset("comfyui", image=_IMAGE),
    "ollama": lambda: ModelServer.preset("ollama", tag="0.33.3"),
    "dlc_vllm": lambda: ModelServer.preset("dlc_vllm", model=_QWEN),
    "dlc_sglang": lambda: ModelServer.preset("dlc_sglang", model=_QWEN),
    "dlc_pytorch": lambda: ModelServer.preset("dlc_pytorch"),
    "pytorch": lambda: ModelServer.preset("pytorch"),
    "cuda": lambda: ModelServer.preset("cuda"),
}


def _environment(container: dict[str, Any]) -> dict[str, str]:
    return {each["Name"]: each["Value"] for each in container.get("Environment", ())}


def test_every_fact_has_a_source_and_every_server_of_the_data_is_a_preset() -> None:
    file = records.read("servers")
    assert file["servers"].keys() == SERVERS.keys() == set(get_args(Preset))
    for name, row in (file["servers"] | file["without_preset"]).items():
        for field, fact in row.items():
            assert fact.keys() == {"value", "source"}, (name, field)
            assert "https://" in fact["source"] or fact["source"].startswith("UNCONFIRMED: "), (name, field)


def test_all_of_them_are_one_good_app(site: Site) -> None:
    capacity = site.capacity("g6.12xlarge", max_instances=12)
    for name, make in SERVERS.items():
        server = make()
        task = site.task(capacity, name=name.title())
        cache = ModelCache.host_disk() if server.cache_directory else None
        task.add_model_server("Server", server=server, gpus=2, cache=cache)
        service = GpuService(site.stack, f"{name.title()}Service", cluster=site.cluster, task_definition=task)
        if server.port is not None:
            service.add_application_load_balancer("Http", protocol=elbv2.ApplicationProtocol.HTTP)
    found = check_files([site.app.synth().directory]).findings
    assert [each.message for each in found if each.severity is not Severity.INFO] == []
    targets = site.properties("AWS::ElasticLoadBalancingV2::TargetGroup")
    paths = [facts.health_path or "" for facts in map(known_servers().__getitem__, SERVERS) if facts.port]
    assert sorted(each["HealthCheckPath"] for each in targets) == sorted(paths)


def test_a_server_is_reached_healthy_and_told_of_its_gpus(site: Site) -> None:
    task = site.task(site.capacity("g6.12xlarge"))
    task.add_model_server("Vllm", server=ModelServer.vllm(_QWEN, arguments=["--max-model-len", "8192"]), gpus=4)
    container = site.container()
    assert container["Image"] == f"vllm/vllm-openai:{known_servers()['vllm'].tag}"
    assert container["Command"] == [
        *(_QWEN, "--host", "0.0.0.0", "--port", "8000"),  # noqa: S104 - in a container
        *("--max-model-len", "8192", "--tensor-parallel-size", "4"),
    ]
    assert [(each["ContainerPort"], each["Name"]) for each in container["PortMappings"]] == [(8000, "vllm")]
    assert container["ResourceRequirements"] == [{"Type": "GPU", "Value": "4"}]
    assert "HF_HOME" not in _environment(container)
    assert task.server is not None
    assert task.server.health_path == "/health"


def test_of_options_for_one_thing_the_last_counts() -> None:
    words = ("--max-model-len=8", "--context-length", "5", "--max-model-len", "7")
    assert [*arguments_in(words).items()] == [("--context-length", "5"), ("--max-model-len", "7")]


@pytest.mark.parametrize(
    ("server", "start"),
    [
        (lambda: ModelServer.vllm(_QWEN, tag="v0.19.1"), "--model"),
        (lambda: ModelServer.vllm(_QWEN, tag="v0.20.0"), _QWEN),
        (lambda: ModelServer.vllm(_QWEN, tag="nightly"), _QWEN),
        (lambda: ModelServer.vllm(_QWEN, image=_IMAGE), "--model"),
        (lambda: ModelServer.vllm(_QWEN, image=_IMAGE, tag="v0.28.0"), _QWEN),
    ],
)
def test_vllm_is_given_the_model_as_its_version_takes_it(server: Callable[[], ModelServer], start: str) -> None:
    assert server().command[0] == start


@pytest.mark.parametrize(
    "arguments", [["--tensor-parallel-size", "4"], ["--tensor_parallel_size=4"], ["-tp", "2", "-dp", "2"]]
)
def test_whoever_says_how_gpus_are_used_says_it_alone(site: Site, arguments: list[str]) -> None:
    server = ModelServer.vllm(_QWEN, arguments=arguments)
    site.task(site.capacity("g6.12xlarge")).add_model_server("Vllm", server=server, gpus=4)
    assert site.container()["Command"][5:] == arguments


_QWEN_32B = "Qwen/Qwen2.5-32B-Instruct"
_LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
_LLAMA = "meta-llama/Llama-3.1-70B-Instruct"


@pytest.mark.parametrize(
    ("type_name", "gpus", "model", "words"),
    [
        (
            "g6.xlarge",
            1,
            _LLAMA,
            r"131.5 GiB, and 1 GPU of g6.xlarge has 22.3 GiB; fix: gpus=\d on hosts",
        ),
        ("g4dn.xlarge", 1, _QWEN, r"14.2 GiB, and vLLM takes 13.4 GiB of 1 GPU of g4dn.xlarge .* 0.92\); fix: gpus=1"),
        ("p5.48xlarge", 1, _LLAMA, "131.5 GiB, and 1 GPU of p5.48xlarge has 80 GiB; fix: gpus=4, or"),
        ("g6.xlarge", GpuShare(memory_mib=8192), _QWEN, "14.2 GiB, and the share has 8 GiB; fix: a larger memory_mib"),
        (
            "g6f.4xlarge",
            0.5,
            _QWEN,
            "14.2 GiB, and 1 GPU of g6f.4xlarge has 11.1 GiB; fix: gpus=1 on",
        ),
    ],
)
def test_a_model_whose_weights_no_gpu_holds_is_refused_with_what_would(
    ground: Ground, type_name: str, gpus: Any, model: str, words: str
) -> None:
    task = ground.task(ground.capacity(type_name))
    with pytest.raises(DoesNotFitError, match=rf"gpus: the weights of '{model}' are {words}") as refused:
        task.add_model_server("Vllm", server=ModelServer.vllm(model), gpus=gpus)
    assert refused.value.rule == "GPU064"
    assert task.node.try_find_child("Vllm") is None


def test_a_part_of_the_memory_that_is_too_small_for_the_weights_is_refused_with_the_default(ground: Ground) -> None:
    task = ground.task(ground.capacity("g6.xlarge"))
    server = ModelServer.vllm(_QWEN, arguments=["--gpu-memory-utilization=0.5"])
    with pytest.raises(DoesNotFitError, match=r"vLLM takes 11.0 .*; fix: --gpu-memory-utilization 0.92"):
        task.add_model_server("Vllm", server=server)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-tp=4"], ""),
        (["-tp=2", "-dp=2"], "the weights of .* are 61.1 GiB, and the 2 GPUs of each .* have 44.7 GiB; fix: gpus=4 on"),
        (["-tp=2", "-pcp=2"], r"the 2 GPUs of each of its 2 copies \(g6.12xlarge\) have 44.7 GiB"),
        (["-dp=4"], "the 1 GPU of each of its 4 copies .* has 22.3 GiB"),
    ],
)
def test_each_copy_of_a_model_has_its_weights(ground: Ground, arguments: list[str], words: str) -> None:
    task, server = ground.task(ground.capacity("g6.12xlarge")), ModelServer.vllm(_QWEN_32B, arguments=arguments)
    with pytest.raises(DoesNotFitError, match=words) if words else nullcontext():
        task.add_model_server("Vllm", server=server, gpus=4)


@pytest.mark.parametrize(("fraction", "is_refused"), [(0.3, True), (0.75, False)])
def test_the_part_of_a_share_may_be_that_of_the_whole_gpu(ground: Ground, fraction: float, is_refused: bool) -> None:
    task = ground.task(ground.capacity("g6.xlarge"))
    server = ModelServer.vllm(_QWEN, arguments=[f"--gpu-memory-utilization={fraction}"])
    with pytest.raises(DoesNotFitError, match="vLLM takes 6.6 GiB") if is_refused else nullcontext():
        task.add_model_server("Vllm", server=server, gpus=GpuShare(memory_mib=18_000))


def test_what_the_weights_take_of_each_gpu_is_a_need_that_the_template_keeps(site: Site) -> None:
    task = site.task(site.capacity("g6.48xlarge"))
    task.add_model_server("Vllm", server=ModelServer.vllm(_QWEN_32B), gpus=4)
    task.add_model_server("Said", server=ModelServer.vllm(_QWEN), gpus=1, gpu_memory_gib=20, essential=False)
    found = {each.name: each.needs and each.needs.memory_mib for each in task.task.containers}
    assert found == {"Vllm": 15_333, "Said": 20_480}
    (read,) = check_files([site.template()], rules=()).fleet.tasks
    assert {each.name: each.needs and each.needs.memory_mib for each in read.containers} == found


def test_vllm_has_no_kernel_for_mxfp4_before_ampere(ground: Ground) -> None:
    task = ground.task(ground.capacity("g4dn.12xlarge"))
    words = r"server: vLLM has no kernel for the mxfp4 weights of 'openai/gpt-oss-20b' on g4dn.12xlarge; fix: gpus=1 on"
    with pytest.raises(IncompatibleError, match=words):
        task.add_model_server("Vllm", server=ModelServer.vllm("openai/gpt-oss-20b"), gpus=4)
    task.add_model_server("Sglang", server=ModelServer.sglang("openai/gpt-oss-20b"), gpus=4)


@pytest.mark.parametrize(
    ("server", "gpus", "words"),
    [
        (ModelServer.vllm(_QWEN), 8, "8 GPUs cannot share .* its 28 attention heads, 4 .*; fix: 1, 2 or 4 GPUs"),
        (ModelServer.vllm(_QWEN), 3, "3 GPUs cannot share .*; fix: 1 or 2 GPUs"),
        (ModelServer.vllm(_QWEN), 7, "7 GPUs cannot share .* 4 of them with keys and values"),
        (ModelServer.vllm(_QWEN, arguments=["-tp=8"]), 8, "8 GPUs cannot share"),
        (ModelServer.sglang(_QWEN), "ALL", "8 GPUs cannot share"),
        (ModelServer.tgi(_QWEN), 8, "8 GPUs cannot share"),
        (ModelServer.vllm(_QWEN), 4, ""),
        (ModelServer.vllm(_QWEN, arguments=["-tp", "4", "-dp", "2"]), 8, ""),
        (ModelServer.sglang(_QWEN, arguments=["--tp", "8", "--dp", "2", "--enable-dp-attention"]), 8, ""),
        (ModelServer.vllm("acme/secret-13b"), 3, ""),
    ],
)
def test_gpus_that_cannot_share_the_heads_of_a_model_are_refused_with_the_numbers_that_can(
    ground: Ground, server: ModelServer, gpus: Any, words: str
) -> None:
    task = ground.task(ground.capacity("g6.48xlarge"))
    with pytest.raises(IncompatibleError, match=f"gpus: {words}") if words else nullcontext():
        task.add_model_server("Server", server=server, gpus=gpus)


@pytest.mark.parametrize(
    ("name", "arguments", "fix"),
    [
        ("vllm", ["--port", "9000"], "port=9000"),
        ("triton", ["--http-port=9000"], "port=9000"),
        ("dlc_vllm", ["--model", "acme/other"], "model='acme/other'"),
        ("vllm", ["--gpu-memory-utilization=1.5"], "--gpu-memory-utilization 0.9"),
        ("vllm", ["--gpu-memory-utilization", "0"], "--gpu-memory-utilization 0.9"),
        ("sglang", ["--context-length 8192"], "two texts, '--context-length' and its value"),
    ],
)
def test_arguments_that_the_server_ends_at_or_that_are_written_already_are_refused(
    name: Preset, arguments: list[str], fix: str
) -> None:
    options: dict[str, Any] = {"tag": "25.03-py3"} if name == "triton" else {"model": _QWEN}
    with pytest.raises(InvalidValueError, match=f"arguments: .*; fix: {fix}"):
        ModelServer.preset(name, arguments=arguments, **options)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tgi", ["--max-total-tokens 8192"]),  # its entry point takes it apart
        ("vllm", ['--hf-overrides={"a": 1}', "--gpu-memory-utilization", "1", "--host", "::"]),
    ],
)
def test_arguments_that_a_server_takes_are_kept(name: Preset, arguments: list[str]) -> None:
    assert [*ModelServer.preset(name, model=_QWEN, arguments=arguments).command][-len(arguments) :] == arguments


@pytest.mark.parametrize(
    ("model", "arguments", "options", "said"),
    [
        (_QWEN, [], {}, []),
        (
            _LLAMA_8B,
            [],
            {},
            [("warning", "131,072 tokens, and a server uses 20.3 GiB of it; --max-model-len 16384, or")],
        ),
        (_LLAMA_8B, ["--max-model-len", "16384"], {}, []),
        (_LLAMA_8B, ["--kv-cache-dtype", "fp8"], {}, []),
        ("meta-llama/Meta-Llama-3-8B", [], {}, []),
        (_QWEN, ["--gpu-memory-utilization=0.7"], {}, [("warning", "15.4 GiB of it; --gpu-memory-utilization 0.92")]),
        (_QWEN, ["--gpu-memory-utilization=0.5", "--kv-cache-memory-bytes=2G"], {}, []),
        (_QWEN, ["--max-model-len=1000000"], {}, [("warning", "--max-model-len 32768, or")]),
        (_LLAMA, ["-tp=8", "-pp=2", "--nnodes=2"], {}, [("info", "not checked: how much GPU memory")]),
        ("openai/gpt-oss-20b", ["--data-parallel-size", "2"], {}, [("info", "not checked: how much GPU memory")]),
        (f"{_QWEN_32B}-AWQ", [], {}, [("warning", "needs about 28.3 GiB on each of 1 GPU of g6")]),
        (f"{_QWEN_32B}-AWQ", [], {"gpu_memory_gib": 22}, []),
        ("acme/secret-13b", [], {}, [("info", "not checked: how much GPU memory 'acme/secret-13b' of container Vllm")]),
        ("acme/secret-13b", [], {"gpu_memory_gib": 16}, []),
        (_LLAMA, ["--cpu-offload-gb", "120"], {}, [("info", "not checked: how much GPU memory")]),
        (_LLAMA, ["--quantization", "mine"], {}, [("info", "must have [ack: gpu-constructs::GPU229]")]),
        (f"{_QWEN_32B}-AWQ", ["-q=awq_marlin"], {}, [("warning", "needs about 28.3 GiB on each")]),
        (_LLAMA, [], {"command": ["sleep"]}, []),
        (
            _SMALL,
            [],
            _SHARED,
            [("warning", "8.0 GiB: it sees the whole GPU; arguments=['--gpu-memory-utilization', '0.33")],
        ),
        (_SMALL, ["--gpu-memory-utilization", "0.33"], _SHARED, [("info", "not checked: how much GPU memory")]),
        (_SMALL, [], {"gpus": GpuShare(memory_mib=700)}, [("warning", "; a larger memory_mib of the share")]),
    ],
)
def test_what_may_not_fit_is_a_warning_and_what_is_not_known_is_said(
    site: Site, model: str, arguments: list[str], options: dict[str, Any], said: list[tuple[str, str]]
) -> None:
    task = site.task(site.capacity("g6.xlarge"))
    task.add_model_server("Vllm", server=ModelServer.vllm(model, arguments=arguments), **options)
    messages = site.stack.node.find_child("Task").node.find_child("Vllm").node.metadata
    found = [(each.type, str(each.data)) for each in messages if each.type in {"aws:cdk:info", "aws:cdk:warning"}]
    assert [kind for kind, _ in found] == [f"aws:cdk:{kind}" for kind, _ in said]
    assert all(words in text for (_, text), (_, words) in zip(found, said, strict=True)), found


def test_what_is_given_is_taken_instead(site: Site) -> None:
    secret = secretsmanager.Secret(site.stack, "Token")
    site.task().add_model_server(
        "Ollama",
        server=ModelServer.preset("ollama", tag="0.33.3", port=9000),
        command=["serve"],
        environment={"OLLAMA_NUM_PARALLEL": "2"},
        secrets={"OLLAMA_HOST": ecs.Secret.from_secrets_manager(secret)},
        port_mappings=[ecs.PortMapping(container_port=9001)],
        memory_mib=4096,
    )
    container = site.container()
    assert container["Command"] == ["serve"]
    assert _environment(container) == {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "OLLAMA_NUM_PARALLEL": "2"}
    assert container["PortMappings"][0]["ContainerPort"] == 9001
    assert container["Memory"] == 4096


def test_a_service_takes_health_check_and_grace_from_its_server(site: Site) -> None:
    loads = cdk.Duration.minutes(20)
    mine = ModelServer(name="mine", image=_IMAGE, port=9000, health_path="/ready", health_check_grace_period=loads)
    task = site.task()
    task.add_model_server("Mine", server=mine)
    service = GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    certificate = acm.Certificate(site.stack, "Certificate", domain_name="chat.example.com")
    service.add_application_load_balancer("Https", certificate=certificate)
    assert site.only("AWS::ElasticLoadBalancingV2::TargetGroup")["HealthCheckPath"] == "/ready"
    assert site.only("AWS::ECS::Service")["HealthCheckGracePeriodSeconds"] == 1200


def test_the_cuda_of_an_image_is_known_by_its_tag() -> None:
    assert ModelServer.vllm(_QWEN).cuda == (13, 0)
    assert ModelServer.vllm(_QWEN, tag="v0.28.0-cu129").cuda == (12, 9)
    assert ModelServer.vllm(_QWEN, image=_IMAGE).cuda is None
    assert ModelServer.vllm(_QWEN, image=_IMAGE, tag="v0.28.0").cuda == (13, 0)
    assert ModelServer.preset("comfyui", image=_IMAGE).cuda is None


def test_an_image_without_code_for_the_gpus_is_refused(ground: Ground) -> None:
    task = ground.task(ground.capacity("p3.2xlarge"))
    with pytest.raises(IncompatibleError, match="has no code for the GPUs") as refused:
        task.add_model_server("Vllm", server=ModelServer.vllm(_QWEN))
    assert (refused.value.argument, refused.value.rule) == ("server", "GPU235")
    task.add_model_server("Vllm", server=ModelServer.vllm(_QWEN, tag="v0.28.0-cu129"))


def test_a_name_of_any_length_is_read_in_time() -> None:
    assert [made_for_devices(f"{part * 50_000}/x") for part in ("-rocm", ":-gpu")] == [None, None]
