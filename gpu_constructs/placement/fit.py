"""One task on one host: everything that is short, and by how much.

A shortfall is certain: the type can never register as much. What only may not fit (memory between what a host is
expected to register and its nominal size) or cannot be known (a token) is an uncertainty, told apart by its own
function, so that nobody mistakes one for the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from gpu_constructs.fleet import Task, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.host import cpu_units, expected_memory_mib, most_memory_mib

__all__ = ["Resource", "Shortfall", "shortfalls", "uncertainties"]


class Resource(Enum):
    """What a host can be short of, with the unit that goes with it."""

    GPU = ("GPUs", "")
    GPU_MEMORY = ("memory per GPU", " MiB")
    CPU = ("CPU units", "")
    MEMORY = ("memory", " MiB")

    @property
    def label(self) -> str:
        """The words of a message."""
        return self.value[0]

    def amount(self, number: int | None) -> str:
        """A number with its unit."""
        return "an unknown amount" if number is None else f"{number}{self.value[1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A resource of which the smallest host has too little.

    Attributes:
        resource: What is short.
        asked: What the task asks for.
        available: What the host has at most; None where no source says, which never satisfies a need.
        instance_type: The smallest type, measured by this resource.
    """

    resource: Resource
    asked: int
    available: int | None
    instance_type: InstanceType

    def __str__(self) -> str:
        have = self.resource.amount(self.available)
        return f"{self.resource.label}: {self.resource.amount(self.asked)} asked, {self.instance_type} has {have}"


def shortfalls(task: Task, instance_types: Sequence[InstanceType]) -> tuple[Shortfall, ...]:
    """Everything of which the smallest of these types has too little for the task.

    Args:
        task: What is to run; of values that are unknown at synth only what is certain counts, `uncertainties` names
            them.
        instance_types: What the host may be; the smallest one counts for each resource, because managed scaling of a
            capacity provider looks at no other.
    """
    return tuple(_shortfalls(task, instance_types))


def uncertainties(task: Task, instance_types: Sequence[InstanceType]) -> tuple[str, ...]:
    """What may keep the task from fitting though nothing is certainly short, in words."""
    return tuple(_uncertainties(task, instance_types))


def _shortfalls(task: Task, instance_types: Sequence[InstanceType]) -> Iterator[Shortfall]:
    if not instance_types:
        return
    by_gpus = min(instance_types, key=lambda each: each.gpus)
    if task.least_gpus > by_gpus.gpus:
        yield Shortfall(resource=Resource.GPU, asked=task.least_gpus, available=by_gpus.gpus, instance_type=by_gpus)
    if task.gpu_memory_mib is not None:
        by_vram = min(instance_types, key=lambda each: each.gpu_memory_mib or 0)
        if task.gpu_memory_mib > (by_vram.gpu_memory_mib or 0):
            yield Shortfall(
                resource=Resource.GPU_MEMORY,
                asked=task.gpu_memory_mib,
                available=by_vram.gpu_memory_mib,
                instance_type=by_vram,
            )
    by_cpu = min(instance_types, key=cpu_units)
    if task.least_cpu > cpu_units(by_cpu):
        yield Shortfall(resource=Resource.CPU, asked=task.least_cpu, available=cpu_units(by_cpu), instance_type=by_cpu)
    by_memory = min(instance_types, key=most_memory_mib)
    if task.least_memory_mib > most_memory_mib(by_memory):
        yield Shortfall(
            resource=Resource.MEMORY,
            asked=task.least_memory_mib,
            available=most_memory_mib(by_memory),
            instance_type=by_memory,
        )


def _uncertainties(task: Task, instance_types: Sequence[InstanceType]) -> Iterator[str]:
    for label, value in (("gpus", task.gpus), ("cpu", task.cpu), ("memory_mib", task.memory_mib)):
        if isinstance(value, Unknown):
            yield f"{label} is only known at deploy time, so nobody can say before that whether a host has as much"
    if not instance_types or isinstance(task.memory_mib, Unknown):
        return
    smallest = min(instance_types, key=most_memory_mib)
    expected = expected_memory_mib(smallest)
    if expected < task.memory_mib <= most_memory_mib(smallest):
        yield (
            f"a {smallest} of nominally {smallest.memory_mib} MiB may register as little as {expected} MiB with ECS, "
            f"and more is asked for; ask for no more than {expected}"
        )
