"""What a host brings into the cluster, and what one task's share of it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_constructs.fleet import Task
from gpu_constructs.hardware import InstanceType

__all__ = [
    "RESERVED_MEMORY_MIB",
    "FairShare",
    "cpu_units",
    "expected_memory_mib",
    "fair_share",
    "most_memory_mib",
    "tasks_per_host",
]

RESERVED_MEMORY_MIB = 256
"""``ECS_RESERVED_MEMORY`` of every host: what the agent, the SSM agent and the driver's daemons keep.

The agent subtracts it from the memory it registers
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html).
"""

_SYSTEM_SHARE_PERCENT = 7.5
"""Part of the nominal memory that firmware and kernel may keep.

No API tells it before a host runs. Karpenter's default for the same question is 7.5 %
(``vm-memory-overhead-percent``, https://karpenter.sh/docs/reference/settings/); small types come near it, large ones
keep far less, so it is used for defaults and warnings and never for an error.
"""

CPU_UNITS_PER_VCPU = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """CPU and memory that belong to a number of GPUs on the smallest host.

    Attributes:
        cpu: CPU units, 1024 to a vCPU.
        memory_mib: Memory in MiB.
    """

    cpu: int
    memory_mib: int


def most_memory_mib(instance_type: InstanceType, reserved_mib: int = RESERVED_MEMORY_MIB) -> int:
    """The most that a host of this type can register, in MiB: nominal memory less what the agent reserves.

    Args:
        instance_type: What the host is.
        reserved_mib: What its agent reserves.
    """
    return instance_type.memory_mib - reserved_mib


def expected_memory_mib(instance_type: InstanceType, reserved_mib: int = RESERVED_MEMORY_MIB) -> int:
    """What a host of this type is expected to register at least, in MiB: also less what the system may keep.

    Args:
        instance_type: What the host is.
        reserved_mib: What its agent reserves.
    """
    return int(instance_type.memory_mib * (100 - _SYSTEM_SHARE_PERCENT) / 100) - reserved_mib


def cpu_units(instance_type: InstanceType) -> int:
    """CPU units that a host of this type registers."""
    return instance_type.vcpus * CPU_UNITS_PER_VCPU


def fair_share(instance_types: Sequence[InstanceType], *, gpus: int) -> FairShare:
    """The CPU and memory that go with some GPUs, so that a host of N GPUs takes N one-GPU tasks.

    Memory is a share of what a host is expected to register, see `expected_memory_mib`.

    Args:
        instance_types: What the host may be; all of them have GPUs. The smallest share of any of them is taken.
        gpus: GPUs of the task.
    """
    return FairShare(
        cpu=min(cpu_units(each) * gpus // each.gpus for each in instance_types),
        memory_mib=min(expected_memory_mib(each) * gpus // each.gpus for each in instance_types),
    )


def tasks_per_host(task: Task, instance_types: Sequence[InstanceType]) -> int:
    """How many copies of a task the smallest of these types takes: by GPUs, CPU, expected memory and interfaces.

    One interface of a host is its own; the ENI trunking of an account is not known here and not counted
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-eni.html).

    Args:
        task: What is to run; it asks for at least one GPU.
        instance_types: What the host may be.
    """
    return min(
        available // asked
        for each in instance_types
        for asked, available in (
            (task.least_gpus, each.gpus),
            (task.least_cpu, cpu_units(each)),
            (task.least_memory_mib, expected_memory_mib(each)),
            (task.interfaces, (each.network.max_interfaces or 1) - 1),
        )
        if asked
    )
