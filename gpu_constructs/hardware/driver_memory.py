"""How much memory the driver shows of a GPU, where that is not what EC2 reports."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.hardware.model import InstanceType

__all__ = ["most_gpu_memory_mib"]

# https://github.com/modal-labs/modal-client/pull/2797, read on 2026-11-22; A10G and L4 also in
# https://github.com/NVIDIA/DCGM/issues/232 and https://github.com/speaches-ai/speaches/pull/438, L40S of a g6e in
# https://github.com/akash-network/provider-configs/pull/95. EC2 reports 24 and 48 * 10^9 bytes of them. Of other models
# the driver shows what EC2 reports or less, such as 15,360 MiB of a T4 of 16,384.
_MORE_THAN_REPORTED: Mapping[str, int] = {"A10G": 23_028, "L4": 23_034, "L40S": 46_068}


def most_gpu_memory_mib(instance_type: InstanceType) -> int | None:
    """The most that a GPU of a type can have in MiB: as EC2 reports it, or as the driver shows it; None if unknown."""
    devices, reported = instance_type.accelerators, instance_type.gpu_memory_mib
    if devices is None or reported is None or devices.is_fractional:
        return reported
    return max(reported, _MORE_THAN_REPORTED.get(devices.model, reported))
