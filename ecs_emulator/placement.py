"""The scheduler: on which host of a cluster a task runs and which GPUs its containers get, or why none takes it.

Pure functions over frozen values, written from the ECS documentation. It knows nothing of moto, of CloudFormation or
of the library under test, which makes it an oracle for all three.

- A container gets whole GPUs and no two containers share one
  (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html), unless all of a task's GPU containers ask
  for memory of a GPU to share: then they get the same one, which other such tasks share, by memory alone
  (botocore's model of ``sharingStrategy``, agent 1.107.0). A GPU is dedicated or shared, never both.
- A container that asks for Neuron devices gets all of the host, and one such task runs on it
  (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html).
- Every host that refuses a task is named with one reason, in the words of
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html; the page shows
  ``RESOURCE:CPU`` and ``RESOURCE:MEMORY``, ``RESOURCE:GPU`` follows their pattern.
- A ``memberOf`` constraint that fails has a reason of its own, not ``ATTRIBUTE``
  (https://github.com/aws/amazon-ecs-agent/pull/3044).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from . import expressions

__all__ = ["ALL", "MPS", "Demand", "Failure", "GpuDemand", "Host", "Placement", "SharedGpu", "place", "reason_against"]

ALL: Literal["ALL"] = "ALL"
MPS = "ecs.capability.gpu-sharing-mps"
"""Attribute of the hosts whose agent shares GPUs."""

CONSTRAINT = "MemberOf placement constraint unsatisfied."
DISTINCT = "DistinctInstance placement constraint unsatisfied."
ATTRIBUTE = "ATTRIBUTE"
GPU = "RESOURCE:GPU"
NEURON = "RESOURCE:NEURON_DEVICE"
CPU = "RESOURCE:CPU"
MEMORY = "RESOURCE:MEMORY"
PORTS = "RESOURCE:PORTS"


@dataclass(frozen=True)
class GpuDemand:
    """What one container asks of the GPUs.

    Args:
        container: The container's name.
        count: Whole GPUs, a fraction below one for a host that holds part of a GPU, or `ALL` that the host has.
    """

    container: str
    count: float | Literal["ALL"]


@dataclass(frozen=True)
class SharedGpu:
    """What one container asks of a GPU that it shares.

    Args:
        container: The container's name.
        memory_mib: Memory of the GPU.
    """

    container: str
    memory_mib: int


@dataclass(frozen=True)
class Demand:
    """What one task takes from a host.

    Args:
        cpu: CPU units, 1024 per vCPU.
        memory: MiB.
        gpus: One entry per container that asks for GPUs.
        shared_gpu: One entry per container that asks for a part of the GPU that the task shares.
        neuron: Name of the container that asks for all Neuron devices.
        ports: Host ports.
        constraints: ``memberOf`` expressions that must all hold.
        apart: The group of which no task may be on the host, for a constraint ``distinctInstance``.
        attributes: Attributes that the host must have with exactly this value.
    """

    cpu: int = 0
    memory: int = 0
    gpus: tuple[GpuDemand, ...] = ()
    shared_gpu: tuple[SharedGpu, ...] = ()
    neuron: str | None = None
    ports: frozenset[int] = frozenset()
    constraints: tuple[str, ...] = ()
    apart: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def shared_mib(self) -> int:
        """Memory that the task takes from the GPU that it shares."""
        return sum(part.memory_mib for part in self.shared_gpu)


@dataclass(frozen=True)
class Host:
    """One container instance and what is left of it.

    Args:
        arn: The container instance.
        subjects: What expressions ask about it.
        cpu: CPU units left.
        memory: MiB left.
        gpus: Ids of the GPUs no container has.
        shared: Id of each GPU that tasks share, to the MiB left of it.
        gpu_memory_mib: Memory of each GPU.
        neuron: Neuron devices left.
        gpu_total: How many GPUs it has in all.
        gpu_share: Part of a physical GPU that each of them is; below one on g6f and gr6f.
        ports: Host ports in use.
    """

    arn: str
    subjects: expressions.Subjects
    cpu: int
    memory: int
    gpus: tuple[str, ...] = ()
    shared: Mapping[str, int] = field(default_factory=dict)
    gpu_memory_mib: int = 0
    neuron: int = 0
    gpu_total: int = 0
    gpu_share: float = 1.0
    ports: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Placement:
    """Where a task goes.

    Args:
        host: The host, with what the task leaves of it.
        gpus: Container name to the ids of its GPUs.
    """

    host: Host
    gpus: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Failure:
    """Why one host does not take a task."""

    arn: str
    reason: str


def place(demand: Demand, hosts: Sequence[Host]) -> Placement | tuple[Failure, ...]:
    """Put one task on the first host that takes it.

    Args:
        demand: What the task needs.
        hosts: The candidates: those of one capacity provider, or of the whole cluster.

    Returns:
        The placement, or one failure per host, in their order; empty when there are no hosts.
    """
    failures = []
    for host in hosts:
        reason = reason_against(demand, host)
        if reason is None:
            return _taken(demand, host)
        failures.append(Failure(host.arn, reason))
    return tuple(failures)


def reason_against(demand: Demand, host: Host) -> str | None:
    """Say why this host does not take the task, or None where it does."""
    return next((reason for reason, accepts in _CHECKS if not accepts(demand, host)), None)


def _has_attributes(demand: Demand, host: Host) -> bool:
    if demand.shared_gpu and MPS not in host.subjects.attributes:
        return False
    return all(host.subjects.attributes.get(name) == value for name, value in demand.attributes.items())


def _meets_constraints(demand: Demand, host: Host) -> bool:
    return all(expressions.parse(constraint)(host.subjects) for constraint in demand.constraints)


def _shared_gpu(demand: Demand, host: Host) -> str | None:
    """The GPU that the task would share: one that is shared already, else one that nobody has."""
    used = (gpu for gpu, left in host.shared.items() if demand.shared_mib <= left)
    return next(used, None) or (host.gpus[0] if host.gpus and demand.shared_mib <= host.gpu_memory_mib else None)


def _gpus_suffice(demand: Demand, host: Host) -> bool:
    if demand.shared_gpu:
        return _shared_gpu(demand, host) is not None
    for wanted in demand.gpus:
        if wanted.count == ALL:
            if not host.gpus or len(host.gpus) < host.gpu_total or len(demand.gpus) > 1:
                return False
        elif wanted.count < 1 and not wanted.count <= host.gpu_share < 1:
            return False
    return sum(_devices(wanted, host) for wanted in demand.gpus) <= len(host.gpus)


def _devices(wanted: GpuDemand, host: Host) -> int:
    """How many of the host's GPU ids the container takes; a fraction takes the one partition it fits."""
    if wanted.count == ALL:
        return host.gpu_total
    return max(1, int(wanted.count))


