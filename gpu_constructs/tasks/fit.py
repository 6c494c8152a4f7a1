"""Whether a task has room on the hosts that it may get: the rules about fit are asked about the two alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_constructs.cdk.refusal import raise_any
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, StrategyItem, Task, Workload
from gpu_constructs.placement.fit import refusals
from gpu_constructs.rules import check, one_of
from gpu_constructs.tasks.host_share import types_for

_FIT = one_of("GPU054", "GPU060", "GPU063", "GPU064", "GPU067", "GPU069")
_NEEDS = one_of("GPU064")
_ARGUMENTS: Mapping[str, str] = {
    "ContainerDefinitions.ResourceRequirements": "gpus",
    "ContainerDefinitions.LinuxParameters.Devices": "devices",
    "ContainerDefinitions.Cpu": "cpu",
    "ContainerDefinitions.Memory": "memory_mib",
    "InstanceType": "capacity",
    "NetworkMode": "network_mode",
    "GpuMemoryMib": "gpu_memory_gib",
    "ComputeCapability": "min_compute_capability",
    "Precision": "precision",
    "Nvlink": "nvlink",
    "Memory of NvidiaMps": "memory_mib of the shares",
    "hosts of a type such as": "capacity of a type such as",
    "a separate capacity provider for": "separate capacity for",
}

# Only a task in Service Connect has a size here.
_WITH_PROXY: Mapping[str, str] = {"asked": "asked with the proxy of Service Connect"}


def require_fit(task: Task, pools: Sequence[Pool], arguments: Mapping[str, str] | None = None) -> None:
    """Refuses a task that a host of a pool is certain not to run.

    Raises:
        DoesNotFitError: A host of a pool has less of something than the task asks for.
        IncompatibleError: Its accelerators are of another kind.
    """
    for pool in pools:
        types = types_for(task, pool)
        if any(refusals(task, each, pool) for each in types):
            # As it starts: from zero hosts, of which the smallest type decides.
            starting = replace(pool, instance_types=types, min_instances=0, managed_scaling=True)
            words = {} if task.memory_limit_mib is None else _WITH_PROXY
            raise_any(check(_alone(task, starting), rules=_FIT), {**_ARGUMENTS, **words, **(arguments or {})})


def require_met(task: Task, pools: Sequence[Pool], arguments: Mapping[str, str] | None = None) -> None:
    """Refuses a task with a need that the GPUs of a host do not meet on which it may be placed.

    Memory is a question of `require_fit`, because ECS Managed Instances launch a host that has enough.

    Raises:
        DoesNotFitError: The GPUs of a type in a pool do not meet a need.
    """
    if any(each.needs is not None for each in task.containers):
        without_memory = tuple(
            each if each.needs is None else replace(each, needs=replace(each.needs, memory_mib=None))
            for each in task.containers
        )
        task = replace(task, containers=without_memory)
        for pool in pools:
            raise_any(check(_alone(task, pool), rules=_NEEDS), {**_ARGUMENTS, **(arguments or {})})


def _alone(task: Task, pool: Pool) -> Fleet:
    strategy = (StrategyItem(provider=pool.provider or UNKNOWN, pool=pool),)
    return Fleet(pools=(pool,), tasks=(task,), workloads=(Workload(name=task.name, task=task, strategy=strategy),))
