"""What an instance type brings to a cluster, from moto's recorded DescribeInstanceTypes answers.

Not from the library's catalogue: the emulator must be able to prove that catalogue wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

__all__ = ["InstanceType", "UnknownInstanceTypeError", "instance_type"]


class UnknownInstanceTypeError(ValueError):
    """EC2 has no such instance type."""


@dataclass(frozen=True)
class InstanceType:
    """One instance type.

    Args:
        name: Its name.
        vcpus: vCPUs.
        memory_mib: Nominal memory.
        architecture: ``x86_64`` or ``arm64``.
        gpus: NVIDIA GPUs that the host sees.
        gpu_share: Part of a physical GPU that each of them is.
        gpu_memory_mib: Memory of each of them.
        neuron_devices: AWS Inferentia or Trainium devices that the host sees.
    """

    name: str
    vcpus: int
    memory_mib: int
    architecture: str = "x86_64"
    gpus: int = 0
    gpu_share: float = 1.0
    gpu_memory_mib: int = 0
    neuron_devices: int = 0

    @property
    def registered_cpu(self) -> int:
        """CPU units that its container agent registers."""
        return self.vcpus * 1024

    @property
    def registered_memory_mib(self) -> int:
        """Memory that its container agent registers.

        Always less than nominal, because the kernel and firmware keep a part
        (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html). AWS publishes no
        figures; Karpenter measured up to 5.1 % on hosts with GPUs, and an eighteenth is more.
        """
        return self.memory_mib - self.memory_mib // 18


RETIRED = {
    item.name: item
    for item in (
        InstanceType("g3s.xlarge", vcpus=4, memory_mib=61 * 512, gpus=1, gpu_memory_mib=8_192),
        InstanceType("p3.2xlarge", vcpus=8, memory_mib=61 * 1024, gpus=1, gpu_memory_mib=16_384),
        InstanceType("p3.8xlarge", vcpus=32, memory_mib=244 * 1024, gpus=4, gpu_memory_mib=16_384),
        InstanceType("p3.16xlarge", vcpus=64, memory_mib=488 * 1024, gpus=8, gpu_memory_mib=16_384),
    )
}
"""Types that accounts may still launch and moto 5.2.5's recording lacks (https://aws.amazon.com/ec2/instance-types/p3/
and g3)."""


def instance_type(name: str) -> InstanceType:
    """Look an instance type up.

    Raises:
        UnknownInstanceTypeError: There is none of this name.
    """
    if name in RETIRED:
        return RETIRED[name]
    if name not in INSTANCE_TYPES:
        raise UnknownInstanceTypeError(f"Invalid value '{name}' for InstanceType.")
    recorded: dict[str, Any] = INSTANCE_TYPES[name]
    # ECS schedules NVIDIA GPUs alone: to it, a host with AMD GPUs has none.
    gpus = [gpu for gpu in recorded.get("GpuInfo", {}).get("Gpus", []) if gpu["Manufacturer"] == "NVIDIA"]
    return InstanceType(
        name=name,
        vcpus=recorded["VCpuInfo"]["DefaultVCpus"],
        memory_mib=recorded["MemoryInfo"]["SizeInMiB"],
        architecture=recorded["ProcessorInfo"]["SupportedArchitectures"][-1],
        # A part of a GPU (g6f, gr6f) counts as no GPU at all in `Count`.
        gpus=sum(gpu["Count"] or gpu.get("LogicalGpuCount", 0) for gpu in gpus),
        gpu_share=min((gpu.get("GpuPartitionSize", 1.0) for gpu in gpus), default=1.0),
        gpu_memory_mib=min((gpu["MemoryInfo"]["SizeInMiB"] for gpu in gpus), default=0),
        neuron_devices=sum(device["Count"] for device in recorded.get("NeuronInfo", {}).get("NeuronDevices", [])),
    )