def _taken(demand: Demand, host: Host) -> Placement:
    given: dict[str, tuple[str, ...]] = {}
    free, shared = host.gpus, dict(host.shared)
    if demand.shared_gpu:
        gpu = str(_shared_gpu(demand, host))
        shared[gpu] = shared.get(gpu, host.gpu_memory_mib) - demand.shared_mib
        free = tuple(item for item in free if item != gpu)
        given = {part.container: (gpu,) for part in demand.shared_gpu}
    for wanted in demand.gpus:
        count = _devices(wanted, host)
        given[wanted.container], free = free[:count], free[count:]
    left = replace(
        host,
        cpu=host.cpu - demand.cpu,
        memory=host.memory - demand.memory,
        gpus=free,
        shared=shared,
        neuron=0 if demand.neuron else host.neuron,
        ports=host.ports | demand.ports,
    )
    return Placement(host=left, gpus=given)


_CHECKS: tuple[tuple[str, Callable[[Demand, Host], bool]], ...] = (
    (ATTRIBUTE, _has_attributes),
    (CONSTRAINT, _meets_constraints),
    (DISTINCT, lambda demand, host: demand.apart is None or demand.apart not in host.subjects.task_groups),
    (GPU, _gpus_suffice),
    (NEURON, lambda demand, host: demand.neuron is None or host.neuron > 0),
    (CPU, lambda demand, host: demand.cpu <= host.cpu),
    (MEMORY, lambda demand, host: demand.memory <= host.memory),
    (PORTS, lambda demand, host: not demand.ports & host.ports),
)
"""What a host is asked, in order; the first that does not hold is the reason."""
