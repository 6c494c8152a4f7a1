"""A task: what its containers ask of a host."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.fleet.unknown import Unknown, known, total

__all__ = ["Container", "Task"]


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
        interfaces: Network interfaces of the host that it takes for itself: 1 in network mode ``awsvpc``, else 0.
    """

    name: str
    containers: tuple[Container, ...] = ()
    interfaces: int = 0

    @property
    def gpus(self) -> int | Unknown:
        """Whole GPUs of all containers; one GPU serves one container."""
        return total(container.gpus for container in self.containers)

    @property
    def cpu(self) -> int | Unknown:
        """CPU units of all containers."""
        return total(container.cpu for container in self.containers)

    @property
    def memory_mib(self) -> int | Unknown:
        """Reserved memory of all containers in MiB."""
        return total(container.memory_mib for container in self.containers)

    @property
    def least_gpus(self) -> int:
        """GPUs that it certainly asks for: those that are known, and one for each number that is not."""
        return sum(known(container.gpus, otherwise=1) for container in self.containers)

    @property
    def least_cpu(self) -> int:
        """CPU units that it certainly asks for."""
        return sum(known(container.cpu) for container in self.containers)

    @property
    def least_memory_mib(self) -> int:
        """Memory in MiB that it certainly asks for."""
        return sum(known(container.memory_mib) for container in self.containers)

    @property
    def gpu_memory_mib(self) -> int | None:
        """The largest need of memory per GPU in MiB; None if no container has one."""
        return max((c.gpu_memory_mib for c in self.containers if c.gpu_memory_mib is not None), default=None)
