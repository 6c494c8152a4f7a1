"""Which ECS-optimized image runs on which instance type: look-up, compatibility with a reason, and the default.

The rows are in `image_table`; this module holds the pure functions over them.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import NamedTuple

from gpu_constructs.errors import IncompatibleError, InvalidValueError, UnknownNameError, shown
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.drivers import Drivers, driver_support, drives, shown_version
from gpu_constructs.facts.image_table import (
    EXCEPTIONS,
    IMAGES,
    RELEASE_DAY,
    Image,
    ImageException,
    OperatingSystem,
    Verdict,
)
from gpu_constructs.facts.model import Accelerators, Architecture, InstanceType, Vendor
from gpu_constructs.facts.releases import Number, release_line, release_number

from . import catalogue


class Compatibility(NamedTuple):
    """An answer, and why: ``CANNOT`` names a mechanism that excludes it; ``UNCONFIRMED`` is doubt, never a refusal."""

    verdict: Verdict
    reason: str


# What to run on by default. Amazon Linux 2023 wherever it has a driver: it is what AWS recommends, and GPU sharing
# through MPS works nowhere else. Of the Bottlerocket variants, 2 is the one that was tested with ECS tasks on g5g
# (https://github.com/bottlerocket-os/bottlerocket-core-kit/pull/482).
_DEFAULTS: dict[tuple[Architecture, Vendor | None], str] = {
    (Architecture.X86_64, Vendor.NVIDIA): "al2023-gpu",
    (Architecture.ARM64, Vendor.NVIDIA): "bottlerocket-ecs-2-nvidia-arm64",
    (Architecture.X86_64, Vendor.NEURON): "al2023-neuron",
    (Architecture.X86_64, None): "al2023",
    (Architecture.ARM64, None): "al2023-arm64",
}

_NO_DRIVER: dict[Vendor, str] = {
    Vendor.AMD: "no ECS image has a driver for AMD GPUs, and ECS schedules NVIDIA GPUs only",
    Vendor.GAUDI: "no ECS image has a driver for Gaudi",
    Vendor.QUALCOMM: "no ECS image has a driver for Qualcomm AI 100",
    Vendor.XILINX: "no ECS image has a driver for Xilinx FPGAs and media cards",
}

# The first day of a release of Amazon Linux whose agent starts without a GPU: since then ecs-init leaves out the
# setting of the image where it finds no device (LoadEnvVars in ecs-init/docker of aws/amazon-ecs-agent); before,
# https://github.com/aws/amazon-ecs-agent/issues/2424.
_FIRST_DAY_WITHOUT_GPUS = (20241001,)

_BY_NAME = {each.name: each for each in IMAGES}


def image(name: str) -> Image:
    """Looks an image up by its name in `IMAGES`, such as ``al2023-gpu``.

    Raises:
        InvalidValueError: If it is not a string.
        UnknownNameError: If no image has this name; carries the nearest names.
    """
    if not isinstance(name, str):
        raise InvalidValueError(f"{shown(name)} is not an image", value=name, allowed="a name such as al2023-gpu")
    if name not in _BY_NAME:
        nearest = tuple(get_close_matches(name.strip().lower()[:NAME], _BY_NAME, n=3, cutoff=0.5))
        raise UnknownNameError(f"no image {shown(name)}", value=name, nearest=nearest)
    return _BY_NAME[name]


def newest_release(image: Image, region: str | None) -> str | None:
    """The newest release that is known to be in a region: `Image.known_release` wherever nothing else is recorded."""
    return dict(image.stopped_in or ()).get(region or "", image.known_release)


def is_supported(image: Image) -> bool:
    """Whether AWS still promised updates of an image on the day of the data."""
    return image.end_of_life is None or image.end_of_life >= catalogue.RECORDED


def is_published(image: Image, release: str, region: str | None) -> bool | None:
    """Whether a region has a release; None where the records do not say.

    No region gets an older release later than a newer one, so one that had stopped has none of those that came after,
    as far as the records go. What is newer than all records is taken for published where the region kept up.
    """
    if image.stopped_in is None or image.known_release is None or region not in catalogue.regions():
        return None
    newest_there = dict(image.stopped_in).get(region, "")
    if not newest_there:
        return True
    days = [RELEASE_DAY.search(each) for each in (release, newest_there, image.known_release)]
    asked, last_there, last_recorded = (each[0] if each else "" for each in days)
    if not asked or asked > last_recorded:
        return None
    return asked <= last_there


@lru_cache(maxsize=4096)  # a large fleet has few images and types, and many rules ask
def compatibility(image: Image, instance_type: InstanceType, release: str | None = None) -> Compatibility:
    """Whether an image, in a release or the newest, runs on an instance type and drives what the type carries.

    Whether the image is past its end of life is another question, see `Image.end_of_life`.
    """
    reason = _obstacle(image, instance_type, release)
    if reason is not None:
        return Compatibility(Verdict.CANNOT, reason)
    answer = _driver_answer(image, instance_type, release)
    if answer.verdict is Verdict.CANNOT:
        return answer
    number = _number(image, release)
    line = release_line(image) if number else None
    change = line.missing(number, instance_type.family) if line and number else None
    if change is not None:
        reason = f"{_named_with_release(image, release)} is from before {change.since}, which brought {change.what}"
        return Compatibility(change.without, reason)
    for exception in EXCEPTIONS:
        if _applies(exception, image, instance_type, release):
            return Compatibility(exception.verdict, exception.reason)
    return answer


def may_run(image: Image, instance_type: InstanceType, release: str | None = None) -> bool:
    """Whether an image runs on an instance type, or it is not known that it does not."""
    return compatibility(image, instance_type, release).verdict is not Verdict.CANNOT


def drivers_of(image: Image, release: str | None = None) -> Drivers | None:
    """The NVIDIA driver of an image, as far as it is known; None without one, or where its owner does not say it."""
    number = _number(image, release)
    line = release_line(image) if number is not None else None
    if line is not None and number is not None:
        return line.drivers(number)
    version = image.driver_version or image.driver_branch
    return None if version is None else Drivers.of(str(version))


def first_release(image: Image, instance_type: InstanceType) -> str | None:
    """The first recorded release of an image that drives a type, or may; None if none does."""
    line = release_line(image)
    for wanted in ((Verdict.DRIVES,), (Verdict.DRIVES, Verdict.UNCONFIRMED)):
        for each in line.releases.values() if line is not None else ():
            name = RELEASE_DAY.sub(each.name, image.known_release or "") if each.name.isdigit() else each.name
            if compatibility(image, instance_type, name).verdict in wanted:
                return name
    return None


@cache
def images_by_folder() -> Mapping[str, Image]:
    """Images by what stands before the release in the names of their SSM parameters."""
    return {each.pinned_ssm_parameter.partition("/{release}")[0]: each for each in IMAGES}


def system_of_parameter(text: str) -> OperatingSystem | None:
    """The operating system of an image that may not be in the table, by the SSM parameter that a text names."""
    return OperatingSystem.BOTTLEROCKET if "/aws/service/bottlerocket/" in text else None


def default_image(instance_type: InstanceType) -> Image:
    """Choose the image to run on an instance type: a supported one with a driver for what the type carries.

    Amazon Linux 2023 in its GPU, Neuron or plain form; Bottlerocket for NVIDIA GPUs on arm64.

    Raises:
        IncompatibleError: If no ECS image drives the type; names why and a type to use instead.
    """
    chosen = _preferred(instance_type)
    reason = _why_not(chosen, instance_type)
    if chosen is not None and reason is None:
        return chosen
    raise IncompatibleError(
        f"no ECS image drives {instance_type}: {reason}",
        value=instance_type.name,
        fix=f"use {_instead(instance_type)}",
    )


def _preferred(instance_type: InstanceType) -> Image | None:
    devices = instance_type.accelerators
    name = _DEFAULTS.get((instance_type.architecture, devices.vendor if devices is not None else None))
    return None if name is None else _BY_NAME[name]


def _why_not(preferred: Image | None, instance_type: InstanceType) -> str | None:
    if preferred is not None:
        answer = compatibility(preferred, instance_type)
        return answer.reason if answer.verdict is Verdict.CANNOT else None
    devices = instance_type.accelerators
    if devices is not None and devices.vendor in _NO_DRIVER:
        return _NO_DRIVER[devices.vendor]
    return f"no {instance_type.architecture} image has a driver for what it carries"


def _obstacle(image: Image, instance_type: InstanceType, release: str | None) -> str | None:
    """What keeps an image from a type whatever the driver's version, None if nothing."""
    devices = instance_type.accelerators
    if not image.may_boot(instance_type):
        return f"{image} is built for {image.architecture}, {instance_type} is {instance_type.architecture}"
    if devices is None:
        return _without_devices(image, instance_type, release)
    is_in_all = image.operating_system is OperatingSystem.BOTTLEROCKET and devices.vendor is Vendor.NEURON
    if image.accelerator is devices.vendor or (is_in_all and image.accelerator is None):
        # No published image declares a vendor of _NO_DRIVER; an image of the user's own may.
        return None
    if devices.vendor in _NO_DRIVER:
        return _NO_DRIVER[devices.vendor]
    return f"{image} has no driver for the {devices.model} of {instance_type}"


