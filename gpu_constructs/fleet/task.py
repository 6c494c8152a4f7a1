"""A task: what its containers ask of a host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["UNKNOWN", "Container", "Task", "Unknown"]


class Unknown(Enum):
    """A value that only exists at deploy time, such as a CloudFormation parameter: it is never taken for a fit."""

    UNKNOWN = "unknown at synth"

    def __str__(self) -> str:
        return self.value


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of a task definition.

    Attributes:
        name: Its name.
        gpus: Whole NVIDIA GPUs that ECS reserves for it alone.
        gpu_memory_mib: Memory that each of its GPUs must have, in MiB; None asks for nothing.
        cpu: CPU units, 1024 to a vCPU; 0 asks for nothing.
        memory_mib: Memory in MiB that ECS reserves on the host.
    """

    name: str
    gpus: int | Unknown = 0
    gpu_memory_mib: int | None = None
    cpu: int | Unknown = 0
    memory_mib: int | Unknown = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task definition: containers that run together on one host.

    Attributes:
        name: How the user calls it; the construct id.
        containers: In the order in which they were added.
    """

    name: str
    containers: tuple[Container, ...] = ()

    @property
    def gpus(self) -> int | Unknown:
        """Whole GPUs of all containers; one GPU serves one container."""
        return _total(tuple(container.gpus for container in self.containers))

    @property
    def cpu(self) -> int | Unknown:
        """CPU units of all containers."""
        return _total(tuple(container.cpu for container in self.containers))

    @property
    def memory_mib(self) -> int | Unknown:
        """Reserved memory of all containers in MiB."""
        return _total(tuple(container.memory_mib for container in self.containers))

    @property
    def least_gpus(self) -> int:
        """GPUs that it certainly asks for: those that are known, and one for each number that is not."""
        return sum(1 if isinstance(container.gpus, Unknown) else container.gpus for container in self.containers)

    @property
    def least_cpu(self) -> int:
        """CPU units that it certainly asks for."""
        return sum(0 if isinstance(container.cpu, Unknown) else container.cpu for container in self.containers)

    @property
    def least_memory_mib(self) -> int:
        """Memory in MiB that it certainly asks for."""
        return sum(0 if isinstance(each.memory_mib, Unknown) else each.memory_mib for each in self.containers)

    @property
    def gpu_memory_mib(self) -> int | None:
        """The largest need of memory per GPU in MiB; None if no container has one."""
        return max((c.gpu_memory_mib for c in self.containers if c.gpu_memory_mib is not None), default=None)


def _total(values: tuple[int | Unknown, ...]) -> int | Unknown:
    known = [value for value in values if not isinstance(value, Unknown)]
    return sum(known) if len(known) == len(values) else UNKNOWN
