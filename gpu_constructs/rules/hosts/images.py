"""Machine images: do they drive the hosts, stay the same, and still get updates?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

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
    is_supported,
    may_run,
    newest_release,
)
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import (
    GPU_SUPPORT,
    NO_USER_DATA,
    HostImage,
    Pool,
    PoolKind,
    Scheduler,
    Task,
    Unknown,
    UserDataFormat,
    Workload,
)
from gpu_constructs.placement.machine import has_no_devices, is_declared, is_refused_for_certain
from gpu_constructs.rules.evidence.fixes import of_types, priced
from gpu_constructs.rules.finding import Text, Way, Ways, Word, one_way, or_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, info, warning

_PROPERTY = "ImageId"
_OWN = "an AMI of your own with a driver"
# What AWS Batch calls its images: https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html
_OF_BATCH = {
    "al2": "ECS_AL2",
    "al2-arm64": "ECS_AL2",
    "al2-gpu": "ECS_AL2_NVIDIA",
    "al2023": "ECS_AL2023",
    "al2023-arm64": "ECS_AL2023",
    "al2023-gpu": "ECS_AL2023_NVIDIA",
}


@info(
    "GPU002",
    question="is the machine image pinned to a release?",
    because="an image that follows the newest release is resolved at every deploy, so any deploy may change the AMI of "
    "hosts that start after it, and with it the driver",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html",
    changes="ImageId",
    unless=("GPU003", "GPU052"),
)
def pinned(pool: Pool) -> Problems:
    # AWS Batch keeps the AMI of a compute environment until somebody updates it
    # (https://docs.aws.amazon.com/batch/latest/userguide/compute_resource_AMIs.html).
    if not isinstance(pool.image, Unknown) and pool.image.is_floating and pool.kind is not PoolKind.BATCH:
        known = newest_release(pool.image.image, pool.region)
        yield Problem(
            message=f"image {pool.image.image.name} follows the newest release, so any deploy may change the AMI "
            "of hosts that start after it",
            fix=f"pin a release{f', such as {known}' if known else ''}",
        )


@error(
    "GPU003",
    question="does the machine image still get security updates?",
    because="AWS promises no security updates for an image past its end of life; where it still publishes releases, "
    "they may stop on any day, and AWS Batch refuses new compute environments on its own images of Amazon Linux 2",
    softer="outside of AWS Batch, and where an environment exists already or names its image",
    source="https://github.com/aws/amazon-ecs-ami",
    unless=("GPU033", "GPU052"),
)
def kept_up(context: Context) -> Problems:
    for pool in context.fleet.pools:
        image = _image(pool)
        if image is None or is_supported(image):
            continue
        is_provided = _is_of_batch(pool, image) and pool.has_image_of_aws and not context.exists(pool)
        if image.operating_system is OperatingSystem.AMAZON_LINUX_2 and is_provided:
            # https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html
            name = "al2023-gpu" if image.accelerator else "al2023"
            new = replace(pool, image=HostImage(image=next(each for each in IMAGES if each.name == name)))
            yield Problem(
                about=pool,
                message=f"AWS Batch refuses new compute environments on {image.name} since 2026-06-30",
                fix="an image of Amazon Linux 2023",
                ways=one_way(f"ImageType {_OF_BATCH[name]}", new),
                property_name="ImageType",
            )
            continue
        yield Problem(
            about=pool,
            message=f"image {image.name} is past its end of life, {image.end_of_life}, and AWS promises no "
            "more security updates",
            fix="an image that AWS still supports",
            ways=() if _lacks_gpus(context, pool) else (_successors(pool),),
            property_name=_PROPERTY,
            is_certain=False,
        )


@warning(
    "GPU004",
    question="is the machine image confirmed to drive the instance types?",
    because="a type that is newer than the list of what an image supports may find no driver that loads",
    source="UNCONFIRMED: no list of the image's makers names the type",
)
def confirmed(pool: Pool) -> Problems:
    image = _image(pool)
    if image is None:
        return
    answers = ((compatibility(image, each, _release(pool)), each) for each in pool.instance_types)
    doubts = grouped((answer.reason, each) for answer, each in answers if answer.verdict is Verdict.UNCONFIRMED)
    for reason, types in doubts.items():
        yield Problem(
            message=f"no source confirms that image {image.name} drives {or_list(types)}: {reason}",
            property_name=_PROPERTY,
        )


@error(
    "GPU052",
    question="can the machine image drive the instance types?",
    because="an image of another architecture does not boot, and a GPU without a driver that knows it is never "
    "registered with ECS; without a driver there is no /dev/neuron0, and Docker starts no container that is given it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
)
def drives(context: Context) -> Problems:
    undriven = [each for pool in context.fleet.pools for each in _undriven(pool)]
    for each in undriven:
        waiting = _waiting(context, undriven, each) if each.has_no_devices else ()
        if each.is_certain and not each.leaves_others:
            yield each.problem(f"image {each.image.name} cannot drive {or_list(each.types)}: {each.reason}")
        elif waiting:
            yield each.problem(
                f"{with_verb((one.name for one in waiting), 'asks', 'ask')} for "
                f"{'Neuron devices' if each.is_neuron else 'GPUs'}, and image "
                f"{each.image.name} has no driver for {or_list(each.types)}: {_registers_none(each)}",
                ways=(each.images,),
            )


@warning(
    "GPU117",
    question="can the machine image drive every instance type of the pool?",
    because="the group launches whichever type has capacity, and a host whose GPUs the image has no driver for costs "
    "money and registers none of them; the other types work",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
    unless=("GPU060", "GPU101"),
)
def drives_all(pool: Pool) -> Problems:
    for each in _undriven(pool):
        if each.is_certain and each.leaves_others:
            yield each.problem(
                f"of the types of {pool.name}, image {each.image.name} cannot drive {or_list(each.types)}: "
                f"{each.reason}"
            )


@warning(
    "GPU099",
    question="is the machine image made for the accelerators of the instance types, or for hosts without any?",
    because="a plain image leaves GPUs and Neuron devices idle unless the user data installs a driver; on a host "
    "without GPUs the agents of GPU images from before October 2024 do not start",
    source="https://github.com/aws/amazon-ecs-agent/issues/2424",
    unless=("GPU052",),
)
def made_for(context: Context) -> Problems:
    for each in (each for pool in context.fleet.pools for each in _undriven(pool)):
        if each.is_certain:
            continue
        name, devices = each.image.name, each.types[0].accelerators
        if devices is None:
            yield each.problem(
                f"image {name} is not made for {or_list(each.types)}: {each.reason}",
                ways=() if _lacks_gpus(context, each.pool) else None,
            )
        else:
            yield each.problem(
                f"image {name} has no driver for the {devices.model} of {or_list(each.types)}: {_idle(each)}",
                ways=(each.images,),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undriven:
    """Types of one kind that the image of their pool cannot drive, and why for the first of them."""

    pool: Pool
    image: Image
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
            each.accelerators is not None and may_run(image, each, _release(pool)) for each in pool.instance_types
        )

    @property
    def has_no_devices(self) -> bool:
        """Whether a plain image certainly leaves their devices out, with what the user data sets and installs."""
        return has_no_devices(self.pool, self.types[0])

    @property
    def is_neuron(self) -> bool:
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
        return tuple(self._newer() if each is self.image else _with_image(self.pool, each) for each in self._others)

    def _newer(self) -> Way:
        """The same image in a later release, where it is pinned to one that is too old."""
        first = next(filter(None, (first_release(self.image, each) for each in self.types)), None)
        new = replace(self.pool, image=HostImage(image=self.image, release=first))
        return Way(text=f"release {first} of image {self.image.name}, or a later one", things=(new,))

    @property
    def ways(self) -> Ways:
        """Leaving the types out, where the pool has other ones, or an image that drives those as well."""
        release = _release(self.pool)
        driven = tuple(each for each in self.pool.instance_types if may_run(self.image, each, release))
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
            usable = [each for each in found if each.name in _OF_BATCH or each.accelerator is Vendor.NEURON]
            if _is_of_batch(self.pool, self.image) and not usable:
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
            property_name="ImageType" if _is_of_batch(self.pool, self.image) else _PROPERTY,
            value=self.image.name,
        )


def _undriven(pool: Pool) -> list[_Undriven]:
    """What the image of a pool cannot drive, by architecture and accelerator."""
    image = _image(pool)
    if image is None:
        return []
    answers = [(compatibility(image, each, _release(pool)), each) for each in pool.instance_types]
    refused = [(answer.reason, each) for answer, each in answers if answer.verdict is Verdict.CANNOT]
    alike = grouped((_kind(each), (reason, each)) for reason, each in refused if not is_declared(image, each))
    return [
        _Undriven(pool=pool, image=image, types=tuple(each for _, each in types), reason=types[0][0])
        for types in alike.values()
    ]


def _kind(each: InstanceType) -> Hashable:
    devices = each.accelerators
    return each.architecture, devices and (devices.vendor, devices.generation, devices.model)


def _with_image(pool: Pool, image: Image, why: str = "") -> Way:
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
    name = Word(f"ImageType {_OF_BATCH[image.name]}") if _is_of_batch(pool, image) else f"image {image}{by_id}"
    return Way(text=Text(name, ", with its user data in TOML" if toml else "", why), things=(new,))


def _is_of_batch(pool: Pool, image: Image) -> bool:
    return pool.kind is PoolKind.BATCH and pool.names_image is not True and image.name in _OF_BATCH


def _successors(pool: Pool) -> tuple[Way, ...]:
    """The images that AWS recommends today for the types of a pool; none without the driver that its image has."""
    found: list[Image] = []
    old = _image(pool)
    for each in pool.instance_types:
        with suppress(IncompatibleError):
            found.append(default_image(each))
    kept = (each for each in dict.fromkeys(found) if each.accelerator or old is None or not old.accelerator)
    # An image with the driver is not what comes after one without.
    is_alike = old is None or bool(old.accelerator)
    return tuple(
        _with_image(pool, each, ", which has taken its place" * (is_alike or not each.accelerator)) for each in kept
    )


def _lacks_gpus(context: Context, pool: Pool) -> bool:
    """Whether a GPU task waits on hosts without GPUs, which need other types before another image."""
    return not any(each.accelerators for each in pool.instance_types) and pool.name in context.gpu_workloads


_WANTS: Mapping[bool, Callable[[Task], bool]] = {
    False: lambda task: task.wants_gpu,
    True: lambda task: any(each.neuron_devices for each in task.containers),
}


def _waiting(context: Context, undriven: Iterable[_Undriven], wanted: _Undriven) -> tuple[Workload | Task, ...]:
    """What asks for the devices: of AWS Batch jobs, where everything was read and no compute environment has any."""
    pool, wants = wanted.pool, _WANTS[wanted.is_neuron]
    if pool.kind is not PoolKind.BATCH and not wanted.is_neuron:
        return context.gpu_workloads.get(pool.name, ())
    if pool.kind is not PoolKind.BATCH:
        may_be_installed = any(each.daemon is not False for each in context.fleet.workloads)
        routes = [each for each in context.routed(wants) if each.workload is None or each.workload.has_copies]
        sent = (r.sender for r in routes for each in r.destinations if each.pool is pool and each.is_certain)
        return () if may_be_installed else tuple(sent)
    vendor = wanted.types[0].vendor
    idle = {each.pool.name for each in undriven if each.has_no_devices}
    hosts = (each for each in context.fleet.pools if each.kind is PoolKind.BATCH)
    if not context.fleet.is_whole or any(
        not each.types_are_known or (each.name not in idle and any(one.vendor is vendor for one in each.instance_types))
        for each in hosts
    ):
        return ()
    return tuple([each for each in context.fleet.tasks if each.scheduler is Scheduler.BATCH and wants(each)])


def _image(pool: Pool) -> Image | None:
    return None if isinstance(pool.image, Unknown) else pool.image.image


def _release(pool: Pool) -> str | None:
    return None if isinstance(pool.image, Unknown) else pool.image.release


def _idle(undriven: _Undriven) -> str:
    if undriven.has_no_devices:
        what = "have no Neuron device" if undriven.is_neuron else "register no GPU"
        return f"its hosts {what}, and no task gets one"
    if undriven.pool.user_data.get(GPU_SUPPORT) is not None:
        return "ECS_ENABLE_GPU_SUPPORT registers it only if the user data installs one"
    return "no task gets it, unless the user data installs one"


def _registers_none(undriven: _Undriven) -> str:
    if undriven.is_neuron:
        return "nothing installs one, so that Docker finds no /dev/neuron0 and starts no container that is given it"
    if undriven.image.operating_system is OperatingSystem.BOTTLEROCKET:
        return "its hosts register no GPU, and no script can install one"
    if undriven.pool.user_data.get(GPU_SUPPORT) is not None:
        return "the user data installs none, so its hosts register no GPU"
    return "without ECS_ENABLE_GPU_SUPPORT=true its hosts register no GPU"


def _alike(instance_type: InstanceType, system: OperatingSystem) -> Image | None:
    if system is not OperatingSystem.BOTTLEROCKET:
        return None
    able = (each for each in IMAGES if each.operating_system is system)
    return next((each for each in able if compatibility(each, instance_type).verdict is Verdict.DRIVES), None)
