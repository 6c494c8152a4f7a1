"""What a task definition asks of a host, read from the API's own form of it.

Sources: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html and, for GPUs,
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from . import expressions
from .placement import ALL, Demand, GpuDemand, SharedGpu

__all__ = ["TaskDefinitionError", "demand_of", "devices_of"]

MAX_CONSTRAINTS = 10
"""Placement constraints of one task definition."""

Json = Mapping[str, Any]


class TaskDefinitionError(ValueError):
    """RegisterTaskDefinition refuses the task definition."""


def demand_of(
    containers: Iterable[Json],
    *,
    cpu: str | int | None = None,
    memory: str | int | None = None,
    constraints: Iterable[Json] = (),
    architecture: str | None = None,
    network_mode: str | None = None,
) -> Demand:
    """Read what a task takes from a host.

    Args:
        containers: The container definitions, keys in camel case.
        cpu: CPU of the whole task; the sum over its containers where it is not given.
        memory: Memory of the whole task, likewise.
        constraints: The placement constraints.
        architecture: ``cpuArchitecture`` of the runtime platform.
        network_mode: That of the task; in ``host`` a container port is the host port, in ``awsvpc`` none is taken.

    Raises:
        TaskDefinitionError: ECS refuses it, or this emulator cannot tell what it would do.
    """
    containers = list(containers)
    required = [wanted for container in containers for wanted in _required(container)]
    if len({type(wanted) for wanted in required} & {GpuDemand, SharedGpu}) > 1:
        raise TaskDefinitionError("All GPU containers of a task must either share their GPU or have it to themselves.")
    if sum(1 for wanted in required if isinstance(wanted, str)) > 1:
        raise TaskDefinitionError("Only one container of a task can require Neuron devices.")
    return Demand(
        cpu=_units(cpu, 1024) if cpu else sum(int(container.get("cpu", 0)) for container in containers),
        memory=_units(memory, 1024) if memory else sum(_reserved_memory(container) for container in containers),
        gpus=tuple(wanted for wanted in required if isinstance(wanted, GpuDemand)),
        shared_gpu=tuple(wanted for wanted in required if isinstance(wanted, SharedGpu)),
        neuron=next((wanted for wanted in required if isinstance(wanted, str)), None),
        ports=frozenset() if network_mode == "awsvpc" else frozenset(_ports(containers, network_mode == "host")),
        constraints=tuple(_expressions(list(constraints))),
        # A runtime platform becomes an attribute that the host must have (agent capability `ecs.cpu-architecture`).
        attributes={"ecs.cpu-architecture": architecture.lower()} if architecture else {},
    )


def _ports(containers: Iterable[Json], is_host: bool) -> Iterator[int]:
    for container in containers:
        for mapping in container.get("portMappings", []):
            port = mapping.get("hostPort") or (mapping["containerPort"] if is_host else 0)
            if port:
                yield int(port)


def _units(value: str | int, per_whole: int) -> int:
    """Read ``512``, ``"512"``, ``".5 vCPU"`` or ``"2 GB"``."""
    match = re.fullmatch(r"\s*([\d.]+)\s*(vCPU|GB)?\s*", str(value), re.IGNORECASE)
    if not match:
        raise TaskDefinitionError(f"Invalid task size '{value}'.")
    return int(float(match[1]) * (per_whole if match[2] else 1))


def _reserved_memory(container: Json) -> int:
    memory = container.get("memoryReservation") or container.get("memory")
    if not memory:
        raise TaskDefinitionError(
            f"Invalid setting for container '{container['name']}'. "
            "At least one of 'memory' or 'memoryReservation' must be specified."
        )
    return int(memory)


def _required(container: Json) -> Iterable[GpuDemand | SharedGpu | str]:
    """What the resource requirements of a container ask; the name alone for Neuron devices."""
    name, required = container["name"], container.get("resourceRequirements") or []
    if len(required) > 1:
        raise TaskDefinitionError(f"container '{name}' has more than one resource requirement")
    for requirement in required:
        kind, value, sharing = requirement.get("type"), requirement.get("value"), requirement.get("sharingStrategy")
        if kind == "NeuronDevice":
            if value != ALL or sharing:
                raise TaskDefinitionError(f"Invalid NeuronDevice resource requirement {value!r} of container '{name}'.")
            yield name
        elif kind != "GPU":
            raise TaskDefinitionError(f"resource requirement '{kind}': only GPU and NeuronDevice are modelled here")
        elif sharing is None:
            yield GpuDemand(name, _gpu_count(name, value))
        elif value is not None:
            raise TaskDefinitionError(f"container '{name}': specify either a value or a sharing strategy, not both")
        else:
            yield _shared(name, sharing.get("nvidiaMps") or {})


def _shared(container: str, mps: Json) -> SharedGpu:
    memory, percent = mps.get("memory"), mps.get("maxComputePercent")
    if memory is None or int(memory) < 1:
        raise TaskDefinitionError(f"container '{container}': sharing a GPU needs 1 MiB of its memory or more")
    if percent is not None and not 1 <= int(percent) <= 100:
        raise TaskDefinitionError(f"container '{container}': maxComputePercent is from 1 to 100, not {percent}")
    return SharedGpu(container, int(memory))


def devices_of(containers: Iterable[Json]) -> frozenset[str]:
    """Host devices that containers ask for by path."""
    return frozenset(
        str(device["hostPath"])
        for container in containers
        for device in (container.get("linuxParameters") or {}).get("devices") or []
    )


def _gpu_count(container: str, value: object) -> float | Literal["ALL"]:
    if value == ALL:
        return ALL
    if isinstance(value, str) and re.fullmatch(r"[1-9]\d*", value):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"0?\.\d+", value) and float(value) > 0:
        return float(value)
    raise TaskDefinitionError(f"Invalid GPU resource requirement {value!r} of container '{container}'.")


def _expressions(constraints: list[Json]) -> Iterable[str]:
    if len(constraints) > MAX_CONSTRAINTS:
        raise TaskDefinitionError(f"{len(constraints)} placement constraints, more than {MAX_CONSTRAINTS}")
    for constraint in constraints:
        if constraint.get("type") != "memberOf":
            raise TaskDefinitionError(f"placement constraint type '{constraint.get('type')}': only memberOf is allowed")
        try:
            expressions.parse(constraint.get("expression", ""))
        except expressions.ExpressionError as error:
            raise TaskDefinitionError(f"Invalid expression: {error}") from error
        yield constraint["expression"]
