"""How much memory the driver and CUDA show of a GPU, where that is not what EC2 reports."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.hardware.model import InstanceType

# https://github.com/modal-labs/modal-client/pull/2797, read on 2026-11-22; A10G and L4 also in
# https://github.com/NVIDIA/DCGM/issues/232 and https://github.com/speaches-ai/speaches/pull/438, L40S of a g6e in
# https://github.com/akash-network/provider-configs/pull/95. EC2 reports 24 and 48 * 10^9 bytes of them. Of other models
# the driver shows what EC2 reports or less, such as 15,360 MiB of a T4 of 16,384.
_MORE_THAN_REPORTED: Mapping[str, int] = {"A10G": 23_028, "L4": 23_034, "L40S": 46_068}


# What programs find, in MiB, by model and what EC2 reports: CUDA and error correction keep the rest. As read on
# 2026-11-22:
# https://github.com/Zheng-Chong/CatVTON/issues/133 (T4, 14.56 GiB; T4g is the same chip),
# https://github.com/meta-llama/llama/issues/918 (V100, 15.77),
# https://github.com/liucongg/ChatGLM-Finetuning/issues/73 (V100, 31.74),
# https://github.com/TianheWu/CoSeR/issues/10 (A100, 39.50),
# https://github.com/lianqi1008/Control-GIC/issues/6 (A100, 79.14),
# https://github.com/huggingface/trl/issues/2688 (H100, 79.10),
# https://github.com/huggingface/local-gemma/pull/25 (A10G, 22),
# https://github.com/ArcInstitute/evo2/issues/190 (L4, 22.03),
# https://github.com/QwenLM/Qwen3-VL/issues/2097 (L40, the chip of L40S, 44.40); of H200
# what the driver shows, as above.
_SHOWN_BY_CUDA: Mapping[tuple[str, int], int] = {
    ("T4", 16_384): 14_909,
    ("T4g", 16_384): 14_909,
    ("V100", 16_384): 16_148,
    ("V100", 32_768): 32_501,
    ("A10G", 22_888): 22_528,
    ("L4", 22_888): 22_559,
    ("L40S", 45_776): 45_465,
    ("A100", 40_960): 40_448,
    ("A100", 81_920): 81_039,
    ("H100", 81_920): 80_998,
    ("H200", 144_384): 143_771,
}


def cuda_memory_mib(instance_type: InstanceType) -> int | None:
    """Memory of each GPU in MiB that programs find: as CUDA shows it where that is known, else as EC2 reports it."""
    devices, reported = instance_type.accelerators, instance_type.gpu_memory_mib
    if devices is None or reported is None or devices.is_fractional:
        return reported
    return _SHOWN_BY_CUDA.get((devices.model, reported), reported)


def most_gpu_memory_mib(instance_type: InstanceType) -> int | None:
    """The most that a GPU of a type can have in MiB: as EC2 reports it, or as the driver shows it; None if unknown."""
    devices, reported = instance_type.accelerators, instance_type.gpu_memory_mib
    if devices is None or reported is None or devices.is_fractional:
        return reported
    return max(reported, _MORE_THAN_REPORTED.get(devices.model, reported))
