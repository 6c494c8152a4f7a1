"""Instance types by requirements, as ECS Managed Instances selects them (attribute-based instance type selection).

Pure functions over the API's own form and moto's recorded DescribeInstanceTypes answers. Modelled: CPU, memory,
accelerators, allowed and excluded types, bare metal, burstable types, local storage, generations. Not modelled: prices,
bandwidth, network interfaces, EBS throughput; a requirement of that kind is ignored.
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceRequirementsRequest.html
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from .instance_types import InstanceType, instance_type

__all__ = ["types_for"]

Json = Mapping[str, Any]


def types_for(requirements: Json) -> list[InstanceType]:
    """The types that satisfy requirements, smallest first.

    Args:
        requirements: InstanceRequirements of the API, in camel case; none stand for any type without accelerator.
    """
    if not requirements:
        return [_type(name) for name in _by_size() if not _accelerators(INSTANCE_TYPES[name])]
    return [_type(name) for name in _names_for(json.dumps(requirements, sort_keys=True))]


@functools.cache
def _names_for(requirements: str) -> tuple[str, ...]:
    """A fleet asks each minute, and all types take a tenth of a second."""
    asked = json.loads(requirements)
    return tuple(name for name in _by_size() if all(check(INSTANCE_TYPES[name], asked) for check in CHECKS))


@functools.cache
def _type(name: str) -> InstanceType:
    return instance_type(name)


@functools.cache
def _by_size() -> tuple[str, ...]:
    def size(name: str) -> tuple[int, int, int, str]:
        recorded = INSTANCE_TYPES[name]
        count = _count(recorded)
        return count, recorded["VCpuInfo"]["DefaultVCpus"], recorded["MemoryInfo"]["SizeInMiB"], name

    return tuple(sorted(INSTANCE_TYPES, key=size))


def _accelerators(recorded: Json) -> list[Json]:
    return [
        *recorded.get("GpuInfo", {}).get("Gpus", []),
        *recorded.get("NeuronInfo", {}).get("NeuronDevices", []),
        *recorded.get("InferenceAcceleratorInfo", {}).get("Accelerators", []),
        *recorded.get("FpgaInfo", {}).get("Fpgas", []),
    ]


def _count(recorded: Json) -> int:
    neuron = recorded.get("NeuronInfo", {}).get("NeuronDevices", [])
    # Inferentia is in both lists of the API.
    others = [item for item in _accelerators(recorded) if not neuron or item in neuron]
    return sum(item["Count"] or item.get("LogicalGpuCount", 0) for item in others)


def _names(recorded: Json) -> set[str]:
    return {str(item["Name"]).lower().replace(" ", "-") for item in _accelerators(recorded) if "Name" in item}


def _makers(recorded: Json) -> set[str]:
    if "NeuronInfo" in recorded:
        return {"amazon-web-services"}
    return {str(item["Manufacturer"]).lower().replace(" ", "-") for item in _accelerators(recorded)}


def _kinds(recorded: Json) -> set[str]:
    kinds = {"GpuInfo": "gpu", "FpgaInfo": "fpga", "NeuronInfo": "inference", "InferenceAcceleratorInfo": "inference"}
    return {kind for key, kind in kinds.items() if key in recorded}


def _accelerator_mib(recorded: Json) -> int:
    gpus = recorded.get("GpuInfo", {}).get("TotalGpuMemoryInMiB", 0)
    return int(gpus + recorded.get("NeuronInfo", {}).get("TotalNeuronDeviceMemoryInMiB", 0))


def _in(value: float, bounds: Json | None) -> bool:
    bounds = bounds or {}
    return bounds.get("min", 0) <= value and (bounds.get("max") is None or value <= bounds["max"])


def _like(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _all_of(found: set[str], wanted: Iterable[str] | None) -> bool:
    return not wanted or bool(found & set(wanted))


def _third_way(has: bool, wanted: str | None, default: str) -> bool:
    """``included``, ``required`` or ``excluded``."""
    return {"included": True, "required": has, "excluded": not has}[wanted or default]


CHECKS: tuple[Callable[[Json, Json], bool], ...] = (
    lambda kind, asked: _in(kind["VCpuInfo"]["DefaultVCpus"], asked.get("vCpuCount")),
    lambda kind, asked: _in(kind["MemoryInfo"]["SizeInMiB"], asked.get("memoryMiB")),
    lambda kind, asked: _in(_count(kind), asked.get("acceleratorCount")),
    lambda kind, asked: _in(_accelerator_mib(kind), asked.get("acceleratorTotalMemoryMiB")),
    lambda kind, asked: _all_of(_names(kind), asked.get("acceleratorNames")),
    lambda kind, asked: _all_of(_makers(kind), asked.get("acceleratorManufacturers")),
    lambda kind, asked: _all_of(_kinds(kind), asked.get("acceleratorTypes")),
    lambda kind, asked: _like(kind["InstanceType"], asked.get("allowedInstanceTypes") or ["*"]),
    lambda kind, asked: not _like(kind["InstanceType"], asked.get("excludedInstanceTypes") or []),
    lambda kind, asked: _third_way(kind.get("BareMetal", False), asked.get("bareMetal"), "excluded"),
    lambda kind, asked: _third_way(
        kind.get("BurstablePerformanceSupported", False), asked.get("burstablePerformance"), "excluded"
    ),
    lambda kind, asked: _third_way(kind.get("InstanceStorageSupported", False), asked.get("localStorage"), "included"),
    lambda kind, asked: _all_of(
        {"current" if kind.get("CurrentGeneration") else "previous"}, asked.get("instanceGenerations")
    ),
)
"""What each type is asked; all must hold."""
