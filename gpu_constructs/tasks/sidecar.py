"""What runs beside the containers with accelerators: containers without any, daemons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpu_constructs.cdk.arguments import whole, whole_number
from gpu_constructs.cdk.refusal import require_served
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import DoesNotFitError, IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet import Container, Pool, Task, Unknown
from gpu_constructs.placement import FairShare
from gpu_constructs.rules.evidence.accelerated import asks_for_accelerator
from gpu_constructs.rules.words import and_list
from gpu_constructs.tasks.container_options import (
    REFUSED_ON_MANAGED,
    host_ports,
    refused_on_managed,
    require_own_namespaces,
    require_values,
)
from gpu_constructs.tasks.container_plan import (
    DefaultSize,
    known_variables,
    require_container_name,
    share_for,
    with_container,
)
from gpu_constructs.tasks.host_share import default_shared_memory_mib, require_fit

# What CDK adds at synth where a container logs with FireLens and there is no log router (``renderContainers`` of
# aws-cdk-lib 2.275).
LOG_ROUTER = Container(name="log-router", memory_reservation_mib=50)


class SharedSize(NamedTuple):
    """What of a container's size was not given, and what it was shared with.

    Attributes:
        default: What was not given.
        has_router: Whether the log router that CDK adds was taken off before.
    """

    default: DefaultSize
    has_router: bool


def beside_daemons(
    task: Task, sizes: Mapping[str | Unknown, SharedSize], *, pools: Sequence[Pool], kept: FairShare
) -> Task:
    """The task if daemons keep so much of its hosts: sizes that were not given become smaller.

    Args:
        task: What it asks of a host so far.
        sizes: The containers whose size, or a part of it, was not given, by name.
        pools: Where it may run.
        kept: What daemons keep of every host.

    Raises:
        InvalidValueError: Its other containers take all of the share of a host that is left.
    """
    sized = replace(task, containers=())
    for container in task.containers:
        shared = sizes.get(container.name)
        resized = container
        if shared is not None:
            before = with_container(sized, LOG_ROUTER) if shared.has_router else sized
            resized = _with_share(container, shared.default, share_for(container, task=before, pools=pools, kept=kept))
        sized = with_container(sized, resized)
    return sized


def _with_share(container: Container, default: DefaultSize, share: FairShare) -> Container:
    sized = replace(
        container,
        cpu=share.cpu if default.cpu else container.cpu,
        memory_limit_mib=share.memory_mib if default.memory else container.memory_limit_mib,
    )
    shared = default_shared_memory_mib(sized.memory_mib) if default.shared_memory else container.shared_memory_mib
    return replace(sized, shared_memory_mib=shared)


_ARGUMENTS: Mapping[str, str] = {
    **REFUSED_ON_MANAGED,
    "Cpu": "cpu",
    "Memory": "memory_limit_mib",
    "MemoryReservation": "memory_reservation_mib",
    "PortMappings": "port_mappings",
    "IpcMode": "ipc_mode",
    "NetworkMode": "network_mode",
}
_REFUSED_WARNINGS = ("GPU047",)


def plan_sidecar(
    name: str,
    *,
    task: Task,
    pools: Sequence[Pool],
    cpu: float | None,
    memory_limit_mib: float | None,
    memory_reservation_mib: float | None,
    options: Mapping[str, object],
    environment: Mapping[str, str] | None,
) -> Task:
    """Counts a container without GPUs.

    Args:
        name: Its name.
        task: The containers before it.
        pools: Where the task may run.
        cpu: CPU units; None asks for none.
        memory_limit_mib: Memory in MiB above which it is stopped; None sets no limit.
        memory_reservation_mib: Memory in MiB that is kept for it; None keeps the limit.
        options: The other arguments of `ecs.TaskDefinition.add_container`.
        environment: Its environment variables.

    Returns:
        The task with it.

    Raises:
        InvalidValueError: A value is wrong by itself.
        IncompatibleError: A pool is of ECS Managed Instances, where a setting is not valid, or two values do not match.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    require_container_name(name, options)
    require_values(options)
    require_own_namespaces(name, options.get("system_controls"), task)
    _require_no_elastic_inference(name, options.get("inference_accelerator_resources"))
    refused = refused_on_managed(options)
    container = Container(
        name=name,
        cpu=0 if cpu is None else whole_number("cpu", whole(cpu), smallest=0, unit="CPU units", fix="cpu=256"),
        memory_limit_mib=_memory("memory_limit_mib", memory_limit_mib),
        memory_reservation_mib=_memory("memory_reservation_mib", memory_reservation_mib),
        environment=known_variables(environment or {}),
        host_ports=host_ports(options.get("port_mappings"), task.network_mode),
        used_keys=tuple(refused),
    )
    given = {REFUSED_ON_MANAGED[setting]: value for setting, value in refused.items()}
    planned = with_container(task, container)
    require_served(planned, pools, _ARGUMENTS, given=given, also=_REFUSED_WARNINGS)
    _require_room(planned, pools)
    return planned


def _require_room(task: Task, pools: Sequence[Pool]) -> None:
    """Refuses a container for which those with accelerators, which came before it, have left no room."""
    try:
        require_fit(task, pools, {"ContainerDefinitions.Memory": "memory_limit_mib"})
    except DoesNotFitError as error:
        sized = [each for each in task.containers if asks_for_accelerator(each)]
        if sized and _has_room(task, pools):
            names = and_list(each.name for each in sized)
            error.allowed = None  # what the host has is for all containers together
            error.fix = f"add it before {names}, so that the default share leaves room for it, or lower " + (
                f"cpu of {names}" if error.argument == "cpu" else f"memory_mib of {names}"
            )
        raise


def _has_room(task: Task, pools: Sequence[Pool]) -> bool:
    """Whether a task fits if its containers with accelerators take no CPU and memory."""
    containers = (
        replace(each, cpu=0, memory_limit_mib=None, memory_reservation_mib=None) if asks_for_accelerator(each) else each
        for each in task.containers
    )
    try:
        require_fit(replace(task, containers=tuple(containers)), pools)
    except DoesNotFitError:
        return False
    return True


def require_no_gpus(name: str, gpu_count: float | None) -> None:
    """Refuses GPUs that are asked for in CDK's own way.

    Raises:
        InvalidValueError: It is not 0.
    """
    if gpu_count is not None and (is_token(gpu_count) or gpu_count != 0):
        raise InvalidValueError(
            "GPUs that are asked for here would not be checked against the hosts",
            argument="gpu_count",
            value=gpu_count,
            fix=f"add_gpu_container({name!r}, gpus={shown(gpu_count)}, …)",
        )


def _require_no_elastic_inference(name: str, accelerators: object) -> None:
    if accelerators:
        raise IncompatibleError(
            f"container {name} asks for an accelerator of Amazon Elastic Inference, which ended in April 2024",
            argument="inference_accelerator_resources",
            fix="a GPU, or Inferentia2",
        )


def _memory(argument: str, value: float | None) -> int | Unknown | None:
    if value is None:
        return None
    return whole_number(argument, whole(value), smallest=1, unit="MiB", fix=f"{argument}=256")
