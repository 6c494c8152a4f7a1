"""Attribute-based selection of instance types: ``InstanceRequirements`` of the EC2 and ECS APIs, and their types."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from gpu_constructs.hardware import Architecture, InstanceType, accelerated, general
from gpu_constructs.hardware.catalogue import declared_types
from gpu_constructs.hardware.managed_instances import may_be_managed
from gpu_constructs.hardware.names import MANUFACTURERS, TYPES, accelerator_name, matches
from gpu_constructs.values import dataclass

Range = tuple[int | None, int | None]
"""Smallest and largest, both included; None has no bound."""

_ANY: Range = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRequirements:
    """What a host must be, instead of a list of types; words and units of the EC2 API.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html

    Attributes:
        vcpus: vCPUs.
        memory_mib: Nominal memory in MiB.
        accelerator_count: Accelerators of one host; without a requirement of accelerators none are wanted.
        accelerator_memory_mib: Memory of all its accelerators together in MiB.
        accelerator_manufacturers: Such as ``nvidia``; empty asks for nothing.
        accelerator_names: Such as ``l4``; empty asks for nothing.
        accelerator_types: ``gpu``, ``fpga``, ``inference``; empty asks for nothing.
        allowed_instance_types: Names or patterns such as ``g6.*``; empty allows all.
        excluded_instance_types: Names or patterns.
        cpu_architectures: Architectures that the image runs on; empty allows all.
        instance_generations: ``current``, ``previous``; empty allows both.
        local_storage: ``required`` or ``excluded``; empty allows types with instance store and without.
    """

    vcpus: Range = _ANY
    memory_mib: Range = _ANY
    accelerator_count: Range = _ANY
    accelerator_memory_mib: Range = _ANY
    accelerator_manufacturers: tuple[str, ...] = ()
    accelerator_names: tuple[str, ...] = ()
    accelerator_types: tuple[str, ...] = ()
    allowed_instance_types: tuple[str, ...] = ()
    excluded_instance_types: tuple[str, ...] = ()
    cpu_architectures: tuple[Architecture, ...] = ()
    instance_generations: tuple[str, ...] = ()
    local_storage: tuple[str, ...] = ()


def satisfies(instance_type: InstanceType, wanted: InstanceRequirements) -> bool:
    """Whether a type is among those that the requirements select."""
    return (
        _within(instance_type.vcpus, wanted.vcpus)
        and _within(instance_type.memory_mib, wanted.memory_mib)
        and (not wanted.cpu_architectures or instance_type.architecture in wanted.cpu_architectures)
        and (not wanted.allowed_instance_types or _named(instance_type, wanted.allowed_instance_types))
        and not _named(instance_type, wanted.excluded_instance_types)
        and _among("current" if instance_type.current_generation else "previous", wanted.instance_generations)
        and _among("required" if instance_type.local_disks else "excluded", wanted.local_storage)
        and _accelerators(instance_type, wanted)
    )


def _accelerators(instance_type: InstanceType, wanted: InstanceRequirements) -> bool:
    devices = instance_type.accelerators
    if devices is None:
        asked = wanted.accelerator_manufacturers or wanted.accelerator_names or wanted.accelerator_types
        return not asked and _within(0, wanted.accelerator_count) and wanted.accelerator_memory_mib[0] in {None, 0}
    memory = devices.total_memory_mib
    return (
        _within(devices.logical_count, wanted.accelerator_count)
        and (
            wanted.accelerator_memory_mib == _ANY
            or (memory is not None and _within(memory, wanted.accelerator_memory_mib))
        )
        and _among(MANUFACTURERS.get(devices.vendor), wanted.accelerator_manufacturers)
        and _among(TYPES.get(devices.vendor), wanted.accelerator_types)
        and _among(accelerator_name(devices.model), wanted.accelerator_names)
    )


def _among(value: str | None, wanted: tuple[str, ...]) -> bool:
    return not wanted or value in wanted


def _within(value: int, bounds: Range) -> bool:
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)


def _named(instance_type: InstanceType, patterns: Iterable[str]) -> bool:
    return any(matches(pattern, instance_type.name) for pattern in patterns)


def selected_types(
    wanted: InstanceRequirements,
    bare_metal: str = "excluded",
    burstable: str = "excluded",
    *,
    managed: bool = False,
) -> tuple[InstanceType, ...]:
    """Every type that satisfies requirements: in the order of the catalogue, and then what is declared and named."""
    declared = tuple(
        each
        for each in declared_types()
        if _is_named(each, wanted) and _allowed(bare_metal, has=each.bare_metal) and satisfies(each, wanted)
    )
    recorded = _recorded(wanted, bare_metal, burstable, managed=managed)
    return (*recorded, *declared) if declared else recorded


@lru_cache(maxsize=256)
def _recorded(
    wanted: InstanceRequirements, bare_metal: str, burstable: str, *, managed: bool
) -> tuple[InstanceType, ...]:
    # No type without an accelerator satisfies any of these, whatever it is.
    asks_for_accelerators = bool(
        wanted.accelerator_count[0]
        or wanted.accelerator_memory_mib[0]
        or wanted.accelerator_manufacturers
        or wanted.accelerator_names
        or wanted.accelerator_types
    )
    return tuple(
        each
        for each in (accelerated() if asks_for_accelerators else (*accelerated(), *general()))
        if _allowed(bare_metal, has=each.bare_metal)
        and _allowed(burstable, has=each.burstable)
        and satisfies(each, wanted)
        and (_is_named(each, wanted) or (_exists(each, wanted) and (not managed or may_be_managed(each))))
    )


def _exists(instance_type: InstanceType, wanted: InstanceRequirements) -> bool:
    """Whether a type is certainly among those that EC2 selects from.

    EC2 selects from what it offers. Of a type with a part of a GPU (G6f, Gr6f) no page says which AcceleratorCount or
    which AcceleratorNames it matches, so these never rule it in.
    """
    devices = instance_type.accelerators
    counted = wanted.accelerator_count != (None, None) or wanted.accelerator_names
    is_part = devices is not None and devices.is_fractional
    return instance_type.is_offered_anywhere and not (is_part and counted)


def _is_named(instance_type: InstanceType, wanted: InstanceRequirements) -> bool:
    """Whether the requirements name its family, so that it is meant whether it exists or not."""
    return any(each.startswith(f"{instance_type.family}.") for each in wanted.allowed_instance_types)


def _allowed(rule: str, *, has: bool) -> bool:
    return rule != "required" if not has else rule in {"included", "required"}
