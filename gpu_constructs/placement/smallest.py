"""One task on the smallest of some types: what it is certainly short of.

For the constructors of tasks, which know the types of their capacity and ask before anything else is known; `fit` is
the whole answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_constructs.fleet import Task
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.host import cpu_units, most_memory_mib
from gpu_constructs.placement.reasons import Resource, Shortfall

__all__ = ["shortfalls"]


def shortfalls(task: Task, instance_types: Sequence[InstanceType]) -> tuple[Shortfall, ...]:
    """Everything of which the smallest of these types has too little for the task.

    Args:
        task: What is to run; of values that are unknown at synth only what is certain counts.
        instance_types: What the host may be; the smallest one counts for each resource, because managed scaling of a
            capacity provider looks at no other.
    """
    return tuple(_shortfalls(task, instance_types))


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
