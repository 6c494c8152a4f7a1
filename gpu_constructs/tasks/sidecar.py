"""A container without accelerators, counted on the hosts of those with accelerators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_constructs.cdk.arguments import whole, whole_number
from gpu_constructs.cdk.refusal import require_served
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import DoesNotFitError, InvalidValueError, shown
from gpu_constructs.fleet import Container, Pool, Task, Unknown
from gpu_constructs.rules.evidence.accelerated import asks_for_accelerator
from gpu_constructs.rules.words import and_list
from gpu_constructs.tasks.container_options import REFUSED_ON_MANAGED, host_ports, refused_on_managed
from gpu_constructs.tasks.container_plan import known_variables, require_container_name, with_one_more
from gpu_constructs.tasks.host_share import require_fit

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


def plan_sidecar(name: str, options: Mapping[str, object], *, task: Task, pools: Sequence[Pool]) -> Container:
    """Counts a container without GPUs."""
    require_container_name(name, options)
    refused = refused_on_managed(options)
    cpu, environment = options.get("cpu"), options.get("environment")
    container = Container(
        name=name,
        cpu=0 if cpu is None else whole_number("cpu", whole(cpu), smallest=0, unit="CPU units", fix="cpu=256"),
        memory_limit_mib=_memory("memory_limit_mib", options),
        memory_reservation_mib=_memory("memory_reservation_mib", options),
        environment=known_variables(environment if isinstance(environment, Mapping) else {}),
        host_ports=host_ports(options.get("port_mappings"), task.network_mode),
        used_keys=tuple(refused),
    )
    given = {REFUSED_ON_MANAGED[setting]: value for setting, value in refused.items()}
    planned = with_one_more(task, container)
    require_served(planned, pools, _ARGUMENTS, given=given, also=_REFUSED_WARNINGS)
    _require_room(planned, pools)
    return container


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
    """Refuses GPUs that are asked for in CDK's own way."""
    if gpu_count is not None and (is_token(gpu_count) or gpu_count != 0):
        raise InvalidValueError(
            "GPUs that are asked for here would not be checked against the hosts",
            argument="gpu_count",
            value=gpu_count,
            fix=f"add_gpu_container({name!r}, gpus={shown(gpu_count)}, …)",
        )


def _memory(argument: str, options: Mapping[str, object]) -> int | Unknown | None:
    value = options.get(argument)
    if value is None:
        return None
    return whole_number(argument, whole(value), smallest=1, unit="MiB", fix=f"{argument}=256")
