"""Which CUDA a container image has, and which drivers and GPUs a CUDA is for: tables and look-ups over them.

A driver runs programs of an older CUDA, and within one major version of a newer one. A program that is older than its
GPU may still run, compiled at its start. Facts as of 2026-11-21.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpu_constructs.facts.names import image_name
from gpu_constructs.facts.values import dataclass

CUDA_COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/"
# Letters of targets:
# https://developer.nvidia.com/blog/nvidia-blackwell-and-nvidia-cuda-12-9-introduce-family-specific-architecture-features
CUDA_OF_GPUS = "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html"

Cuda = tuple[int, int]
"""A version of CUDA as (major, minor)."""


def dotted(version: tuple[int, int]) -> str:
    """A CUDA or a compute capability as NVIDIA writes it, such as 12.8."""
    return "{}.{}".format(*version)


@dataclass(frozen=True, slots=True)
class CudaImage:
    """The CUDA of a container image.

    Attributes:
        has_kernels: Whether the image brings a framework that is compiled for GPUs, and not the toolkit alone.
        has_libraries: Whether it brings the libraries of the toolkit at least.
        is_compatible: Whether it uses its forward compatibility package by itself where the driver is older.
        has_ptx: Whether it may bring PTX, which a driver compiles for GPUs that are newer than the CUDA.
    """

    cuda: Cuda
    has_kernels: bool = True
    has_libraries: bool = True
    is_compatible: bool = False
    has_ptx: bool = True


_AWS = "public.ecr.aws/deep-learning-containers/"
_NUMBERS = r"(\d{1,4}(?:\.\d{1,4}){0,3})(?!\d)"
_VERSION = f"v?{_NUMBERS}"
_SERVER = f"server-cuda-v{_NUMBERS}"
_Since = tuple[tuple[tuple[int, ...], "Cuda | None"], ...]
"""Versions from which on the CUDA is another, the oldest first; None where no source says it."""
# Containers of NVIDIA of one month have one CUDA, which the release notes of each of them say:
# https://docs.nvidia.com/deeplearning/triton-inference-server/release-notes/,
# https://docs.nvidia.com/deeplearning/frameworks/pytorch-release-notes/ and tensorflow-release-notes/.
_NGC_TAG = rf"{_NUMBERS}(?!.*trtllm)"  # those with TensorRT-LLM stand on older releases
_NGC: _Since = (
    ((23, 7), (12, 1)),
    ((23, 8), (12, 2)),
    ((23, 11), (12, 3)),
    ((24, 3), (12, 4)),
    ((24, 6), (12, 5)),
    ((24, 8), (12, 6)),
    ((25, 1), (12, 8)),
    ((25, 4), (12, 9)),
    ((25, 8), (13, 0)),
    ((25, 12), (13, 1)),
    ((26, 3), (13, 2)),
)
_RELEASES: Mapping[str, tuple[str, _Since]] = {
    # https://github.com/vllm-project/vllm/issues/18813
    "vllm/vllm-openai": (
        _VERSION,
        (((0, 6), (12, 4)), ((0, 9), (12, 8)), ((0, 10), None), ((0, 13), (12, 9)), ((0, 20), (13, 0))),
    ),
    # docs/sglang/changelog/index.md of https://github.com/aws/deep-learning-containers
    "lmsysorg/sglang": (_VERSION, (((0, 5, 5), (12, 9)), ((0, 5, 11), (13, 0)))),
    # https://github.com/huggingface/text-generation-inference/blob/main/Dockerfile
    "ghcr.io/huggingface/text-generation-inference": (_VERSION, (((3,), (12, 4)),)),
    "nvcr.io/nvidia/tritonserver": (_NGC_TAG, _NGC),
    "nvcr.io/nvidia/pytorch": (_NGC_TAG, _NGC),
    "nvcr.io/nvidia/tensorflow": (_NGC_TAG, _NGC),
    # https://docs.nvidia.com/deeplearning/frameworks/sglang-release-notes/
    "nvcr.io/nvidia/sglang": (_VERSION, (((25, 10), (13, 0)),)),
    # docs/vllm/changelog/index.md and docs/sglang/changelog/index.md of https://github.com/aws/deep-learning-containers
    f"{_AWS}vllm": (_SERVER, (((1,), (12, 9)), ((2,), (13, 0)))),
    f"{_AWS}sglang": (_SERVER, (((1,), (13, 0)),)),
}
"""By image without its tag: what a tag looks like that says the version, and the CUDA of the versions."""

# Tags that say the CUDA itself: 12.8.1-base-ubuntu24.04 of a toolkit, 2.11.0-cuda12.8-cudnn9-runtime and
# 2.13-cu133-amzn2023 of frameworks.
_TOOLKITS = frozenset({"nvidia/cuda", "nvcr.io/nvidia/cuda"})
_PYTORCH = "pytorch/pytorch"
# PyTorch's wheels have binaries alone: "no kernel image is available". Until 2.5 pytorch/pytorch had its
# packages of conda, which bring PTX (https://github.com/pytorch/pytorch/pull/134274,
# https://github.com/pytorch/pytorch/issues/31285, https://github.com/vllm-project/vllm/issues/17901).
_FIRST_WITH_WHEELS: Mapping[str, tuple[int, int]] = {_PYTORCH: (2, 6), "vllm/vllm-openai": (0, 0)}
# AWS's images, and copies of them under their names.
_OF_AWS = (
    r"(?:public\.ecr\.aws/deep-learning-containers|[0-9]{12}\.dkr\.ecr\.[a-z0-9-]{1,40}\.amazonaws\.com(?:\.cn)?)/"
    r"(?:huggingface-|djl-)?(?:pytorch|tensorflow|inference|vllm|sglang)(?:-(?:training|inference|tgi-inference))?"
)
_LEADING = r"(\d{1,2})\.(\d{1,2})(?![0-9])"
_SUFFIX = r"(?<![a-z0-9])cu(?:da)?(\d{2})\.?(\d)(?![0-9])"

# The compute capability of the GPUs that an image of text-embeddings-inference is for: README.md and
# backends/candle/src/compute_cap.rs of https://github.com/huggingface/text-embeddings-inference.
_TEI = r"ghcr\.io/huggingface/text-embeddings-inference:(?:(turing|86|89|hopper|100|120)-|(?=\d+\.\d))"
_TEI_FOR = {"120": (12, 0), "100": (10, 0), "hopper": (9, 0), "89": (8, 9), "86": (8, 6), "": (8, 0), "turing": (7, 5)}

# NVIDIA's minor version compatibility: the first driver branch of a major version.
_FIRST_BRANCH = {11: 450, 12: 525, 13: 580}

# Maxwell, Pascal and Volta: "removed offline compilation and library support" (CUDA 13.0).
_DROPPED_IN = 13
_FIRST_OF_13 = (7, 5)
# The first CUDA that compiles for a GPU, by the first number of its compute capability: a binary runs on every later
# GPU with the same one (https://docs.nvidia.com/cuda/blackwell-compatibility-guide).
_FIRST_CUDA: Mapping[int, Cuda] = {8: (11, 0), 9: (11, 8), 10: (12, 8), 12: (12, 8)}
# The first compute capability with a target of each letter:
# https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html
_FIRST_WITH_FEATURES: Mapping[str, Cuda] = {"a": (9, 0), "f": (10, 0)}


def cuda_image(image: str) -> CudaImage | None:
    """The CUDA of a container image, as far as its name says it.

    Returns:
        None where no source says it: images of one's own, mirrors, a digest, tags such as ``latest``.
    """
    repository, tag = image_name(image)
    if repository in _TOOLKITS:
        leading = re.match(_LEADING, tag)
        if leading is None:
            return None
        has_libraries = re.search(r"-(?:runtime|devel)(?![a-z])", tag) is not None
        return CudaImage((int(leading[1]), int(leading[2])), has_kernels=False, has_libraries=has_libraries)
    releases = _RELEASES.get(repository)
    is_of_aws = re.fullmatch(_OF_AWS, repository) is not None
    suffix = re.search(_SUFFIX, tag) if releases or is_of_aws or repository == _PYTORCH else None
    cuda = (int(suffix[1]), int(suffix[2])) if suffix else None if releases is None else _of_release(*releases, tag)
    # "All ship cuda-compat", and the start script of AWS's and NVIDIA's images enables it when the driver is older.
    is_compatible = is_of_aws or repository.startswith("nvcr.io/nvidia/")
    return (
        None if cuda is None else CudaImage(cuda, is_compatible=is_compatible, has_ptx=_may_have_ptx(repository, tag))
    )


def made_for(image: str) -> tuple[Cuda, str] | None:
    """The compute capability that an image needs, and its features as of `runs_on`, as far as its name says it."""
    found = re.match(_TEI, image)
    return None if found is None else (_TEI_FOR[found[1] or ""], "f")


def tag_made_for(image: str, gpus: Iterable[Cuda]) -> str:
    """The tag of an image that needs a compute capability with which its version runs on all GPUs; empty for none."""
    found, there = re.match(_TEI, image), [*gpus]
    version = "" if found is None else image[found.end() :].partition("@")[0]
    fitting = (first for first, target in _TEI_FOR.items() if all(runs_on(each, target, "f") for each in there))
    return next((f"{first}-{version}".removeprefix("-") for first in fitting if found), "")


def first_branch(cuda: Cuda) -> int | None:
    """The first driver branch for a CUDA without its forward compatibility package; None if the table lacks it."""
    return _FIRST_BRANCH.get(cuda[0])


def is_dropped(compute_capability: tuple[int, int], cuda: Cuda) -> bool:
    """Whether a CUDA no longer compiles for a GPU, and its libraries have no code for it, whatever the driver."""
    return cuda[0] >= _DROPPED_IN and compute_capability < _FIRST_OF_13


def newer_cuda_for(compute_capability: Cuda, cuda: Cuda) -> Cuda | None:
    """The first CUDA that compiles for a GPU, where another one is older; None where that is not so, or not known."""
    first = _FIRST_CUDA.get(compute_capability[0])
    return first if first is not None and cuda < first else None


def runs_on(compute_capability: Cuda, target: Cuda, features: str = "") -> bool:
    """Whether a GPU runs code that was compiled for a compute capability.

    Args:
        compute_capability: Of the GPU, as (major, minor).
        target: What the code was compiled for, as (major, minor).
        features: The letter of the target: ``a`` for code of this architecture alone, such as ``sm_90a``; ``f`` for
            code of its family, such as ``sm_100f``; empty for code that later GPUs run as well.
    """
    if features == "a":
        return compute_capability == target
    return compute_capability >= target and (features != "f" or compute_capability[0] == target[0])


def is_target(target: Cuda, features: str = "") -> bool:
    """Whether code can be compiled for a target, a compute capability with the letter of its features."""
    return target >= _FIRST_WITH_FEATURES.get(features, target)


def _may_have_ptx(repository: str, tag: str) -> bool:
    first, version = _FIRST_WITH_WHEELS.get(repository), re.match(_LEADING, tag.removeprefix("v"))
    return first is None or version is None or (int(version[1]), int(version[2])) < first


def _of_release(form: str, since: _Since, tag: str) -> Cuda | None:
    found = re.match(form, tag)
    if found is None:
        return None
    version = tuple(int(each) for each in found[1].split("."))
    return next((cuda for first, cuda in reversed(since) if version >= first), None)
