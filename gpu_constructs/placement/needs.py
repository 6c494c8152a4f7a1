"""What a container needs of its GPUs that ECS has no word for, against what a host's GPUs are.

ECS places by number of GPUs, so a task lands on a host that does not serve these needs as readily as on one that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from gpu_constructs.errors import GpuConstructsError, shown
from gpu_constructs.fleet import Container, GpuNeeds, Task, Unknown
from gpu_constructs.hardware import InstanceType, Vendor
from gpu_constructs.hardware.cuda import runs_on
from gpu_constructs.hardware.driver_memory import most_gpu_memory_mib
from gpu_constructs.hardware.precision import precision
from gpu_constructs.values import dataclass

# What else runs code, by the letter of what it was compiled for.
_AND = {"": " or higher", "a": " and no other", "f": " or higher of {}.x"}


class NeedKind(Enum):
    """What a container can need of its GPUs besides their number."""

    GPU_MEMORY = "memory per GPU"
    COMPUTE_CAPABILITY = "CUDA compute capability"
    PRECISION = "number format"
    NVLINK = "NVLink between its GPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetNeed:
    """A need that the GPUs of a host do not serve.

    Attributes:
        need: What is needed.
        asked: How much, in words: ``40 GiB``.
        has: What the GPUs of the host have, in words: ``22.35 GiB (L4)``.
        instance_type: What the host is.
        container: Name of the container that needs it.
    """

    need: NeedKind
    asked: str
    has: str
    instance_type: InstanceType
    container: str

    def __str__(self) -> str:
        return f"{self.need.value}: {self.asked} needed, {self.instance_type} has {self.has}"


def unmet_needs(task: Task, instance_type: InstanceType) -> tuple[UnmetNeed, ...]:
    """Needs of a task's containers that the GPUs of a host do not serve; none on a host without NVIDIA GPUs."""
    devices = instance_type.accelerators
    if devices is None or devices.vendor is not Vendor.NVIDIA:
        return ()
    return tuple(
        UnmetNeed(need=need, asked=asked, has=has, instance_type=instance_type, container=container.name)
        for container in task.containers
        if container.needs is not None
        for need, asked, has in _unmet(container, container.needs, instance_type)
    )


def _unmet(container: Container, needs: GpuNeeds, instance_type: InstanceType) -> Iterator[tuple[NeedKind, str, str]]:
    devices = instance_type.accelerators
    if devices is None:
        return
    memory = devices.memory_mib
    if needs.memory_mib is not None and needs.memory_mib > (most_gpu_memory_mib(instance_type) or memory or 0):
        has = f"{gib_of(memory)} GiB" if memory is not None else "an unknown amount"
        yield NeedKind.GPU_MEMORY, f"{_gib_asked(needs.memory_mib)} GiB", f"{has} ({devices.model})"
    capability = devices.compute_capability
    here = "an unknown one" if capability is None else f"{_dotted(capability)} ({devices.model})"
    target = needs.compute_capability
    if target is not None and not runs_on(capability or (0, 0), target, needs.compute_features):
        yield NeedKind.COMPUTE_CAPABILITY, f"{_dotted(target)}{_AND[needs.compute_features].format(target[0])}", here
    if needs.precision is not None:
        lowest = _lowest(needs.precision)
        if lowest is None:
            yield NeedKind.PRECISION, f"{shown(needs.precision)}, which is not a known number format,", here
        elif lowest > (capability or (0, 0)):
            yield (
                NeedKind.PRECISION,
                f"{needs.precision.strip().lower()}, which takes compute capability {_dotted(lowest)},",
                here,
            )
    if needs.nvlink and _has_several(container, instance_type) and not devices.has_nvlink:
        yield NeedKind.NVLINK, "NVLink", devices.interconnect or "an unknown one"


def gib_of(memory_mib: int) -> str:
    """Memory of a GPU in GiB, the unit in which it is asked for, rounded down to what may be asked."""
    return f"{memory_mib * 100 // 1024 / 100:g}"


def _gib_asked(memory_mib: int) -> str:
    """The same of what is asked, which was rounded up to whole MiB."""
    return f"{-(-(memory_mib - 1) * 100 // 1024) / 100:g}"


def _lowest(name: str) -> tuple[int, int] | None:
    try:
        return precision(name).lowest
    except GpuConstructsError:
        return None


def _has_several(container: Container, instance_type: InstanceType) -> bool:
    if container.takes_all_gpus:
        return instance_type.gpus > 1
    return not isinstance(container.gpus, Unknown) and container.gpus > 1


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"
