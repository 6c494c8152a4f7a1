"""Which hosts are bought and how: the purchase options, and the requirements that instance types have to meet."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from functools import lru_cache

from gpu_constructs.facts import Architecture, InstanceType, accelerated, general
from gpu_constructs.facts.aws_limits import may_be_managed
from gpu_constructs.facts.catalogue import declared_types
from gpu_constructs.facts.names import MANUFACTURERS, TYPES, matches
from gpu_constructs.facts.values import Named, dataclass
from gpu_constructs.fleet.origin import Subnet
from gpu_constructs.fleet.unknown import Unknown

RESERVATIONS_ONLY = "capacity-reservations-only"
"""The preference with which hosts start in a capacity reservation or not at all."""

RESERVATIONS_FIRST = "capacity-reservations-first"
"""The preference with which hosts start on demand where no capacity reservation has room."""


class PurchaseOption(Named):
    """How the hosts of a pool are bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    MIXED = "on-demand and spot"
    CAPACITY_BLOCK = "capacity-block"
    RESERVED = "reserved"


PARTLY_SPOT = frozenset({PurchaseOption.SPOT, PurchaseOption.MIXED})
"""With these a host may be spot."""

BOUGHT_IN_ADVANCE = frozenset({PurchaseOption.CAPACITY_BLOCK, PurchaseOption.RESERVED})
"""With these hosts start in what was bought before they did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What of a group is on demand and what is spot.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html

    Attributes:
        on_demand_base: Hosts on demand before any other.
        on_demand_percentage: Percent of the hosts above the base that are on demand.
        spot_allocation: The allocation strategy of Spot hosts as written; None if nothing was.
        segments: Types of capacity to take one after the other, such as ``capacity-block``, of all its distribution
            segments; empty without.
        template_option: How the launch template would buy without a mixed instances policy.
    """

    on_demand_base: int | Unknown = 0
    on_demand_percentage: int | Unknown = 100
    spot_allocation: str | Unknown | None = None
    segments: tuple[str | Unknown, ...] = ()
    template_option: PurchaseOption | Unknown = PurchaseOption.ON_DEMAND


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The capacity reservations that hosts run in.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html

    Attributes:
        preference: As written, such as ``capacity-reservations-only``; None if nothing was.
        id: The one reservation that is named, by its logical id where the files define it; unknown where several are,
            None without.
        group: The resource group of reservations that is named, likewise or by its ARN; None without.
        instances: Hosts that are reserved, as far as their owner says so, or those of the one reservation where the
            files define it; None where nothing says so.
        instance_type: The type that the one reservation is of, where the files define it; only templates say so.
        zone: Likewise its Availability Zone; the subnet has no id.
    """

    preference: str | Unknown | None = None
    id: str | Unknown | None = None
    group: str | Unknown | None = None
    instances: int | Unknown | None = None
    instance_type: str | Unknown | None = None
    zone: Subnet | None = None

    @property
    def is_targeted(self) -> bool:
        """Whether it names the reservations that it means, instead of any open one."""
        return self.id is not None or self.group is not None

    @property
    def comes_first(self) -> bool:
        """Whether hosts start in a reservation while there is room, instead of in one that happens to match."""
        return self.is_targeted or self.preference in {RESERVATIONS_FIRST, RESERVATIONS_ONLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """When the hosts of a Capacity Block are started and when they have to be gone.

    Attributes:
        starts: When the group grows, in UTC as written, such as ``2026-12-01T11:30:00Z``; None if nothing says so.
        ends: When the group shrinks to none, likewise; None if nothing says so.
    """

    starts: str | Unknown | None = None
    ends: str | Unknown | None = None


def moment(written: object) -> dt.datetime | None:
    """A time as AWS writes and takes it, in UTC, which it is where it names no zone; None for anything else."""
    try:
        read = dt.datetime.fromisoformat(written.replace("Z", "+00:00")) if isinstance(written, str) else None
        return read and (read if read.tzinfo else read.replace(tzinfo=dt.timezone.utc)).astimezone(dt.timezone.utc)
    except (OverflowError, ValueError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """How the hosts of a pool are bought.

    Attributes:
        distribution: What of it is on demand and what is spot, where its group has a mixed instances policy.
        reservation: The capacity reservations that the hosts run in, where any are named.
        block: When the hosts can be there, where they run in a Capacity Block.
    """

    option: PurchaseOption | Unknown = PurchaseOption.ON_DEMAND
    distribution: Distribution | None = None
    reservation: Reservation | None = None
    block: Block | None = None

    @property
    def reserved_alone(self) -> int | None:
        """Hosts that are reserved, where they start in nothing else and it is known how many these are."""
        found = None if self.reservation is None else self.reservation.instances
        return found if self.option in BOUGHT_IN_ADVANCE and isinstance(found, int) else None


Range = tuple[int | None, int | None]
"""Smallest and largest, both included; None has no bound."""

_ANY: Range = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRequirements:
    """What a host must be, instead of a list of types; words and units of the EC2 API. What is empty asks for nothing.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html

    Attributes:
        memory_mib: Nominal memory in MiB.
        accelerator_count: Accelerators of one host; without a requirement of accelerators none are wanted.
        accelerator_memory_mib: Memory of all its accelerators together in MiB.
        accelerator_manufacturers: Such as ``nvidia``.
        accelerator_names: Such as ``l4``.
        accelerator_types: ``gpu``, ``fpga``, ``inference``.
        allowed_instance_types: Names or patterns such as ``g6.*``, as for those that are excluded.
        instance_generations: ``current``, ``previous``.
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


REQUIREMENTS: Mapping[str, str] = {
    "vcpus": "VCpuCount",
    "memory_mib": "MemoryMiB",
    "accelerator_count": "AcceleratorCount",
    "accelerator_memory_mib": "AcceleratorTotalMemoryMiB",
    "accelerator_manufacturers": "AcceleratorManufacturers",
    "accelerator_names": "AcceleratorNames",
    "accelerator_types": "AcceleratorTypes",
    "allowed_instance_types": "AllowedInstanceTypes",
    "excluded_instance_types": "ExcludedInstanceTypes",
    "instance_generations": "InstanceGenerations",
    "local_storage": "LocalStorage",
}
"""What the API calls each of them, but for architectures, which the image has."""

RANGES = ("vcpus", "memory_mib", "accelerator_count", "accelerator_memory_mib")
"""Those that have a smallest and a largest value."""


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
        and _among(devices.model.lower().replace(" ", "-"), wanted.accelerator_names)  # such as radeon-pro-v520
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
    counted = wanted.accelerator_count != (None, None) or wanted.accelerator_names
    return instance_type.is_offered_anywhere and not (instance_type.is_fractional and counted)


def _is_named(instance_type: InstanceType, wanted: InstanceRequirements) -> bool:
    """Whether the requirements name its family, so that it is meant whether it exists or not."""
    return any(each.startswith(f"{instance_type.family}.") for each in wanted.allowed_instance_types)


def _allowed(rule: str, *, has: bool) -> bool:
    return rule != "required" if not has else rule in {"included", "required"}
