"""The hosts that a task may get, and the CPU and memory of them that go with what it asks of their accelerators."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import Pool, PoolKind, Task, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement import (
    NOTHING_KEPT,
    Demand,
    FairShare,
    demand_of,
    share_of,
)
from gpu_constructs.placement.fit import refusals

_LARGEST_DEFAULT_SHARED_MEMORY_MIB = 65536  # it counts as the container's memory as it is used
_FITTING = frozenset({PoolKind.BATCH, PoolKind.MANAGED_INSTANCES})


def types_for(task: Task, pool: Pool) -> tuple[InstanceType, ...]:
    """The types that must have room for a task, as far as a constructor can tell.

    Of an Auto Scaling group all of them, because managed scaling looks at the smallest. ECS Managed Instances and AWS
    Batch launch one that the task fits on
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ManagedInstances.html,
    https://docs.aws.amazon.com/batch/latest/userguide/allocation-strategies.html), so those on which it does; the
    largest where it fits on none.
    """
    types = pool.instance_types
    if pool.kind not in _FITTING or not types:
        return types
    fitting = tuple(each for each in types if not refusals(task, each, pool))
    return fitting or (max(types, key=lambda each: (each.gpus, each.memory_mib)),)


def share_of_host(
    task: Task, pools: Sequence[Pool], *, least_memory_mib: int, kept: FairShare = NOTHING_KEPT
) -> FairShare:
    """What is left for the newest container of the share that goes with the accelerators of the whole task.

    So that CPU and memory never keep out a task for which the accelerators have room: of a host with N GPUs each GPU
    brings an Nth; a share of a GPU brings its part of that GPU's nominal memory; ``ALL`` and the one part of a GPU on a
    fractional host bring all of it. So do Neuron devices, however few: ECS does not count those that are given by path,
    and would place a second task on the same ones. The smallest share of any type counts.

    Args:
        task: The task with its newest container, whose CPU and memory are still 0.
        pools: Where it may run.
        least_memory_mib: The least that a container can have.
        kept: What daemons keep of every host, before it is shared.

    Raises:
        InvalidValueError: The share is not known before the deploy, or the other containers take all of it.
    """
    demand = demand_of(task)
    types = [each for pool in pools for each in types_for(task, pool)]
    parts = {each: _part(task, demand, each) for each in types}
    known = {each: part for each, part in parts.items() if part is not None}
    cpu, memory = task.cpu, task.memory_mib
    silent = dict.fromkeys(each.name for each in types if each.declared and each.gpu_memory_mib is None)
    if task.shares_gpu and silent:
        raise InvalidValueError(
            f"the share of a host follows the share of a GPU, and it is not known how much memory a GPU of "
            f"{', '.join(silent)} has",
            argument="gpus",
            fix=f"state gpu_memory_mib in the declaration of {', '.join(silent)}",
        )
    if (
        not known
        or len(known) < len(parts)
        or not all(pool.types_are_known for pool in pools)
        or isinstance(cpu, Unknown)
        or isinstance(memory, Unknown)
    ):
        raise InvalidValueError(
            "the share of a host cannot be computed from values that are only known at deploy time",
            argument="cpu and memory_mib",
            fix="give both cpu and memory_mib",
        )
    whole = share_of(known, kept)
    left = FairShare(cpu=whole.cpu - cpu, memory_mib=whole.memory_mib - memory)
    if left.cpu < 0 or left.memory_mib < least_memory_mib:
        raise InvalidValueError(
            f"{max(left.cpu, 0)} CPU units and {max(left.memory_mib, 0)} MiB are left of the share of a host that goes "
            f"with {_in_words(task, demand)}",
            argument="cpu and memory_mib",
            fix="give both cpu and memory_mib, or ask for less in the other containers",
        )
    return left


def _part(task: Task, demand: Demand, instance_type: InstanceType) -> Fraction | None:
    """The part of a host that goes with the accelerators; None where that is not known."""
    if demand.all_gpus or demand.part or demand.neuron or demand.neuron_devices:
        return Fraction(1)
    if demand.unknown:
        return None
    if demand.shared_memory_mib is not None:
        memory = instance_type.gpu_memory_mib
        return None if memory is None else Fraction(demand.shared_memory_mib, memory * instance_type.gpus)
    return Fraction(task.least_gpus, instance_type.gpus)


def _in_words(task: Task, demand: Demand) -> str:
    if demand.neuron or demand.neuron_devices:
        return "its Neuron devices"
    if demand.all_gpus:
        return "all GPUs"
    if demand.shared_memory_mib is not None:
        return f"{demand.shared_memory_mib} MiB of one GPU"
    return f"{demand.part:g} of a GPU" if demand.part else f"{task.least_gpus} GPUs"


def default_shared_memory_mib(memory_mib: int | Unknown) -> int:
    """Size of ``/dev/shm`` in MiB where none is given: half of the container's memory, 64 GiB at most."""
    largest = _LARGEST_DEFAULT_SHARED_MEMORY_MIB
    return largest if isinstance(memory_mib, Unknown) else max(1, min(memory_mib // 2, largest))
