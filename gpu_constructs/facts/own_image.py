"""An AMI of the user's own: what its owner declares that it can do, as an `Image` and as files write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from gpu_constructs.errors import InvalidValueError, arguments_written
from gpu_constructs.facts.declared import Fields, as_properties, checked_value, fields_by_key, text_like, whole_number
from gpu_constructs.facts.image_table import IMAGE_VOLUMES, ROOT_DEVICE, Image, OperatingSystem
from gpu_constructs.facts.model import Architecture, Vendor

NO_ACCELERATOR = "none"
"""Instead of a vendor, for an image without a driver."""

_VERSION = r"[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?"
_AGENT_VERSION = r"[1-9]\.[0-9]{1,4}\.[0-9]{1,4}"
_OPEN = frozenset({"driver_branch", "driver_version", "agent_version", "has_mps_service", "image_device"})
_DEVICE = r"/dev/[a-z0-9/]{1,60}"


def own_image(facts: Mapping[str, object]) -> Image:
    """The image that a declaration describes; what is left out is not known, or as on the GPU image of ECS.

    Args:
        facts: By the names of the arguments of `gpu_constructs.GpuMachineImage.custom`.

    Raises:
        InvalidValueError: A value is wrong; `argument` is its name.
    """
    known = {
        name: checked_value(name, value, *_FIELDS[name])
        for name, value in facts.items()
        if value is not None or name not in _OPEN
    }
    system = OperatingSystem(known.get("operating_system", OperatingSystem.AMAZON_LINUX_2023))
    vendor = known.get("accelerator", Vendor.NVIDIA)
    root = str(known.get("root_device", ROOT_DEVICE))
    version, agent, has_mps = (known.get(each) for each in ("driver_version", "agent_version", "has_mps_service"))
    branch = int(str(version).partition(".")[0]) if version else known.get("driver_branch")
    if known.get("driver_branch", branch) != branch:
        raise InvalidValueError(
            f"driver {version} is of branch {branch}, not {known['driver_branch']}",
            argument="driver_version",
            value=version,
            fix=f"leave driver_branch={known['driver_branch']} out",
        )
    on_bottlerocket = system is OperatingSystem.BOTTLEROCKET
    return Image(
        name="custom",
        operating_system=system,
        architecture=Architecture(known["architecture"]) if "architecture" in known else None,
        accelerator=None if vendor == NO_ACCELERATOR else Vendor(vendor),
        ssm_parameter="",
        pinned_ssm_parameter="",
        known_release=None,
        driver_branch=branch if isinstance(branch, int) else None,
        driver_version=None if version is None else str(version),
        agent_version=None if agent is None else str(agent),
        end_of_life=None,
        has_mps_service=has_mps if isinstance(has_mps, bool) else None,
        root_device=root,
        image_device=str(known.get("image_device", IMAGE_VOLUMES[system].device if on_bottlerocket else root)),
        source="declared by its owner",
    )


def own_image_of(written: Mapping[str, object]) -> Image:
    """An image as files declare it: facts by name, as ``driver_branch`` or ``DriverBranch``.

    Raises:
        InvalidValueError: A value is wrong; `argument` is the key as it is written.
        UnknownNameError: There is no such fact.
    """
    keys = fields_by_key(written, _FIELDS, "a machine image")
    with arguments_written(keys):
        return own_image({field: written[key] for field, key in keys.items()})


def image_metadata(image: Image) -> dict[str, object]:
    """An image of the user's own as templates write it, for `own_image_of`: ``{"DriverBranch": 580, …}``."""
    facts = {name: getattr(image, name) for name in _FIELDS}
    facts["accelerator"] = image.accelerator or NO_ACCELERATOR
    if image.driver_version:
        del facts["driver_branch"]  # which is a part of it
    return as_properties({name: str(value) if isinstance(value, Enum) else value for name, value in facts.items()})


def _one_of(*allowed: str) -> tuple[str, Callable[[object], str | None]]:
    return " or ".join(map(repr, allowed)), lambda value: next((each for each in allowed if value == each), None)


_FIELDS: Fields = {
    "architecture": _one_of(*(each.value for each in Architecture)),
    "accelerator": _one_of(*(each.value for each in Vendor), NO_ACCELERATOR),
    "driver_branch": ("a whole number from 1 to 9999, such as 580", whole_number(1, 9999)),
    "driver_version": ("a version of the NVIDIA driver, such as 580.95.05", text_like(_VERSION)),
    "agent_version": ("a version of the ECS agent, such as 1.107.0", text_like(_AGENT_VERSION)),
    "has_mps_service": ("true or false", lambda value: value if isinstance(value, bool) else None),
    "operating_system": _one_of(*(each.value for each in OperatingSystem)),
    "root_device": ("the name of a device, such as /dev/xvda", text_like(_DEVICE)),
    "image_device": ("the name of a device, such as /dev/xvda", text_like(_DEVICE)),
}