def _without_devices(image: Image, instance_type: InstanceType, release: str | None) -> str | None:
    if image.accelerator is Vendor.NEURON:
        return f"{instance_type} has no Neuron device for the driver of {image}"
    if image.accelerator is not Vendor.NVIDIA:
        return None
    number = _number(image, release)
    if image.operating_system is not OperatingSystem.BOTTLEROCKET and (
        number is None or number >= _FIRST_DAY_WITHOUT_GPUS
    ):
        return None
    agent = f"the ECS agent of {_named_with_release(image, release)}"
    return f"{instance_type} has no GPU, and nothing says that {agent} starts there"


def _number(image: Image, release: str | None) -> Number | None:
    """The number of a release with facts of its own; None for the one that the row of the image is about."""
    if not image.line or release is None or release == image.known_release:
        return None
    return release_number(image, release)


def _named_with_release(image: Image, release: str | None) -> str:
    number = _number(image, release)
    return f"release {'.'.join(map(str, number))} of {image}" if number is not None else str(image)


def _applies(exception: ImageException, image: Image, instance_type: InstanceType, release: str | None) -> bool:
    if (
        exception.operating_system is not image.operating_system
        or exception.architecture not in (None, image.architecture)
        or instance_type.family not in exception.families
    ):
        return False
    drivers = drivers_of(image, release) if exception.below_branch else None
    return drivers is None or drivers.lowest < (exception.below_branch,)


