"""The instance types that a template names, lists by family, or describes by what they must be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from gpu_constructs.fleet import InstanceRequirements, Unknown, satisfies
from gpu_constructs.hardware import Architecture, InstanceType, accelerated, general
from gpu_constructs.template.resources.section import Section

__all__ = ["TypeChoice", "instance_types_of", "type_named", "types_asked_for"]

# Of AllowedInstanceTypes and ExcludedInstanceTypes, by the API; the other lists are shorter.
_MOST_ENTRIES = 400
_LONGEST_ENTRY = 30

_MANUFACTURERS = {
    "amazon-web-services": Architecture.ARM64,
    "amd": Architecture.X86_64,
    "intel": Architecture.X86_64,
}
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceRequirementsRequest.html, and its like of EC2
_REQUIRED = ("VCpuCount", "MemoryMiB")
_BURSTABLE = frozenset({"t1", "t2", "t3", "t3a", "t4g"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChoice:
    """What may be launched.

    Attributes:
        types: Types of the catalogue, each once.
        unknown_names: Names that are not in it.
        has_unknown: Whether a type is only known at deploy time.
        requirements: What the types were derived from, where they were.
    """

    types: tuple[InstanceType, ...] = ()
    unknown_names: tuple[str, ...] = ()
    has_unknown: bool = False
    requirements: InstanceRequirements | None = None

    def and_also(self, other: TypeChoice) -> TypeChoice:
        """Both, this one first.

        Args:
            other: What may be launched as well.
        """
        wanted = {each for each in (self.requirements, other.requirements) if each is not None}
        return TypeChoice(
            types=tuple(dict.fromkeys((*self.types, *other.types))),
            unknown_names=tuple(dict.fromkeys((*self.unknown_names, *other.unknown_names))),
            has_unknown=self.has_unknown or other.has_unknown,
            requirements=next(iter(wanted)) if len(wanted) == 1 else None,
        )


def type_named(name: str) -> InstanceType | None:
    """The type of a name; None if the catalogue has none. Unlike the catalogue's own, it does not look for near names.

    Args:
        name: Such as ``g6.xlarge``.
    """
    return _accelerated().get(name) or _general().get(name)


def types_asked_for(section: Section, architecture: Architecture | None) -> TypeChoice | None:
    """Types by their name, or by what they must be; None where the section says neither.

    Args:
        section: What may hold ``InstanceType`` or ``InstanceRequirements``.
        architecture: Architecture of the image that the hosts run; None where it is not known.
    """
    name = section.text("InstanceType")
    if isinstance(name, Unknown):
        return TypeChoice(has_unknown=True)
    if name is not None:
        found = type_named(name)
        return TypeChoice(unknown_names=(name,)) if found is None else TypeChoice(types=(found,))
    if section.get("InstanceRequirements") is not None:
        return instance_types_of(section.section("InstanceRequirements"), architecture)
    return None


def instance_types_of(section: Section, architecture: Architecture | None) -> TypeChoice:
    """Types by what they must be: an ``InstanceRequirements`` object.

    Args:
        section: The object.
        architecture: Architecture of the image that the hosts run; None where it is not known.
    """
    bounds = {key: section.section(key) for key in ("VCpuCount", "MemoryMiB", "AcceleratorCount")}
    for key in _REQUIRED:
        if not section.is_unknown and not section.has(key):
            section.note(f"expects {key}, which the API requires", None)
    bounds["AcceleratorTotalMemoryMiB"] = section.section("AcceleratorTotalMemoryMiB")
    ranges = {key: (each.integer("Min"), each.integer("Max")) for key, each in bounds.items()}
    lists = {key: section.texts(key) for key in _LISTS}
    # Auto Scaling takes none of the first two unless told so
    # (https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstanceRequirements.html).
    rules = tuple(section.text(key) for key in ("BareMetal", "BurstablePerformance"))
    unread = [key for key, entries in lists.items() if not _within_limits(entries)]
    for key in unread:
        problem = f"expects {_MOST_ENTRIES} entries of {_LONGEST_ENTRY} characters at most"
        section.note(problem, section.get(key), key)
    everything = (*(bound for pair in ranges.values() for bound in pair), *(x for one in lists.values() for x in one))
    if section.is_unknown or unread or any(isinstance(each, Unknown) for each in (*everything, *rules)):
        return TypeChoice(has_unknown=True)
    requirements = InstanceRequirements(
        vcpus=_range(ranges["VCpuCount"]),
        memory_mib=_range(ranges["MemoryMiB"]),
        accelerator_count=_range(ranges["AcceleratorCount"]),
        accelerator_memory_mib=_range(ranges["AcceleratorTotalMemoryMiB"]),
        accelerator_manufacturers=_known(lists["AcceleratorManufacturers"]),
        accelerator_names=_known(lists["AcceleratorNames"]),
        accelerator_types=_known(lists["AcceleratorTypes"]),
        allowed_instance_types=_known(lists["AllowedInstanceTypes"]),
        excluded_instance_types=_known(lists["ExcludedInstanceTypes"]),
        cpu_architectures=_architectures(_known(lists["CpuManufacturers"]), architecture),
        instance_generations=_known(lists["InstanceGenerations"]),
    )
    return TypeChoice(types=_selected_types(requirements, *map(str, rules)), requirements=requirements)


@lru_cache(maxsize=256)
def _selected_types(
    wanted: InstanceRequirements, bare_metal: str = "excluded", burstable: str = "excluded"
) -> tuple[InstanceType, ...]:
    """Every type of the catalogue that satisfies requirements.

    Args:
        wanted: What a type must be.
        bare_metal: ``included``, ``required``, or anything else for neither.
        burstable: Likewise, of the T families.
    """
    return tuple(
        each
        for each in (accelerated() if _asks_for_accelerators(wanted) else (*accelerated(), *general()))
        if _allowed(bare_metal, has=each.bare_metal)
        and _allowed(burstable, has=each.family in _BURSTABLE)
        and satisfies(each, wanted)
        and (_exists(each, wanted) or _is_named(each, wanted))
    )


_LISTS = (
    "AcceleratorManufacturers",
    "AcceleratorNames",
    "AcceleratorTypes",
    "AllowedInstanceTypes",
    "CpuManufacturers",
    "ExcludedInstanceTypes",
    "InstanceGenerations",
)


def _asks_for_accelerators(wanted: InstanceRequirements) -> bool:
    return bool(
        wanted.accelerator_count[0]
        or wanted.accelerator_memory_mib[0]
        or wanted.accelerator_manufacturers
        or wanted.accelerator_names
        or wanted.accelerator_types
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


def _architectures(manufacturers: tuple[str, ...], image: Architecture | None) -> tuple[Architecture, ...]:
    made = tuple(dict.fromkeys(_MANUFACTURERS[each] for each in manufacturers if each in _MANUFACTURERS))
    if image is None or made == (image,):
        return made
    return (image,) if not made or image in made else made


def _range(bounds: tuple[int | Unknown | None, int | Unknown | None]) -> tuple[int | None, int | None]:
    low, high = bounds
    return (None if isinstance(low, Unknown) else low), (None if isinstance(high, Unknown) else high)


def _within_limits(entries: tuple[str | Unknown, ...]) -> bool:
    return len(entries) <= _MOST_ENTRIES and all(len(each) <= _LONGEST_ENTRY for each in _known(entries))


def _known(texts: Iterable[str | Unknown]) -> tuple[str, ...]:
    return tuple(each for each in texts if isinstance(each, str))


@cache
def _accelerated() -> Mapping[str, InstanceType]:
    return {each.name: each for each in accelerated()}


@cache
def _general() -> Mapping[str, InstanceType]:
    return {each.name: each for each in general()}
