"""What GPUs can do: number formats, and shares by NVIDIA MPS.

"Computes in" means that the multiply-add units take the format as it is. Older GPUs emulate some formats, converting
every value before they compute: the work runs, without the speed or the memory that the format was chosen for. Formats
of the weights alone are another matter: a kernel unpacks them and computes in 16 bits, which older GPUs do as well.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.facts.budget import NAME

_CUDA = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/ (feature support per compute capability)"
_TENSORRT = "https://docs.nvidia.com/deeplearning/tensorrt/latest/getting-started/support-matrix.html"
_VLLM = "https://docs.vllm.ai/en/v0.15.1/features/quantization/ (supported hardware, read on 2026-11-22)"
_FP8_WEIGHTS = "https://docs.vllm.ai/en/v0.32.0/features/quantization/llm_compressor/fp8/ (7.5 or higher, weight-only)"
_BLACKWELL = f"{_TENSORRT}; https://nvidia.github.io/Model-Optimizer/guides/0_support_matrix.html (FP4: Blackwell)"


class Precision(NamedTuple):
    """One number format, and the lowest CUDA compute capability that computes in it, or has kernels that unpack it."""

    name: str
    lowest: tuple[int, int]
    source: str


# As of 2026-11-21. 6.0 has no dp4a instruction, 6.1 does; half precision arithmetic starts with 5.3. INT4 is left out:
# Turing to Ada compute in it, Hopper and Blackwell do not, and libraries that speak of it mean weights only.
PRECISIONS: tuple[Precision, ...] = (
    Precision("fp64", (1, 3), _CUDA),
    Precision("fp32", (1, 0), _CUDA),
    Precision("tf32", (8, 0), _CUDA),
    Precision("fp16", (5, 3), _CUDA),
    Precision("bf16", (8, 0), _CUDA),
    Precision("int8", (6, 1), _CUDA),
    Precision("fp8", (8, 9), _TENSORRT),
    Precision("fp6", (10, 0), _CUDA),
    Precision("fp4", (10, 0), _BLACKWELL),
    # Of the rest only weights are stored, and the GPU computes in 16 bits.
    # Of several programs that unpack a format, the one that takes the oldest GPU decides.
    Precision("awq", (7, 5), _VLLM),
    Precision("bitsandbytes", (7, 0), _VLLM),
    Precision("fp8-weights", (7, 5), _FP8_WEIGHTS),
    Precision("gptq", (7, 0), _VLLM),
    Precision("mxfp4", (7, 5), "https://huggingface.co/docs/transformers/quantization/mxfp4"),
)

# Names of the same formats in PyTorch, NVIDIA's own tools and papers.
_ALIASES = {
    "bfloat16": "bf16",
    "double": "fp64",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "float": "fp32",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "float8": "fp8",
    "half": "fp16",
    "nvfp4": "fp4",
}
# 4 bits are the weights of a model alone, in a format of their own.
_MEANT = dict.fromkeys(("int4", "uint4", "w4a16", "4bit", "4-bit"), ("awq", "gptq", "bitsandbytes"))
_BY_NAME = {each.name: each for each in PRECISIONS}


def precision(name: str) -> Precision:
    """Looks a number format up: ``bf16``, or another common name of it such as ``bfloat16``; in any case.

    Raises:
        InvalidValueError: If it is not a string.
        UnknownNameError: If no format has this name; carries the nearest names.
    """
    if not isinstance(name, str):
        raise InvalidValueError(f"{shown(name)} is not a number format", value=name, allowed=", ".join(_BY_NAME))
    wanted = name.strip().lower()
    found = _BY_NAME.get(_ALIASES.get(wanted, wanted))
    if found is not None:
        return found
    nearest = _MEANT.get(wanted) or tuple(get_close_matches(wanted[:NAME], _BY_NAME, n=3, cutoff=0.6))
    raise UnknownNameError(
        f"no number format {shown(name)}", value=name, nearest=nearest, otherwise=f"one of {', '.join(_BY_NAME)}"
    )


MPS_FIRST_AGENT = "1.107.0"
"""The first ECS agent that shares GPUs (https://github.com/aws/amazon-ecs-agent/releases/tag/v1.107.0).

It offers that where ``/usr/bin/nvidia-cuda-mps-control`` is there, `SERVICE` is enabled and no GPU is a vGPU, as those
of G6f and Gr6f are (https://github.com/aws/amazon-ecs-agent, ecs-init/gpu/nvidia_gpu_manager.go, read on 2026-11-22).
"""

MPS_SERVICE = "nvidia-mps.service"

MPS_FIRST_RELEASE = "20260922"
"""Date of the first release of the Amazon Linux 2023 GPU image with ECS agent 1.107.0.

The public SSM parameter of this image reports it.
"""

MPS_LEAST_CAPABILITY = (7, 0)
"""CUDA compute capability from which MPS limits the memory and the compute of each client (Volta).

https://docs.nvidia.com/deploy/mps/introduction.html
"""

NEED_OVERCOMMIT = frozenset({"g6f.large"})
"""Types that run tasks with GPUs on the Amazon Linux 2023 GPU image only with ``vm.overcommit_memory=1``.

README of https://github.com/aws/amazon-ecs-ami, since https://github.com/aws/amazon-ecs-ami/pull/580.
"""