def _driver_answer(image: Image, instance_type: InstanceType, release: str | None) -> Compatibility:
    devices = instance_type.accelerators
    if devices is None:
        return Compatibility(Verdict.DRIVES, f"{instance_type} has nothing to drive")
    if image.accelerator is None:
        # https://github.com/bottlerocket-os/bottlerocket/pull/4400
        return Compatibility(Verdict.UNCONFIRMED, "Bottlerocket has a Neuron driver since 2025, and no page names ECS")
    drivers = drivers_of(image, release)
    if drivers is None and devices.vendor is Vendor.NVIDIA:
        return Compatibility(Verdict.UNCONFIRMED, f"{image} does not say which driver branch it has")
    if drivers is None or devices.compute_capability is None:
        return Compatibility(Verdict.DRIVES, f"{image} has the driver of {devices.model}")
    return _of_drivers(drivers, devices, image, release)


def _of_drivers(drivers: Drivers, devices: Accelerators, image: Image, release: str | None) -> Compatibility:
    support = driver_support(devices)
    if support is None:
        return Compatibility(Verdict.UNCONFIRMED, f"which driver is the first for {devices.model} is not recorded")
    has = f"{_named_with_release(image, release)} has {drivers}"
    first = shown_version(support.since[0]) if support.since else ""
    number = _number(image, release)
    if support.published is not None and number and len(number) == 1 and number < (int(f"{support.published:%Y%m%d}"),):
        older = f"{_named_with_release(image, release)} is older than driver {first} of {support.published}"
        return Compatibility(Verdict.CANNOT, f"{older}, the first that drives {devices.model}")
    answer = drives(drivers, support)
    if answer:
        return Compatibility(Verdict.DRIVES, f"{drivers} drives {devices.model}")
    is_old_gpu = support.last_branch is not None
    bound = f"{support.last_branch} is the last" if is_old_gpu else f"{first} is the first"
    if answer is None and support.certain_until is not None:
        bound = f"{support.certain_until} is the last for certain"
    if answer is None and support.certain_since:
        bound = f"{shown_version(support.certain_since)} is the first for certain"
    verdict = Verdict.UNCONFIRMED if answer is None else Verdict.CANNOT
    return Compatibility(verdict, f"{has}, {bound} that drives {devices.generation} ({devices.model})")


def _instead(instance_type: InstanceType) -> str:
    if instance_type.replaced_by is not None:
        successor = catalogue.instance_type(instance_type.replaced_by)
        preferred = _preferred(successor)
        if preferred is not None and _why_not(preferred, successor) is None:
            return successor.name
    return f"a type that has one, such as {instance_type.traits.driven_instead or 'g6.xlarge'}"
