"""What the name of a container image says of its CUDA, and what that needs."""

from __future__ import annotations

import pytest

from gpu_constructs.facts.cuda import Cuda, cuda_image, first_branch, is_dropped, newer_cuda_for


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
        ("nvcr.io/nvidia/pytorch:25.09-py3", (13, 0)),
        ("nvcr.io/nvidia/pytorch:24.12-py3", (12, 6)),
        ("nvcr.io/nvidia/pytorch:20.12-py3", None),
        ("pytorch/pytorch:2.11.0-cuda12.8-cudnn9-runtime", (12, 8)),
        ("pytorch/pytorch", None),
        ("nvidia/cuda:13.0.1-base-ubuntu24.04", (13, 0)),
        ("nvidia/cuda:latest", None),
        ("public.ecr.aws/deep-learning-containers/vllm:server-cuda-v1.4", (12, 9)),
        ("public.ecr.aws/deep-learning-containers/pytorch:2.13-cu133-amzn2023", (13, 3)),
        (
            "111122223333.dkr.ecr.eu-west-1.amazonaws.com/pytorch-training:2.1.0-gpu-py310-cu121-ubuntu20.04-ec2",
            (12, 1),
        ),
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
