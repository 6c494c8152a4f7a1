"""The scheduler: on which host of a cluster a task runs and which GPUs its containers get, or why none takes it.

Pure functions over frozen values, written from the ECS documentation. It knows nothing of moto, of CloudFormation or
of the library under test, which makes it an oracle for all three.

- A container gets whole GPUs and no two containers share one
  (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html).
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

__all__ = ["ALL", "Demand", "Failure", "GpuDemand", "Host", "Placement", "place", "reason_against"]

ALL: Literal["ALL"] = "ALL"

CONSTRAINT = "MemberOf placement constraint unsatisfied."
ATTRIBUTE = "ATTRIBUTE"
GPU = "RESOURCE:GPU"
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
class Demand:
    """What one task takes from a host.

    Args:
        cpu: CPU units, 1024 per vCPU.
        memory: MiB.
        gpus: One entry per container that asks for GPUs.
        ports: Host ports.
        constraints: ``memberOf`` expressions that must all hold.
        attributes: Attributes that the host must have with exactly this value.
    """

    cpu: int = 0
    memory: int = 0
    gpus: tuple[GpuDemand, ...] = ()
    ports: frozenset[int] = frozenset()
    constraints: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Host:
    """One container instance and what is left of it.

    Args:
        arn: The container instance.
        subjects: What expressions ask about it.
        cpu: CPU units left.
        memory: MiB left.
        gpus: Ids of the GPUs no container has.
        gpu_total: How many GPUs it has in all.
        gpu_share: Part of a physical GPU that each of them is; below one on g6f and gr6f.
        ports: Host ports in use.
    """

    arn: str
    subjects: expressions.Subjects
    cpu: int
    memory: int
    gpus: tuple[str, ...] = ()
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
    return all(host.subjects.attributes.get(name) == value for name, value in demand.attributes.items())


def _meets_constraints(demand: Demand, host: Host) -> bool:
    return all(expressions.parse(constraint)(host.subjects) for constraint in demand.constraints)


def _gpus_suffice(demand: Demand, host: Host) -> bool:
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
    free, given = host.gpus, {}
    for wanted in demand.gpus:
        count = _devices(wanted, host)
        given[wanted.container], free = free[:count], free[count:]
    left = replace(
        host,
        cpu=host.cpu - demand.cpu,
        memory=host.memory - demand.memory,
        gpus=free,
        ports=host.ports | demand.ports,
    )
    return Placement(host=left, gpus=given)


_CHECKS: tuple[tuple[str, Callable[[Demand, Host], bool]], ...] = (
    (ATTRIBUTE, _has_attributes),
    (CONSTRAINT, _meets_constraints),
    (GPU, _gpus_suffice),
    (CPU, lambda demand, host: demand.cpu <= host.cpu),
    (MEMORY, lambda demand, host: demand.memory <= host.memory),
    (PORTS, lambda demand, host: not demand.ports & host.ports),
)
"""What a host is asked, in order; the first that does not hold is the reason."""
