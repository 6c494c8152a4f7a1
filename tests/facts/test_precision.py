"""Number formats and the GPUs that compute in them; what the name of a container image says of its CUDA."""

from __future__ import annotations

import pytest

from gpu_constructs.errors import InvalidValueError, UnknownNameError
from gpu_constructs.facts import accelerated
from gpu_constructs.facts.cuda import Cuda, cuda_image, first_branch, is_dropped, newer_cuda_for
from gpu_constructs.facts.gpu_features import PRECISIONS, precision
from gpu_constructs.facts.servers import is_large

# The first GPU of EC2 that has each, by NVIDIA's architecture whitepapers.
FIRST = {"tf32": "A100", "bf16": "A100", "fp8": "L4", "fp4": "B200", "int8": "V100", "mxfp4": "T4", "gptq": "V100"}
BEFORE = {"tf32": "T4", "bf16": "T4", "fp8": "A10G", "fp4": "H100", "int8": "M60", "mxfp4": "V100", "gptq": "M60"}


def capability(model: str) -> tuple[int, int]:
    return next(
        each.accelerators.compute_capability
        for each in accelerated()
        if each.accelerators and each.accelerators.model == model and each.accelerators.compute_capability
    )


@pytest.mark.parametrize("name", sorted(FIRST))
def test_the_first_gpu_that_has_a_format_has_it_and_the_one_before_does_not(name: str) -> None:
    assert capability(BEFORE[name]) < precision(name).lowest <= capability(FIRST[name])


@pytest.mark.parametrize(
    ("alias", "name"),
    [("BF16", "bf16"), (" fp8 ", "fp8"), ("bfloat16", "bf16"), ("e4m3", "fp8"), ("nvfp4", "fp4"), ("half", "fp16")],
)
def test_other_names_of_a_format_mean_the_same(alias: str, name: str) -> None:
    assert precision(alias).name == name


@pytest.mark.parametrize("name", ["fp3", "", "x" * 10_000])
def test_an_unknown_format_is_refused_in_few_words(name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        precision(name)
    assert len(str(caught.value)) < 250
    assert "bf16" in str(caught.value)


def test_what_is_no_text_is_refused_with_the_formats() -> None:
    with pytest.raises(InvalidValueError, match="bf16"):
        precision(8)  # type: ignore[arg-type]


def test_weights_alone_may_be_in_a_format_that_the_gpu_does_not_compute_in() -> None:
    for weights, native in (("mxfp4", "fp4"), ("fp8-weights", "fp8")):
        assert precision(weights).lowest < capability("A10G") < precision(native).lowest


def test_every_format_is_listed_once_with_a_source() -> None:
    assert len({each.name for each in PRECISIONS}) == len(PRECISIONS)
    assert all("https://" in each.source for each in PRECISIONS)


def test_images_of_servers_and_of_cuda_with_its_libraries_are_large() -> None:
    large = "vllm/vllm-openai@sha256:0123", "nvidia/cuda:12.8.1-cudnn-devel-ubuntu24.04", "pytorch/pytorch"
    small = "nvidia/cuda:12.8.1-base-ubuntu24.04", "nvidia/cuda@sha256:0123", "python:3.12"
    assert [each for each in (*large, *small) if is_large(each)] == [*large]


@pytest.mark.parametrize(
    ("image", "cuda"),
    [
        ("vllm/vllm-openai:v0.27.1", (13, 0)),
        ("docker.io/vllm/vllm-openai:v0.9.0", (12, 8)),
        ("vllm/vllm-openai:v0.28.0-cu129", (12, 9)),
        ("vllm/vllm-openai:v0.11.0", None),
        ("vllm/vllm-openai:v0.3", None),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai@sha256:0123", None),
        ("lmsysorg/sglang:v0.5.10", (12, 9)),
        ("lmsysorg/sglang:v0.5.12.post1", (13, 0)),
        ("lmsysorg/sglang:v0.5.6.post2-cu130", (13, 0)),
        ("ghcr.io/huggingface/text-generation-inference:3.3.7", (12, 4)),
        ("nvcr.io/nvidia/tritonserver:25.03-py3", (12, 8)),
        ("nvcr.io/nvidia/tritonserver:25.09-trtllm-python-py3", None),
        ("nvcr.io/nvidia/pytorch:24.12-py3", (12, 6)),
        ("nvcr.io/nvidia/pytorch:20.12-py3", None),
        ("pytorch/pytorch:2.11.0-cuda12.8-cudnn9-runtime", (12, 8)),
        ("nvidia/cuda:13.0.1-base-ubuntu24.04", (13, 0)),
        ("nvidia/cuda:latest", None),
        ("public.ecr.aws/deep-learning-containers/vllm:server-cuda-v1.4", (12, 9)),
        ("public.ecr.aws/deep-learning-containers/pytorch:2.13-cu133-amzn2023", (13, 3)),
        ("111122223333.dkr.ecr.eu-west-1.amazonaws.com/djl-inference:0.33.0-lmi15.0.0-cu128", (12, 8)),
        ("111122223333.dkr.ecr.eu-west-1.amazonaws.com/mine:cu130", None),
        ("registry.example.com/mine:cu130", None),
        ("", None),
        ("vllm/vllm-openai:v" + "9" * 9999, None),
    ],
)
def test_a_name_says_its_cuda_or_nothing(image: str, cuda: Cuda | None) -> None:
    found = cuda_image(image)
    assert (found and found.cuda) == cuda


def test_the_toolkit_alone_brings_no_program() -> None:
    toolkit, framework = cuda_image("nvidia/cuda:13.0.1-base"), cuda_image("pytorch/pytorch:2.11.0-cuda13.0-runtime")
    assert toolkit is not None
    assert framework is not None
    assert not toolkit.has_kernels
    assert framework.has_kernels


def test_a_driver_runs_a_major_version_and_volta_ended_with_cuda_12() -> None:
    assert [first_branch((major, 0)) for major in (11, 12, 13, 14)] == [450, 525, 580, None]
    assert [is_dropped((7, 0), cuda) for cuda in ((12, 9), (13, 0), (14, 1))] == [False, True, True]
    assert not is_dropped((7, 5), (13, 3))


@pytest.mark.parametrize(
    ("gpu", "cuda", "first"),
    [
        ((10, 0), (12, 6), (12, 8)),
        ((10, 3), (12, 8), None),  # a binary for 10.0 runs on it
        ((12, 0), (12, 1), (12, 8)),
        ((9, 0), (11, 7), (11, 8)),
        ((8, 9), (11, 1), None),
        ((7, 5), (10, 0), None),
        ((13, 0), (12, 8), None),
    ],
)
def test_a_cuda_is_older_than_some_gpus(gpu: Cuda, cuda: Cuda, first: Cuda | None) -> None:
    assert newer_cuda_for(gpu, cuda) == first
