"""The instance types that a template names, lists by family, or describes by what they must be."""

from __future__ import annotations

from typing import Any

from gpu_constructs.facts import Architecture, known_type
from gpu_constructs.facts.budget import ENTRIES, NAME
from gpu_constructs.fleet import InstanceRequirements, TypeChoice, Unknown
from gpu_constructs.fleet.purchase import selected_types
from gpu_constructs.template.resources.section import Section

_MANUFACTURERS = {
    "amazon-web-services": Architecture.ARM64,
    "amd": Architecture.X86_64,
    "intel": Architecture.X86_64,
}
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceRequirementsRequest.html, and its like of EC2
_REQUIRED = ("VCpuCount", "MemoryMiB")
_RANGES = {
    "vcpus": "VCpuCount",
    "memory_mib": "MemoryMiB",
    "accelerator_count": "AcceleratorCount",
    "accelerator_memory_mib": "AcceleratorTotalMemoryMiB",
}
_LISTS = {
    "accelerator_manufacturers": "AcceleratorManufacturers",
    "accelerator_names": "AcceleratorNames",
    "accelerator_types": "AcceleratorTypes",
    "allowed_instance_types": "AllowedInstanceTypes",
    "excluded_instance_types": "ExcludedInstanceTypes",
    "instance_generations": "InstanceGenerations",
}
_LOCAL_STORAGE = frozenset({"required", "excluded"})


def and_also(one: TypeChoice, other: TypeChoice) -> TypeChoice:
    """Both choices, the first one first."""
    wanted = {each for each in (one.requirements, other.requirements) if each is not None}
    return TypeChoice(
        instance_types=tuple(dict.fromkeys((*one.instance_types, *other.instance_types))),
        unknown_type_names=tuple(dict.fromkeys((*one.unknown_type_names, *other.unknown_type_names))),
        has_unknown_types=one.has_unknown_types or other.has_unknown_types,
        requirements=next(iter(wanted)) if len(wanted) == 1 else None,
    )


def types_asked_for(section: Section, architecture: Architecture | None) -> TypeChoice | None:
    """Types by their name, or by what they must be; None where the section says neither."""
    name = section.text("InstanceType")
    if isinstance(name, Unknown):
        return TypeChoice(has_unknown_types=True)
    if name is not None:
        found = known_type(name)
        return TypeChoice(unknown_type_names=(name,)) if found is None else TypeChoice(instance_types=(found,))
    if section.get("InstanceRequirements") is not None:
        return instance_types_of(section.section("InstanceRequirements"), architecture)
    return None


def instance_types_of(
    section: Section, architecture: Architecture | None, *, managed: bool = False, of_batch: bool = False
) -> TypeChoice:
    """Types by what they must be: an ``InstanceRequirements`` object, and the architecture of the image.

    That of AWS Batch has ``AllowedInstanceTypes`` only, among which are families
    (https://docs.aws.amazon.com/batch/latest/APIReference/API_InstanceRequirementsRequest.html).
    """
    for key in () if of_batch else _REQUIRED:
        if not section.is_unknown and not section.has(key):
            section.note(f"expects {key}, which the API requires", None)
    bounds = {field: section.section(key) for field, key in _RANGES.items()}
    ranges = {field: (each.integer("Min"), each.integer("Max")) for field, each in bounds.items()}
    lists = {key: section.texts(key) for key in (*_LISTS.values(), "CpuManufacturers")}
    # Auto Scaling takes none of the first two unless it is set so
    # (https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstanceRequirements.html).
    rules = tuple(section.text(key) for key in ("BareMetal", "BurstablePerformance"))
    disks = section.text("LocalStorage")
    known = {key: tuple(each for each in entries if isinstance(each, str)) for key, entries in lists.items()}
    unread = [key for key in lists if len(lists[key]) > ENTRIES or any(len(each) > NAME for each in known[key])]
    for key in unread:
        problem = f"expects {ENTRIES} entries of {NAME} characters at most"
        section.note(problem, section.get(key), key)
    everything = (*(bound for pair in ranges.values() for bound in pair), *(x for one in lists.values() for x in one))
    if unread or any(isinstance(each, Unknown) for each in (*everything, *rules, disks)):
        return TypeChoice(has_unknown_types=True)
    if of_batch:
        key = _LISTS["allowed_instance_types"]
        known[key] = tuple([each if "." in each or "*" in each else f"{each}.*" for each in known[key]])
    fields: dict[str, Any] = ranges | {field: known[key] for field, key in _LISTS.items()}
    requirements = InstanceRequirements(
        cpu_architectures=_architectures(known["CpuManufacturers"], architecture),
        local_storage=tuple(each for each in (disks,) if isinstance(each, str) and each in _LOCAL_STORAGE),
        **fields,
    )
    types = selected_types(requirements, *map(str, rules), managed=managed)
    return TypeChoice(instance_types=types, requirements=requirements)


def _architectures(manufacturers: tuple[str, ...], image: Architecture | None) -> tuple[Architecture, ...]:
    made = tuple(dict.fromkeys(_MANUFACTURERS[each] for each in manufacturers if each in _MANUFACTURERS))
    if image is None or made == (image,):
        return made
    return (image,) if not made or image in made else made
