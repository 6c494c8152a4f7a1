"""Whether a task has room on the hosts that it may get, and what to do where it has none."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_constructs.errors import DoesNotFitError, IncompatibleError
from gpu_constructs.fleet import Pool, PoolKind, Task
from gpu_constructs.placement import (
    ObstacleKind,
    Resource,
    Shortfall,
    alternatives,
    expected_memory_mib,
)
from gpu_constructs.placement.fit import refusals, smallest
from gpu_constructs.placement.host import expected_shareable_mib
from gpu_constructs.placement.reasons import Obstacle
from gpu_constructs.tasks.host_share import types_for

__all__ = ["require_fit"]

_ARGUMENT = {
    Resource.GPU: "gpus",
    Resource.GPU_MEMORY: "gpu_memory_gib",
    Resource.SHARED_GPU_MEMORY: "gpus",
    Resource.NEURON_DEVICES: "devices",
    Resource.CPU: "cpu",
    Resource.MEMORY: "memory_mib",
    Resource.INTERFACES: "network_mode",
}

_ACCELERATORS = frozenset({Resource.GPU, Resource.SHARED_GPU_MEMORY, Resource.NEURON_DEVICES})
_OF_NEURON = {ObstacleKind.NEURON, ObstacleKind.LAUNCHER}


def require_fit(task: Task, pools: Sequence[Pool]) -> None:
    """Refuses a task that a host of a pool is certain not to run.

    Args:
        task: What is to run.
        pools: Where it may run.

    Raises:
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
        IncompatibleError: Its accelerators are of another kind.
    """
    for pool in pools:
        found = [each for host in types_for(task, pool) for each in refusals(task, host, pool)]
        short = sorted(smallest(each for each in found if isinstance(each, Shortfall)), key=_accelerators_first)
        if short:
            which = "largest" if pool.kind is PoolKind.MANAGED_INSTANCES else "smallest"
            raise DoesNotFitError(
                f"the {which} host of {pool.name} is too small for {task.name}: {'; '.join(map(str, short))}",
                argument=_ARGUMENT[short[0].resource],
                value=short[0].asked,
                allowed=f"up to {short[0].resource.amount(short[0].available)}",
                fix=_fix(task, short[0], pool),
            )
        for obstacle in found:
            if isinstance(obstacle, Obstacle):
                raise IncompatibleError(
                    f"{task.name} cannot run on {pool.name}: {obstacle}",
                    argument="devices" if obstacle.kind in _OF_NEURON else "gpus",
                    value=obstacle.instance_types[0].name,
                    fix=_instead(task, pool),
                )


def _instead(task: Task, pool: Pool) -> str:
    types = alternatives(task, like=pool)
    other = f"capacity of a type such as {types[0]}" if types else "capacity of another type"
    part = pool.shape.partition if pool.shape else 1
    return f"gpus={part:g}, the part that its hosts have, or {other}" if part < 1 else f"whole GPUs, or {other}"


def _fix(task: Task, short: Shortfall, pool: Pool) -> str:
    types = alternatives(task, like=pool)
    larger = f"capacity of a larger type, such as {types[0]}" if types else "no instance type has as much: ask for less"
    available = short.available or 0
    match short.resource:
        case Resource.GPU_MEMORY:
            return f"{larger}, or gpu_memory_gib no higher than {available * 100 // 1024 / 100:g}"
        case Resource.SHARED_GPU_MEMORY:
            # What ECS counts on a running host is less than the nominal memory.
            return f"{larger}, or shares of {expected_shareable_mib(available)} MiB at most, all containers together"
        case Resource.MEMORY:
            # What the host may have at most is not what it will register.
            available = expected_memory_mib(short.instance_type)
        case _:
            pass
    return f"{larger}, or {_ARGUMENT[short.resource]} no higher than {available}"


def _accelerators_first(short: Shortfall) -> bool:
    return short.resource not in _ACCELERATORS
