"""A container definition: what one container asks of a host.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-ecs-taskdefinition-containerdefinition.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from gpu_constructs.fleet import UNKNOWN, Container, GpuNeeds, NvidiaMps, ResourceRequirement, Unknown
from gpu_constructs.fleet.keys import CONTAINER_KEYS
from gpu_constructs.hardware.managed_instances import CONTAINER_SETTINGS_REFUSED
from gpu_constructs.template.resources.ports import host_ports_of
from gpu_constructs.template.resources.section import Section, given

__all__ = [
    "container_name",
    "container_of",
    "devices_of",
    "environment_of",
    "needs_of",
    "requirements_of",
    "unknown_keys",
    "used_settings",
]

_KEYS: Final = frozenset(key for key in CONTAINER_KEYS if "." not in key)

_REQUIREMENT_KEYS = frozenset({"SharingStrategy", "Type", "Value"})
_NEEDS_KEYS = frozenset({"ComputeCapability", "GpuMemoryMib", "Nvlink", "Precision"})
_CAPABILITY = re.compile(r"([0-9]{1,3})\.([0-9]{1,2})")
_NO_NAME = "unknown"


def container_of(section: Section, *, network_mode: str | Unknown, needs: GpuNeeds | None) -> Container:
    """Reads one container."""
    linux = section.section("LinuxParameters")
    return Container(
        name=container_name(section),
        requirements=requirements_of(section),
        needs=needs,
        cpu=section.integer("Cpu") or 0,
        memory_limit_mib=section.integer("Memory"),
        memory_reservation_mib=section.integer("MemoryReservation"),
        shared_memory_mib=linux.integer("SharedMemorySize"),
        host_ports=host_ports_of(section, network_mode),
        devices=devices_of(linux),
        environment=environment_of(section),
        essential=given(section.flag("Essential"), default=True),
        image=section.text("Image"),
        unknown_keys=unknown_keys(section, _KEYS),
        used_keys=used_settings(section, CONTAINER_SETTINGS_REFUSED),
        depends_on=_waits_for(section),
        origin=section.origin,
    )


def container_name(section: Section) -> str:
    """The name of a container, empty if it has none; something to call it where that is only known at deploy time.

    Two of one task are called differently, so that they are not taken for one name that is written twice.
    """
    name = section.text("Name")
    if not isinstance(name, Unknown):
        return name or ""
    number = section.path[-1] if section.path else 0
    return f"{_NO_NAME}-{number + 1}" if isinstance(number, int) and number else _NO_NAME


def requirements_of(section: Section) -> tuple[ResourceRequirement, ...]:
    """What a container asks of accelerators, as written."""
    written = section.get("ResourceRequirements")
    entries = written if isinstance(written, Sequence) and not isinstance(written, str) else ()
    # A text is not an entry, and not a value of the deploy either; what it says may well be a type.
    texts = {number: each for number, each in enumerate(entries) if isinstance(each, str)}
    return tuple(
        ResourceRequirement(type=texts[number]) if number in texts else _requirement(each)
        for each in section.sections("ResourceRequirements")
        for number in each.path[-1:]
    )


def devices_of(linux: Section) -> tuple[str, ...]:
    """Paths of the host's devices that a container sees, as far as they are known."""
    paths = (each.text("HostPath") for each in linux.sections("Devices"))
    return tuple(each for each in paths if isinstance(each, str))


def environment_of(section: Section) -> tuple[tuple[str, str | Unknown], ...]:
    """Environment variables in order of name; the value of a secret is unknown."""
    found: dict[str, str | Unknown] = {}
    for each in section.sections("Environment"):
        name = each.text("Name")
        if isinstance(name, str):
            found[name] = each.text("Value") or ""
    for each in section.sections("Secrets"):
        name = each.text("Name")
        if isinstance(name, str):
            found[name] = UNKNOWN
    return tuple((name, found[name]) for name in sorted(found))


def needs_of(section: Section) -> GpuNeeds | None:
    """What the metadata of a task definition says about one container; None if nothing."""
    if not section.keys:
        return None
    for key in unknown_keys(section, _NEEDS_KEYS):
        section.note(f"expects {', '.join(sorted(_NEEDS_KEYS))}", key, key)
    memory = section.integer("GpuMemoryMib")
    if isinstance(memory, int) and memory <= 0:
        section.note("expects MiB", memory, "GpuMemoryMib")
        memory = None
    precision = section.text("Precision")
    return GpuNeeds(
        memory_mib=None if isinstance(memory, Unknown) else memory,
        compute_capability=_capability(section),
        precision=None if isinstance(precision, Unknown) else precision,
        nvlink=section.flag("Nvlink") is True,
    )


def unknown_keys(section: Section, known: Iterable[str]) -> tuple[str, ...]:
    """Keys that the API does not have, in the order in which they were written."""
    return tuple(each for each in section.keys if each not in known)


def used_settings(section: Section, settings: Iterable[str]) -> tuple[str, ...]:
    """Those of the settings that are used: written, and not to the effect of leaving them out.

    Args:
        section: Any object.
        settings: Keys, or a key of an object below and a key of that with a dot between them.
    """
    return tuple(each for each in settings if _is_used(section, each))


def _is_used(section: Section, setting: str) -> bool:
    above, _, key = setting.rpartition(".")
    values = section.get(above) if above else section.values
    if section.is_unknown or not isinstance(values, Mapping):
        return False
    value = values.get(key)
    is_empty = isinstance(value, (str, Sequence, Mapping)) and not value
    return value is not None and value is not False and not is_empty


def _requirement(section: Section) -> ResourceRequirement:
    beyond = unknown_keys(section, _REQUIREMENT_KEYS)
    mps = None
    if section.has("SharingStrategy"):
        sharing = section.section("SharingStrategy")
        beyond += tuple(f"SharingStrategy.{each}" for each in unknown_keys(sharing, ("NvidiaMps",)))
        if sharing.is_unknown or sharing.has("NvidiaMps"):
            share = sharing.section("NvidiaMps")
            keys = unknown_keys(share, ("MaxComputePercent", "Memory"))
            beyond += tuple(f"SharingStrategy.NvidiaMps.{each}" for each in keys)
            mps = NvidiaMps(memory_mib=share.integer("Memory"), max_compute_percent=share.integer("MaxComputePercent"))
    return ResourceRequirement(
        type=section.text("Type") or "", value=section.text("Value"), nvidia_mps=mps, unknown_keys=beyond
    )


def _waits_for(section: Section) -> tuple[str, ...]:
    names = (each.text("ContainerName") for each in section.sections("DependsOn"))
    return tuple(each for each in names if isinstance(each, str))


def _capability(section: Section) -> tuple[int, int] | None:
    written = section.text("ComputeCapability")
    if written is None or isinstance(written, Unknown):
        return None
    found = _CAPABILITY.fullmatch(written)
    if found is None:
        section.note("expects major and minor, such as '8.0'", written, "ComputeCapability")
        return None
    return int(found[1]), int(found[2])
