"""A container with GPUs: what it may be on the capacity of its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_constructs.fleet import Container, GpuNeeds, Pool, Task
from gpu_constructs.placement import FairShare
from gpu_constructs.tasks.container_options import ContainerOptions
from gpu_constructs.tasks.container_plan import (
    ContainerPlan,
    finish_plan,
    require_container_name,
    with_container,
)
from gpu_constructs.tasks.fit import require_met
from gpu_constructs.tasks.gpu_ask import Gpus, ask_for, require_gpu_pools

_DRIVER_CAPABILITIES = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}

# What NVIDIA's own container images ask for: unlimited locked memory for pinned buffers, a 64 MiB stack
# (https://docs.nvidia.com/deeplearning/frameworks/user-guide/).
_ULIMITS = ("memlock", "stack")

_ARGUMENTS: Mapping[str, str] = {
    "ResourceRequirements": "gpus",
    "SharingStrategy": "GpuShare(memory_mib=…)",
    "Value": "gpus=1",
    'the value, "Value":': "gpus, such as",
}


def plan_gpu_container(
    name: str,
    *,
    task: Task,
    pools: Sequence[Pool],
    gpus: Gpus,
    needs: GpuNeeds | None,
    options: ContainerOptions,
    kept: FairShare,
) -> ContainerPlan:
    """Checks a container against the smallest host of every pool.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: A pool has no such GPUs to give, or the containers of the task ask for them in different
            ways.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    ask = ask_for(gpus)
    asked = Container(name=name, requirements=(ask.requirement,), needs=needs)
    require_gpu_pools(pools, asked, efa=options.get("efa") is True)
    require_container_name(name, options)
    plan = finish_plan(
        asked,
        task=task,
        pools=pools,
        options=options,
        variables_by_default=_DRIVER_CAPABILITIES,
        arguments=_ARGUMENTS,
        given={"gpus": gpus},
        kept=kept,
    )
    require_met(with_container(task, asked), pools)
    return replace(plan, gpu_count=ask.gpu_count, requirement=ask.written, ulimits=_ULIMITS)
