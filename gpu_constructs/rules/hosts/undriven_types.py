"""Instance types that the machine image of their pool cannot drive, and the images that can."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import (
    IMAGES,
    Image,
    InstanceType,
    OperatingSystem,
    Vendor,
    Verdict,
    compatibility,
    default_image,
    first_release,
    instance_type,
    may_run,
)
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import NO_USER_DATA, HostImage, Pool, PoolKind, Unknown, UserDataFormat
from gpu_constructs.placement.machine import has_no_devices, is_refused_for_certain
from gpu_constructs.rules.evidence.fixes import of_types, priced
from gpu_constructs.rules.finding import Text, Way, Ways, Word, or_list
from gpu_constructs.rules.rule import Problem

_OWN = "an AMI of your own with a driver"
# What AWS Batch calls its images: https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html
OF_BATCH = {
    "al2": "ECS_AL2",
    "al2-arm64": "ECS_AL2",
    "al2-gpu": "ECS_AL2_NVIDIA",
    "al2023": "ECS_AL2023",
    "al2023-arm64": "ECS_AL2023",
    "al2023-gpu": "ECS_AL2023_NVIDIA",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UndrivenTypes:
    """Types of one kind that the image of their pool cannot drive, and why for the first of them."""

    pool: Pool
    image: Image
    release: str | None
    types: tuple[InstanceType, ...]
    reason: str

    @property
    def is_certain(self) -> bool:
        """Whether a mechanism that no user data can change keeps the image from them."""
        return is_refused_for_certain(self.image, self.types[0])

    @property
    def leaves_others(self) -> bool:
        """Whether the pool may launch something else that the image drives, and no launch fails for these types."""
        pool, image = self.pool, self.image
        if pool.requirements is None and not all(map(image.may_boot, self.types)):
            return False  # types that were written by name are launched, and do not boot
        return not pool.types_are_known or any(
            each.accelerators is not None and may_run(image, each, self.release) for each in pool.instance_types
        )

    @property
    def has_no_devices(self) -> bool:
        """Whether a plain image certainly leaves their devices out, with what the user data sets and installs."""
        return has_no_devices(self.pool, self.types[0])

    @property
    def is_neuron(self) -> bool:
        """Whether their devices are Neuron devices, and not GPUs."""
        return self.types[0].vendor is Vendor.NEURON

    @property
    def images(self) -> tuple[Way, ...]:
        """The images to take."""
        if isinstance(self._others, IncompatibleError):
            names = (each.replaced_by or each.traits.driven_instead for each in self.types[:1])
            driven = [instance_type(each) for each in names if each]
            ways = (
                Way(
                    text=f"use {each}{priced(each, self.pool.region)}, or {_OWN}",
                    things=(of_types(self.pool, (each,)),),
                )
                for each in driven
            )
            return *ways, Way(text=_OWN)
        return tuple(self._newer() if each is self.image else with_image(self.pool, each) for each in self._others)

    def _newer(self) -> Way:
        """The same image in a later release, where it is pinned to one that is too old."""
        first = next(filter(None, (first_release(self.image, each) for each in self.types)), None)
        new = replace(self.pool, image=HostImage(image=self.image, release=first))
        return Way(text=f"release {first} of image {self.image.name}, or a later one", things=(new,))

    @property
    def ways(self) -> Ways:
        """Leaving the types out, where the pool has other ones, or an image that drives those as well."""
        driven = tuple(each for each in self.pool.instance_types if may_run(self.image, each, self.release))
        if not driven and self.pool.types_are_known:
            return (self.images,)
        images = () if isinstance(self._others, IncompatibleError) else self.images
        things = (replace(self.pool, instance_types=driven),) if driven else ()
        return (Way(text=f"leave {or_list(self.types)} out", things=things),), images

    @property
    def _others(self) -> tuple[Image, ...] | IncompatibleError:
        """Images for them, of the same operating system where it has one, because user data is written for that."""
        try:
            found = {_alike(each, self.image.operating_system) or default_image(each): None for each in self.types}
            usable = [each for each in found if each.name in OF_BATCH or each.accelerator is Vendor.NEURON]
            if is_of_batch(self.pool, self.image) and not usable:
                return IncompatibleError("AWS Batch has no image for them")
            return tuple(found)
        except IncompatibleError as error:
            return error

    def problem(self, message: str, *, ways: Ways | None = None) -> Problem:
        """What a rule says of them."""
        return Problem(
            about=self.pool,
            message=message,
            fix="an image and types that go together, in a capacity provider for each architecture",
            ways=self.ways if ways is None else ways,
            property_name="ImageType" if is_of_batch(self.pool, self.image) else "ImageId",
            value=self.image.name,
        )


def undriven_types(pool: Pool) -> list[UndrivenTypes]:
    """What the image of a pool cannot drive, by architecture and accelerator."""
    if isinstance(pool.image, Unknown):
        return []
    image, release = pool.image.image, pool.image.release
    answers = [(compatibility(image, each, release), each) for each in pool.instance_types]
    refused = [(answer.reason, each) for answer, each in answers if answer.verdict is Verdict.CANNOT]
    alike = grouped((_kind(each), (reason, each)) for reason, each in refused)
    of_pool = partial(UndrivenTypes, pool=pool, image=image, release=release)
    return [of_pool(types=tuple(each for _, each in types), reason=types[0][0]) for types in alike.values()]


def _kind(each: InstanceType) -> Hashable:
    devices = each.accelerators
    return each.architecture, devices and (devices.vendor, devices.generation, devices.model)


def with_image(pool: Pool, image: Image, why: str = "") -> Way:
    """Taking another image for the hosts of a pool."""
    form, old = pool.user_data.format, pool.image
    was_shell = form in {UserDataFormat.SHELL, UserDataFormat.CLOUD_CONFIG}
    is_other = isinstance(old, Unknown) or image.operating_system is not old.image.operating_system
    toml = was_shell and is_other and image.operating_system is OperatingSystem.BOTTLEROCKET
    new = replace(
        pool,
        image=HostImage(image=image),
        user_data=replace(NO_USER_DATA, agent=pool.user_data.agent) if toml else pool.user_data,
    )
    by_id = " as ImageIdOverride" if pool.kind is PoolKind.BATCH and pool.names_image is not True else ""
    name = Word(f"ImageType {OF_BATCH[image.name]}") if is_of_batch(pool, image) else f"image {image}{by_id}"
    return Way(text=Text(name, ", with its user data in TOML" if toml else "", why), things=(new,))


def is_of_batch(pool: Pool, image: Image) -> bool:
    """Whether an ImageType of AWS Batch stands for it, as its compute environment has it."""
    return pool.kind is PoolKind.BATCH and pool.names_image is not True and image.name in OF_BATCH


def _alike(instance_type: InstanceType, system: OperatingSystem) -> Image | None:
    if system is not OperatingSystem.BOTTLEROCKET:
        return None
    able = (each for each in IMAGES if each.operating_system is system)
    return next((each for each in able if compatibility(each, instance_type).verdict is Verdict.DRIVES), None)
