"""What would make a task fit: the fixes of rules, and whether anything can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpu_constructs.fleet import Pool, Task
from gpu_constructs.placement import (
    Fit,
    HostResource,
    Shortfall,
    alternatives,
    expected_memory_mib,
    profile_of,
    runs_somewhere,
)
from gpu_constructs.rules.evidence.lists import and_list

__all__ = ["PROPERTIES", "can_run", "fix_of", "provider_for", "worst"]

PROPERTIES: Mapping[HostResource, str] = {
    HostResource.GPU: "ContainerDefinitions.ResourceRequirements",
    HostResource.SHARED_GPU_MEMORY: "ContainerDefinitions.ResourceRequirements",
    HostResource.NEURON_DEVICES: "ContainerDefinitions.LinuxParameters.Devices",
    HostResource.CPU: "ContainerDefinitions.Cpu",
    HostResource.MEMORY: "ContainerDefinitions.Memory",
    HostResource.INTERFACES: "NetworkMode",
}
"""The property of a task definition that asks for each resource."""

_ACCELERATORS = frozenset({HostResource.GPU, HostResource.SHARED_GPU_MEMORY, HostResource.NEURON_DEVICES})


def can_run(task: Task) -> bool:
    """Whether an instance type may run a GPU task; true for every task without GPUs."""
    return not task.wants_gpu or runs_somewhere(task)


def fix_of(task: Task, pool: Pool, found: Fit) -> str:
    """The smallest change that makes a task fit: a type that has as much, or asking for less."""
    if found.hosts:
        return provider_for(found)
    types = alternatives(task, like=pool)
    larger = f"hosts of a type such as {types[0]}" if types else "ask for less: no instance type has as much"
    less = [text for short in found.shortfalls if (text := _less(short, pool))]
    if not less and pool.shape is not None and task.wants_gpu:
        less = ["whole GPUs" if pool.shape.partition == 1 else f"{pool.shape.partition:g} of a GPU, as its hosts have"]
    return ", or ".join((larger, *([and_list(less)] if less else [])))


def worst(shortfalls: Iterable[Shortfall]) -> Shortfall | None:
    """The shortfall to settle first: that of accelerators, because CPU and memory go with them."""
    return min(shortfalls, key=lambda each: each.resource not in _ACCELERATORS, default=None)


def provider_for(found: Fit) -> str:
    """A capacity provider that only launches hosts that can run a task."""
    return f"a separate capacity provider for {and_list(found.hosts)}"


def _less(short: Shortfall, pool: Pool) -> str:
    available = short.available or 0
    if short.resource is HostResource.MEMORY:
        # A host registers less than the most that it may have.
        available = expected_memory_mib(short.instance_type, profile_of(pool).may_reserve_mib)
    return f"{short.resource.label} no higher than {short.resource.amount(available)}" if available > 0 else ""
