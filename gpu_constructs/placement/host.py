"""What a host brings into the cluster, and what one task's share of it is."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from gpu_constructs.hardware import InstanceType
from gpu_constructs.hardware.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.values import dataclass

ASSUMED_RESERVE_MIB = 256
"""Memory that is taken for kept by the agent, the SSM agent and the driver's daemons where nothing says how much.

The agent subtracts ``ECS_RESERVED_MEMORY`` from the memory it registers
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html).
"""

_SYSTEM_SHARE_PERCENT = 7.5
"""Part of the nominal memory that firmware and kernel may keep.

No API shows it before a host runs. Karpenter's default for the same question is 7.5 %
(``vm-memory-overhead-percent``, https://karpenter.sh/docs/reference/settings/); small types come near it, large ones
keep far less, so it is used for defaults and warnings and never for an error.
"""

_SHARED_MARGIN_PERCENT = 8
"""Part of a GPU's nominal memory that may not be there to share.

What ECS counts is ``totalMemoryInMiB`` of a running host
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_GpuDevice.html), which no API shows before. The driver
keeps some, and error correction on GDDR memory takes one sixteenth: a T4 of 16384 MiB shows 15360. A heuristic for
doubts, never for a refusal.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """CPU and memory, such as what belongs to a number of GPUs on the smallest host.

    Attributes:
        cpu: CPU units, 1024 to a vCPU.
        memory_mib: Memory in MiB.
    """

    cpu: int = 0
    memory_mib: int = 0


NOTHING_KEPT = FairShare()
"""What daemons keep of a host that has none."""


def most_memory_mib(instance_type: InstanceType, reserved_mib: int = ASSUMED_RESERVE_MIB) -> int:
    """The most that a host of this type can register, in MiB: less than nominal, and less what the agent reserves.

    Firmware and the kernel keep some of it on every host
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html).
    """
    return instance_type.memory_mib - 1 - reserved_mib


def expected_memory_mib(instance_type: InstanceType, reserved_mib: int = ASSUMED_RESERVE_MIB) -> int:
    """What a host of this type is expected to register at least, in MiB: also less what the system may keep."""
    return int(instance_type.memory_mib * (100 - _SYSTEM_SHARE_PERCENT) / 100) - reserved_mib


def expected_shareable_mib(gpu_memory_mib: int) -> int:
    """What one GPU is expected to have at least for containers that share it through MPS, in MiB."""
    return gpu_memory_mib * (100 - _SHARED_MARGIN_PERCENT) // 100


def cpu_units(instance_type: InstanceType) -> int:
    """CPU units that a host of this type registers."""
    return instance_type.vcpus * CPU_UNITS_PER_VCPU


def share_of(parts: Mapping[InstanceType, Fraction], kept: FairShare = NOTHING_KEPT) -> FairShare:
    """The CPU and memory that go with a part of a host; the smallest of them.

    Memory is a part of what a host is expected to register, see `expected_memory_mib`.

    Args:
        parts: The part of each type.
        kept: What daemons keep of every host, before it is shared.
    """
    return FairShare(
        cpu=min(int((cpu_units(each) - kept.cpu) * part) for each, part in parts.items()),
        memory_mib=min(int((expected_memory_mib(each) - kept.memory_mib) * part) for each, part in parts.items()),
    )
