"""A container with GPUs: what it may be on the capacity of its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import Container, GpuNeeds, Pool, Task
from gpu_constructs.tasks.container_plan import (
    ContainerPlan,
    ContainerSettings,
    finish_plan,
    require_container_name,
    with_container,
)
from gpu_constructs.tasks.gpu_ask import Gpus, ask_for, require_gpu_pools, require_one_way, require_shareable
from gpu_constructs.tasks.gpu_needs import require_met

__all__ = ["plan_gpu_container"]

_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_DRIVER_CAPABILITIES = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}

# What NVIDIA's own container images ask for: unlimited locked memory for pinned buffers, a 64 MiB stack
# (https://docs.nvidia.com/deeplearning/frameworks/user-guide/).
_ULIMITS = ("memlock", "stack")


def plan_gpu_container(
    name: str, *, task: Task, pools: Sequence[Pool], gpus: Gpus, needs: GpuNeeds | None, settings: ContainerSettings
) -> ContainerPlan:
    """Checks a container against the smallest host of every pool.

    Args:
        name: Its name.
        task: The containers before it.
        pools: Where the task may run.
        gpus: What it asks of GPUs, as given.
        needs: What it needs of each GPU beside that.
        settings: What was given beside.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: A pool has no such GPUs to give, or the containers of the task ask for them in different
            ways.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    ask = ask_for(gpus)
    require_gpu_pools(pools, ask, gpus)
    require_container_name(name)
    _require_no_choice_of_gpus(settings)
    asked = Container(name=name, requirements=(ask.requirement,), needs=needs)
    wanted = with_container(task, asked)
    require_one_way(wanted, gpus)
    require_shareable(pools, gpus)
    plan = finish_plan(asked, task=task, pools=pools, settings=settings, variables_by_default=_DRIVER_CAPABILITIES)
    require_met(wanted, pools)
    return replace(plan, gpu_count=ask.gpu_count, requirement=ask.written, ulimits=_ULIMITS)


def _require_no_choice_of_gpus(settings: ContainerSettings) -> None:
    for argument, names in (("environment", settings.environment), ("secrets", settings.secrets)):
        if isinstance(names, Mapping) and _VISIBLE_DEVICES in names:
            raise InvalidValueError(
                f"{_VISIBLE_DEVICES} is written by the ECS agent over whatever is set, with the GPUs it reserved",
                argument=argument,
                value=_VISIBLE_DEVICES,
                fix=f"leave {_VISIBLE_DEVICES} out, and say how many with gpus=…",
            )
