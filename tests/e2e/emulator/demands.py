"""What a task definition asks of a host, read from the API's own form of it.

Sources: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html and, for GPUs,
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from . import expressions
from .placement import ALL, Demand, GpuDemand

__all__ = ["TaskDefinitionError", "demand_of"]

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
) -> Demand:
    """Read what a task takes from a host.

    Args:
        containers: The container definitions, keys in camel case.
        cpu: CPU of the whole task; the sum over its containers where it is not given.
        memory: Memory of the whole task, likewise.
        constraints: The placement constraints.
        architecture: ``cpuArchitecture`` of the runtime platform.

    Raises:
        TaskDefinitionError: ECS refuses it, or this emulator cannot tell what it would do.
    """
    containers = list(containers)
    return Demand(
        cpu=_units(cpu, 1024) if cpu else sum(int(container.get("cpu", 0)) for container in containers),
        memory=_units(memory, 1024) if memory else sum(_reserved_memory(container) for container in containers),
        gpus=tuple(gpu for container in containers for gpu in _gpus(container)),
        ports=frozenset(
            int(mapping["hostPort"])
            for container in containers
            for mapping in container.get("portMappings", [])
            if mapping.get("hostPort")
        ),
        constraints=tuple(_expressions(list(constraints))),
        # A runtime platform becomes an attribute that the host must have (agent capability `ecs.cpu-architecture`).
        attributes={"ecs.cpu-architecture": architecture.lower()} if architecture else {},
    )


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


def _gpus(container: Json) -> Iterable[GpuDemand]:
    required = container.get("resourceRequirements") or []
    for requirement in required:
        kind, value = requirement.get("type"), requirement.get("value")
        if kind != "GPU":
            raise TaskDefinitionError(f"resource requirement '{kind}': only GPU is modelled here")
        if requirement.get("sharingStrategy"):
            raise TaskDefinitionError("GPU sharing with NVIDIA MPS is not modelled here")
        yield GpuDemand(container["name"], _gpu_count(container["name"], value))
    if len(required) > 1:
        raise TaskDefinitionError(f"container '{container['name']}' has more than one GPU requirement")


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
