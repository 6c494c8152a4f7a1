"""Model servers use the GPUs of their container, where they are told to, and are told of no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Unknown
from gpu_constructs.rules.tasks.images import all_used
from tests.rules.given import container, fleet_of, gpu, only, said, task_of

_VLLM = "vllm/vllm-openai:v0.27.1"
_TGI = "ghcr.io/huggingface/text-generation-inference:3.3.7"
_MODEL = ("--model", "qwen")


def _fleet(gpus: str | Unknown, image: str, *command: str | Unknown, entry_point: tuple[str, ...] = ()) -> Fleet:
    return fleet_of(task_of(replace(container(gpu(gpus)), image=image, command=command, entry_point=entry_point)))


def _with_variable(shards: str | Unknown) -> Fleet:
    one = replace(container(gpu("2")), image=_TGI, environment=(("NUM_SHARD", shards),))
    return fleet_of(task_of(one))


@pytest.mark.parametrize(
    ("fleet", "words"),
    [
        (_fleet("4", _VLLM, *_MODEL), "uses one of its 4 GPUs"),
        (_fleet("2", "ghcr.io/ai-dock/comfyui:v2"), "uses 1 of its 2 GPUs, unless a workflow"),
        (_fleet("4", _VLLM, "vllm serve qwen -tp 8", entry_point=("sh", "-c")), "is told to use 8 GPUs and has 4"),
    ],
)
def test_gpus_that_are_not_used_and_gpus_that_are_not_there_are_said(fleet: Fleet, words: str) -> None:
    assert words in only(all_used, fleet).message


@pytest.mark.parametrize(
    "fleet",
    [
        _fleet("4", _VLLM, *_MODEL, "--tensor-parallel-size", UNKNOWN),
        _fleet("4", _VLLM, *_MODEL, "$ARGUMENTS"),
        _fleet("8", _VLLM, *_MODEL, "--tensor-parallel-size", "16", "--distributed-executor-backend", "ray"),
        _fleet("4", _VLLM, *_MODEL, entry_point=("start.sh",)),
        _fleet("4", _VLLM, "start.sh --tensor-parallel-size 8", entry_point=("sh", "-c")),
        _with_variable("2"),
        _fleet(UNKNOWN, _VLLM, *_MODEL),
        _fleet("4", "ghcr.io/huggingface/text-generation-inference:3.3.7", "--model-id", "qwen"),
        _fleet("1", "ghcr.io/ai-dock/comfyui:v2"),
    ],
)
def test_what_may_be_meant_is_not(fleet: Fleet) -> None:
    assert not said(all_used, fleet)
