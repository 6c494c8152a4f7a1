"""Whether a task has room on the hosts that it may get: the rules about fit are asked about the two alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_constructs.cdk.refusal import raise_any
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, StrategyItem, Task, Workload
from gpu_constructs.placement import ObstacleKind, alternatives
from gpu_constructs.placement.fit import refusals
from gpu_constructs.placement.reasons import Obstacle
from gpu_constructs.rules import check, find_rule
from gpu_constructs.tasks.host_share import types_for

__all__ = ["require_fit", "require_met"]

_FIT = tuple(map(find_rule, ("GPU060", "GPU063", "GPU064", "GPU067", "GPU068", "GPU069", "GPU073")))
_NEEDS = tuple(map(find_rule, ("GPU065", "GPU066")))
_ARGUMENTS: Mapping[str, str] = {
    "ContainerDefinitions.ResourceRequirements": "gpus",
    "ContainerDefinitions.LinuxParameters.Devices": "devices",
    "ContainerDefinitions.Cpu": "cpu",
    "ContainerDefinitions.Memory": "memory_mib",
    "NetworkMode": "network_mode",
    "GpuMemoryMib": "gpu_memory_gib",
    "ComputeCapability": "min_compute_capability",
    "Precision": "precision",
    "Nvlink": "nvlink",
    "MemoryMiB of NvidiaMps": "memory_mib of the shares",
    "hosts of a type such as": "capacity of a type such as",
    "a separate capacity provider for": "separate capacity for",
}
_OF_OTHER_RULES = {ObstacleKind.SHARING: ("gpus", "GPU032"), ObstacleKind.LAUNCHER: ("devices", "GPU027")}
"""What rules of other rooms report, with the argument that it is about."""


def require_fit(task: Task, pools: Sequence[Pool], arguments: Mapping[str, str] | None = None) -> None:
    """Refuses a task that a host of a pool is certain not to run.

    Args:
        task: What is to run.
        pools: Where it may run.
        arguments: Arguments by property, where they differ from those of containers with accelerators.

    Raises:
        DoesNotFitError: A host of a pool has less of something than the task asks for.
        IncompatibleError: Its accelerators are of another kind.
    """
    for pool in pools:
        types = types_for(task, pool)
        found = [each for host in types for each in refusals(task, host, pool)]
        if not found:
            continue
        # As it starts: from zero hosts, of which the smallest type decides.
        starting = replace(pool, instance_types=types, min_instances=0, managed_scaling=True)
        raise_any(check(_alone(task, starting), rules=_FIT), {**_ARGUMENTS, **(arguments or {})})
        kinds = (each.kind for each in found if isinstance(each, Obstacle))
        argument, rule = next((_OF_OTHER_RULES[each] for each in kinds if each in _OF_OTHER_RULES), ("gpus", None))
        raise IncompatibleError(
            f"{task.name} cannot run on {pool.name}: {'; '.join(map(str, found))}",
            argument=argument,
            value=types[0].name,
            fix=_instead(task, pool),
            rule=rule,
        )


def require_met(task: Task, pools: Sequence[Pool]) -> None:
    """Refuses a task with a need that the GPUs of a host do not meet on which it may be placed.

    Memory is a question of `require_fit`, because ECS Managed Instances launch a host that has enough.

    Args:
        task: What is to run.
        pools: Where it may run.

    Raises:
        DoesNotFitError: The GPUs of a type in a pool do not meet a need.
    """
    if any(each.needs is not None for each in task.containers):
        for pool in pools:
            raise_any(check(_alone(task, pool), rules=_NEEDS), _ARGUMENTS)


def _alone(task: Task, pool: Pool) -> Fleet:
    strategy = (StrategyItem(provider=pool.provider or UNKNOWN, pool=pool),)
    return Fleet(pools=(pool,), tasks=(task,), workloads=(Workload(name=task.name, task=task, strategy=strategy),))


def _instead(task: Task, pool: Pool) -> str:
    types = alternatives(task, like=pool)
    other = f"capacity of a type such as {types[0]}" if types else "capacity of another type"
    part = pool.shape.partition if pool.shape else 1
    return f"gpus={part:g}, the part that its hosts have, or {other}" if part < 1 else f"whole GPUs, or {other}"
