"""Memory, environment and time to stop of containers, and servers that use the GPUs they have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, PurchaseOption, Task, Unknown, UserData, Workload
from gpu_constructs.rules import Rule
from gpu_constructs.rules.tasks.containers import (
    asked_of_ecs,
    left_to_ecs,
    memory_for_cuda,
    shared_memory,
    stop_in_time,
)
from gpu_constructs.rules.tasks.server_commands import all_used, started_once
from tests.rules.changed import severities
from tests.rules.given import a_pool, container, fleet_of, gpu, only, running_on, said, task_of


def test_a_daemon_is_told_of_the_default_runtime() -> None:
    task = task_of(replace(container(), environment=(("NVIDIA_VISIBLE_DEVICES", "all"),)))
    daemon = Workload(name="exporter", task=task, daemon=True)
    finding = only(asked_of_ecs, fleet_of(task, workloads=(daemon,)))
    assert finding.fix.startswith("nvidia as the default Docker runtime")


@pytest.mark.parametrize(("value", "words"), [("all", "to 'all',"), (UNKNOWN, "to a value that is only known")])
def test_visible_devices_without_a_request_give_none(value: str, words: str) -> None:
    finding = only(asked_of_ecs, fleet_of(task_of(replace(container(), environment=((_VISIBLE, value),)))))
    assert f"container main sets NVIDIA_VISIBLE_DEVICES {words}" in finding.message


def test_a_container_whose_settings_are_not_all_known_may_be_the_one_that_asks() -> None:
    asks = replace(container(name="side"), unknown_keys=("Gpus",))
    task = task_of(replace(container(), image=_CUDA, may_have_other_devices=False), asks)
    assert said(asked_of_ecs, running_on(a_pool("g6.xlarge"), task=task)) == []


_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_CUDA = "nvidia/cuda:12.8.1-runtime-ubuntu24.04"
_NEURON = "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-vllm-inference-neuronx:0.11.0"


@pytest.mark.parametrize(
    ("image", "types", "changes", "count"),
    [
        (_CUDA, ["g6.xlarge"], {}, 1),
        ("vllm/vllm-openai:v0.11.0", ["g6.xlarge"], {}, 1),
        ("localai/localai:v4.9.0-gpu-nvidia-cuda-12", ["g6.xlarge"], {}, 1),
        ("vllm/vllm-openai-cpu:v0.23.0", ["g6.xlarge"], {"requirements": (gpu("1"),)}, 1),
        (_CUDA, ["g6.xlarge"], {"privileged": True}, 0),  # it has the devices
        (_CUDA, ["g6.xlarge"], {"daemon": True}, 0),  # it may watch the GPUs
        (_NEURON, ["inf2.xlarge"], {}, 1),
        ("public.ecr.aws/neuron/pytorch-training-neuronx:2.8.0-sdk2.26.0", ["trn1.2xlarge"], {}, 1),
        (_NEURON, ["inf2.xlarge", "m7i.xlarge"], {}, 0),  # it may compile
        ("example/neuronx:1", ["inf2.xlarge"], {}, 0),
        (_NEURON, ["inf2.xlarge"], {"devices": ("/dev/neuron0",)}, 0),
        (_CUDA, ["inf2.xlarge"], {"devices": ("/dev/neuron0",)}, 1),
        ("rocm/vllm:latest", ["g6.xlarge"], {"requirements": (gpu("1"),)}, 1),
        ("ghcr.io/ggml-org/llama.cpp:server", ["g6.xlarge"], {"requirements": (gpu("1"),)}, 1),
        ("ghcr.io/ggml-org/llama.cpp:server", ["g6.xlarge"], {}, 0),
        ("nvidia/cuda:12.8-cpu", ["g6.xlarge"], {"requirements": (gpu("1"),)}, 0),
        (_NEURON, ["inf2.xlarge"], {"may_have_other_devices": True}, 0),
        (_NEURON, ["inf2.xlarge"], {"environment": (("AWS_NEURON_VISIBLE_DEVICES", "0"),)}, 0),
    ],
)
def test_an_image_for_accelerators_on_hosts_with_some_asks_for_one(
    image: str, types: list[str], changes: dict[str, Any], count: int
) -> None:
    of_service = {"daemon": True} if "daemon" in changes else {}
    known = {"may_have_other_devices": False, **changes} if not of_service else {}
    fleet = running_on(a_pool(*types), task=task_of(replace(container(), image=image, **known)), **of_service)
    assert ["has an image for" in each.message for each in said(asked_of_ecs, fleet)] == [True] * count


@pytest.mark.parametrize("value", ["all", UNKNOWN])
def test_visible_devices_beside_a_request_are_overwritten(value: str) -> None:
    asking = replace(container(gpu()), environment=(("NVIDIA_VISIBLE_DEVICES", value),))
    finding = only(left_to_ecs, fleet_of(task_of(asking)))
    assert (finding.rule, finding.severity) == ("GPU037", "warning")
    assert "the ECS agent overwrites it with the ids" in finding.message
    assert said(asked_of_ecs, fleet_of(task_of(asking))) == []


@pytest.mark.parametrize(
    ("value", "gpus", "changes", "is_hidden"),
    [
        ("", 1, {}, True),
        ("-1", 1, {}, True),
        ("1", 1, {}, True),
        ("2,0", 2, {}, True),
        ("0,1", 1, {}, False),
        ("1", 2, {}, False),
        ("GPU-8932f937", 1, {}, False),
        (UNKNOWN, 1, {}, False),
        ("1", 1, {"privileged": True}, False),
        ("1", 1, {"may_have_other_devices": True}, False),
        ("1", 1, {"command": ("sh", "-c", "CUDA_VISIBLE_DEVICES=0 exec serve")}, False),
    ],
)
def test_an_index_that_no_gpu_of_the_container_has_hides_all(
    value: str, gpus: int, changes: dict[str, Any], is_hidden: bool
) -> None:
    known = {"privileged": False, "may_have_other_devices": False, "environment": (("CUDA_VISIBLE_DEVICES", value),)}
    found = said(left_to_ecs, fleet_of(task_of(replace(container(gpu(str(gpus))), **{**known, **changes}))))
    assert [(each.severity, "its programs see none" in each.message) for each in found] == [("error", True)] * is_hidden


@pytest.mark.parametrize(
    "task",
    [
        task_of(container(gpu())),
        task_of(replace(container(), environment=(("NVIDIA_VISIBLE_DEVICES", "void"),))),
        # A sidecar of a GPU task that names it gets the NVIDIA runtime without a GPU of its own.
        task_of(container(gpu()), replace(container(name="dcgm"), environment=(("NVIDIA_VISIBLE_DEVICES", "all"),))),
    ],
)
def test_other_uses_of_visible_devices_are_silent(task: Task) -> None:
    assert said(left_to_ecs, fleet_of(task)) == []
    assert said(asked_of_ecs, fleet_of(task)) == []


def with_limit(mib: int | Unknown | None, **changes: Any) -> Task:
    return task_of(replace(container(gpu()), memory_limit_mib=mib, **changes))


def test_the_limit_of_the_task_is_one_of_a_container_without_its_own() -> None:
    task = with_limit(None, memory_reservation_mib=32)
    finding = only(memory_for_cuda, fleet_of(replace(task, memory_limit_mib=64)))
    assert (finding.rule, finding.fix) == ("GPU312", "Memory of 8192 of the task, in MiB")
    assert "is stopped above 64 MiB of memory of its task" in finding.message


def on_hosts(seconds: Any, purchase: PurchaseOption = PurchaseOption.SPOT) -> Fleet:
    task = task_of(replace(container(gpu()), stop_timeout_seconds=seconds))
    return running_on(a_pool("g6.xlarge", purchase=purchase), task=task)


_VLLM = "vllm/vllm-openai:v0.27.1"
_TGI = "ghcr.io/huggingface/text-generation-inference:3.3.7"
_MODEL = ("--model", "qwen")
_QWEN = "Qwen/Qwen2.5-7B-Instruct"
_SGLANG = "lmsysorg/sglang:v0.5.17-cu130"


def _fleet(gpus: str | Unknown, image: str, *command: str | Unknown, **changes: Any) -> Fleet:
    return fleet_of(task_of(replace(container(gpu(gpus)), image=image, command=command, **changes)))


@pytest.mark.parametrize(
    ("fleet", "words"),
    [
        (_fleet("4", _VLLM, *_MODEL), "uses 1 of its 4 GPUs;--tensor-parallel-size 4 in Command, or 1 GPU"),
        (_fleet("4", _VLLM, *_MODEL, "-tp=2"), "uses 2 of its 4 GPUs;-tp 4 in Command, or 2 GPUs"),
        (_fleet("2", "ghcr.io/ai-dock/comfyui:v2"), "uses 1 of its 2 GPUs, unless a workflow"),
        *(
            (_fleet("4", _VLLM, "vllm serve qwen -tp 4 -pp=2", entry_point=(each, "-c")), "-pp 2) and has 4 GPUs;-tp 2")
            for each in ("sh", "bash", "/bin/sh", "/bin/bash")
        ),
        (_fleet("1", _VLLM, *_MODEL, "-tp", "2", entry_point=("/usr/bin/env", "vllm", "serve")), "to use 2 GPUs"),
        (_fleet("1", _TGI, "--num-shard", "2", entry_point=("text-generation-launcher",)), "to use 2 GPUs and has 1"),
        (_fleet("0.25", _VLLM, *_MODEL, "-dp=8", "-dpl=2"), "2 GPUs and has a part of one GPU;-dpl 1 in Command"),
        (_fleet("4", _VLLM, entry_point=("vllm", "serve", "a/b")), "uses 1 of its 4 GPUs"),
        (_fleet("4", _SGLANG, "sglang", "serve", "--tp=4", "--dp=2", "--revision=glm"), "dp 2) and has 4 GPUs;--tp"),
        (_fleet("8", _VLLM, _QWEN, "-tp", "4"), "uses 4 of its 8 GPUs;4 GPUs"),
        (_fleet("6", _VLLM, _QWEN, "-tp", "8"), "has 6 GPUs;-tp 4 in Command"),
        (_fleet("999999", _VLLM, _QWEN, "-tp", "8", "-pp", "2"), "GPUs;16 GPUs"),
    ],
)
def test_gpus_that_are_not_used_and_gpus_that_are_not_there_are_said(fleet: Fleet, words: str) -> None:
    finding = only(all_used, fleet)
    assert words in f"{finding.message.removesuffix(', so that it does not start')};{finding.fix}"


@pytest.mark.parametrize(
    ("gpus", "command", "words"),
    [
        ("4", "torchrun --standalone -m --nproc-per-node=8 train", "starts 8 processes with torchrun, and has 4 GPUs"),
        ("0.5", "torchrun --rdzv-id a --nproc-per-node 2 train.py", "torchrun, and has a part of one GPU"),
        ("4", "python -m torch.distributed.run --nproc_per_node=4 a && torchrun --nproc-per-node 8 b", "8 processes"),
        ("4", "torchrun --no-python --standalone run_bin --nproc-per-node 8", ""),
        ("4", "# torchrun --nproc-per-node 8 a", ""),
        ("4", "echo torchrun --nproc-per-node 8 a", ""),
    ],
)
def test_torchrun_starts_no_more_processes_than_there_are_gpus(gpus: str, command: str, words: str) -> None:
    found = said(all_used, _fleet(gpus, "example.com/train:7", command, entry_point=("sh", "-c")))
    assert [(each.severity, words in each.message) for each in found] == [("warning", True)] * bool(words)


@pytest.mark.parametrize(("asked", "privileged", "known"), [("4", 0, "error"), ("4", 1, "warning"), ("8", 0, "")])
def test_a_server_has_the_gpus_with_which_a_job_is_submitted(asked: str, privileged: int, known: str) -> None:
    of_all = (_fleet(each, _VLLM, *_MODEL, "-tp=8", privileged=privileged == 1) for each in ("4", asked))
    (defined,), submitted = (each.tasks for each in of_all)
    found = said(all_used, fleet_of(replace(defined, submissions=submitted)))
    assert [each.severity for each in found] == known.split()


@pytest.mark.parametrize(("mib", "count"), [(64, 1), (65, 0)])
def test_a_shared_memory_of_no_more_than_dockers_is_said(mib: int, count: int) -> None:
    found = said(shared_memory, fleet_of(task_of(replace(container(gpu("8")), shared_memory_mib=mib))))
    assert [f"has 8 GPUs and {mib} MiB of /dev/shm" in each.message for each in found] == [True] * count


@pytest.mark.parametrize(
    ("rule", "fleets"),
    [
        (shared_memory, [fleet_of(task_of(container(gpu(each)))) for each in ("1", UNKNOWN)]),
        (shared_memory, [fleet_of(task_of(replace(container(gpu("8")), used_keys=("LinuxParameters.Tmpfs",))))]),
        (memory_for_cuda, [fleet_of(with_limit(80, command=("sh", "-c", "nvidia-smi")))]),  # the example of AWS
        (memory_for_cuda, [fleet_of(with_limit(64, image="nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1"))]),
        (stop_in_time, [on_hosts(120), on_hosts(UNKNOWN)]),
        (all_used, [_fleet("4", _VLLM, *_MODEL, "$ARGUMENTS"), _fleet(UNKNOWN, _VLLM, *_MODEL)]),
        (all_used, [_fleet("8", _VLLM, *_MODEL, "-tp", "16", "--distributed-executor-backend", "ray")]),
        (all_used, [_fleet("1", _VLLM, *_MODEL, "-dp=2", "-dpn=0"), _fleet("4", _VLLM, *_MODEL, "-tp=8", "-n=2")]),
        (all_used, [_fleet("4", _VLLM, *_MODEL, "--headless", "--data-parallel-size", "8", "-dpl", "4")]),
        (all_used, [_fleet("4", _VLLM, "vllm", "serve", *_MODEL, "-tp", "8", entry_point=("start.sh",))]),
        (all_used, [_fleet("4", _VLLM, "start.sh --tensor-parallel-size 8", entry_point=("sh", "-c"))]),
        (all_used, [_fleet("2", _TGI, environment=(("NUM_SHARD", "2"),)), _fleet("4", _TGI, "--model-id", "qwen")]),
        (all_used, [_fleet("1", "ghcr.io/ai-dock/comfyui:v2"), _fleet("4", _SGLANG, "python3", "a.py", "--tp=8")]),
        (all_used, [_fleet("4", _SGLANG, "sglang", "serve", "--model-path=zai-org/GLM-5", "--tp=4", "--dp=2")]),
        (all_used, [_fleet("4", _VLLM, "vllm serve a -tp 2& vllm serve b -tp 2", entry_point=("sh", "-c"))]),
        (all_used, [_fleet("4", _VLLM, "cat <<E\nvllm serve a -tp 8\nE", entry_point=("sh", "-c"))]),
        (all_used, [_fleet("4", _VLLM, *_MODEL, "Ref::option", "Ref::value")]),
        (all_used, [_fleet("4", _VLLM, *_MODEL, "-tp=2", "-pcp=2"), _fleet("8", _VLLM, *_MODEL, "-tp=4", "-n=2")]),
    ],
)
def test_what_is_right_or_may_be_meant_is_silent(rule: Rule, fleets: list[Fleet]) -> None:
    assert [each for fleet in fleets for each in said(rule, fleet)] == []


@pytest.mark.parametrize(
    ("changes", "text", "is_found"),
    [
        ({}, "", True),
        ({"environment": (("NVIDIA_VISIBLE_DEVICES", "all"),)}, "", False),
        ({"command": ("-r", "172.17.0.1:5555")}, "", False),
        ({"command": ("sh", "-c", "dcgm-exporter --remote-hostengine-info=172.17.0.1")}, "", False),
        ({"command": ("sh", "-c", "rm -rf /tmp/x; dcgm-exporter")}, "", True),
        ({}, '{"default-runtime": "nvidia"}', False),
    ],
)
def test_an_exporter_beside_a_gpu_container_sees_gpus(changes: dict[str, Any], text: str, is_found: bool) -> None:
    beside = replace(container(), name="dcgm", image="nvcr.io/nvidia/k8s/dcgm-exporter:3.3.7", **changes)
    pool, task = a_pool(user_data=UserData(text=text)), task_of(container(gpu("1")), beside)
    assert bool(said(asked_of_ecs, running_on(pool, task=task))) is is_found


@pytest.mark.parametrize(("place", "said"), [(0, ["warning"]), (1, [])])
def test_a_file_may_say_which_dcgm_an_exporter_asks(place: int, said: list[str]) -> None:
    gpu = {"Name": "vllm", "Image": "x:1", "Memory": 8192, "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]}
    both = [gpu, {"Name": "dcgm", "Image": "nvcr.io/nvidia/k8s/dcgm-exporter:3.3.7", "Memory": 256}]
    both[place]["EnvironmentFiles"] = [{"Type": "s3"}]
    assert severities("GPU025", {"Task": {"ContainerDefinitions": both}}, of="GPU257") == said


@pytest.mark.parametrize(
    ("image", "command", "words"),
    [
        (_VLLM, ("Qwen/Qwen3-8B", "--max-model-len 8192"), "has in Command --max-model-len and its value as one text"),
        (_VLLM, ("Qwen/Qwen3-8B", "--gpu-memory-utilization=90"), "--gpu-memory-utilization 90, which is not above 0"),
        (_VLLM, ("Qwen/Qwen3-8B", "--max-model-len"), "has in Command --max-model-len without a value"),
        (_VLLM, ("Qwen/Qwen3-8B", "--gpu-memory-utilization", UNKNOWN), ""),
        (_VLLM, (_QWEN, "--max-model-len", "65536", '--hf-overrides={"a": 1}'), ""),
        ("ghcr.io/huggingface/text-generation-inference:3.3.7", ("--max-total-tokens 8192",), ""),
        ("nvcr.io/nvidia/tritonserver:25.12-py3", ("tritonserver", "--model-repository=/tmp"), ""),  # which is there
    ],
)
def test_a_server_ends_at_an_argument(image: str, command: tuple[str, ...], words: str) -> None:
    found = said(started_once, fleet_of(task_of(replace(container(gpu()), image=image, command=command))))
    expected = [("GPU394", "error", True)] * bool(words)
    assert [(each.rule, each.severity, words in each.message) for each in found] == expected


_ALL: dict[str, Any] = {"commands": frozenset({"main"}), "variables": (("main", "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1"),)}


@pytest.mark.parametrize(
    ("gpus", "overridden", "count"), [("1", "", 2), ("1", "variables", 1), ("1", "commands", 0), ("2", "variables", 0)]
)
def test_a_task_is_judged_as_each_run_has_it(gpus: str, overridden: str, count: int) -> None:
    of_all = (_fleet(each, _VLLM, _QWEN, "-tp=2", "--max-model-len=65536") for each in (gpus, "2"))
    (task,), (defined,) = (each.tasks for each in of_all)
    one = Workload(name="one", task=task, **{each: _ALL[each] for each in overridden.split()})
    fleet = fleet_of(defined, workloads=(one, Workload(name="other", task=defined, **_ALL)))
    assert [each.subject for each in (*said(all_used, fleet), *said(started_once, fleet))] == ["one", "train"][:count]
