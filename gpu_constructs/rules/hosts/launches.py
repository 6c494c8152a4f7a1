"""Launches: does EC2 accept what the launch template and the group name, and is there room for images?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gpu_constructs.errors import brief
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.aws_limits import (
    GP3_IOPS_FOR_EACH_MIB_PER_SECOND,
    GP3_IOPS_INCLUDED,
    GP3_MAX_GIB,
    GP3_MAX_MIB_PER_SECOND,
    GP3_MIN_MIB_PER_SECOND,
)
from gpu_constructs.facts.image_table import IMAGE_VOLUMES, ROOT_DEVICE, ImageVolume
from gpu_constructs.facts.servers import is_large
from gpu_constructs.fleet import UNKNOWN, LocalDiskUse, Pool, Task, Unknown, Workload
from gpu_constructs.rules.finding import or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning
from gpu_constructs.template.resources.section import Section

_IN_CDK = "in CDK the feature flag @aws-cdk/aws-autoscaling:generateLaunchTemplateInsteadOfLaunchConfig makes one"


@error(
    "GPU055",
    question="are the hosts launched from a launch template?",
    because="EC2 Auto Scaling does not launch instance types that were released after 2022-12-31 from a launch "
    "configuration, and accounts that were created since 2024-10-01 cannot create one",
    softer="where every type is older",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-launch-config.html",
)
def launch_template(pool: Pool) -> Problems:
    if not pool.launch_configuration:
        return
    newer = [each for each in pool.instance_types if each.traits.released_after_2022]
    is_of_cdk = pool.origin is not None and pool.origin.construct_path is not None
    yield Problem(
        message=f"a launch configuration cannot launch {or_list(newer)}: types that were released after "
        "2022-12-31 are refused"
        if newer
        else f"{pool.name} has a launch configuration, which accounts since 2024-10-01 cannot create",
        fix=f"a launch template; {_IN_CDK}" if is_of_cdk else "a launch template",
        property_name="LaunchConfigurationName",
        is_certain=bool(newer),
    )


_ON_LINUX = IMAGE_VOLUMES[OperatingSystem.AMAZON_LINUX_2023]
_ON_BOTTLEROCKET = IMAGE_VOLUMES[OperatingSystem.BOTTLEROCKET]
_LEAST_GIB = 50
_IN_RANGE = "a throughput in that range"
_AMAZON_LINUX = frozenset({OperatingSystem.AMAZON_LINUX_2, OperatingSystem.AMAZON_LINUX_2023})
# Volumes that are often named for the one with the images: the root of Ubuntu, and the system of Bottlerocket.
_MISTAKEN = frozenset({"/dev/sda1", ROOT_DEVICE})
# What puts the images of Docker elsewhere: another directory, or a volume or a link in place of its own.
_MOVES_IMAGES = re.compile(
    r"\bdata-root\b|^(?=.*/var/lib/(?:docker|containerd)/?(?![\w/-])).*(?:\bmount\b|\bfstab\b|\bln -s|/dev/(?!null))",
    re.MULTILINE,
)


@error(
    "GPU267",
    question="does EBS offer volumes of this size and speed?",
    because=f"a root volume has the size of its image or more, {_ON_LINUX.gib} GiB on Amazon Linux; io1 and io2 take "
    f"Iops; a gp3 volume has {GP3_MAX_GIB} GiB at most, {GP3_IOPS_INCLUDED} IOPS or more, {GP3_MIN_MIB_PER_SECOND} to "
    f"{GP3_MAX_MIB_PER_SECOND} MiB/s, and {GP3_IOPS_FOR_EACH_MIB_PER_SECOND} IOPS for each MiB/s; EC2 refuses other "
    "values when it launches a host",
    source="https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html",
)
def volumes_exist(context: Context) -> Problems:
    for pool, volume in ((pool, each) for pool, there in context.once(_volumes).items() for each in there):
        if volume.type in {"io1", "io2"} and not volume.settings.has("Iops"):
            yield Problem(
                about=pool,
                property_name="BlockDeviceMappings.Ebs.Iops",
                message=f"volume {brief(str(volume.device))} of {pool.name} has the type {volume.type} and no Iops, "
                "which this type takes",
                fix="Iops, or the type gp3",
            )
        is_linux = pool.has_image_of_aws and pool.operating_system in _AMAZON_LINUX
        is_root = is_linux and volume.device == ROOT_DEVICE
        if is_root and isinstance(volume.size_gib, int) and volume.size_gib < _ON_LINUX.gib:
            yield Problem(
                about=pool,
                property_name="BlockDeviceMappings.Ebs.VolumeSize",
                value=volume.size_gib,
                allowed=f"{_ON_LINUX.gib} GiB or more",
                message=f"the root volume of {pool.name} has {volume.size_gib} GiB, and the snapshot of its image "
                f"{_ON_LINUX.gib}",
                fix="as much as the snapshot, or more, as images with CUDA take",
            )
        if volume.type == "gp3":
            for name, value, allowed, fix in _refused(volume):
                yield Problem(
                    about=pool,
                    property_name=f"BlockDeviceMappings.Ebs.{name}",
                    value=value,
                    allowed=allowed,
                    message=f"volume {brief(str(volume.device))} of {pool.name} has {name} {value}, and gp3 has "
                    f"{allowed}",
                    fix=fix,
                )


class _Volume(NamedTuple):
    device: str | Unknown
    settings: Section

    @property
    def size_gib(self) -> int | Unknown | None:
        return UNKNOWN if self.settings.has("SnapshotId") else self.settings.integer("VolumeSize")

    @property
    def type(self) -> str | Unknown | None:
        return self.settings.text("VolumeType")


def _volumes(context: Context) -> dict[Pool, list[_Volume]]:
    """Volumes of each pool; AWS Batch takes those of a template over, as AWS's own example of one has it.

    https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html
    """
    return {
        pool: [
            _Volume(each.text("DeviceName") or "", each.section("Ebs"))
            for each in data.sections("BlockDeviceMappings")
            if each.has("Ebs")
        ]
        for pool, data in context.launched
    }


def _refused(volume: _Volume) -> Iterator[tuple[str, int, str, str]]:
    size, iops, speed = volume.size_gib, volume.settings.integer("Iops"), volume.settings.integer("Throughput")
    if isinstance(size, int) and size > GP3_MAX_GIB:
        yield "VolumeSize", size, f"{GP3_MAX_GIB} at most", f"{GP3_MAX_GIB} or less"
    if isinstance(iops, int) and iops < GP3_IOPS_INCLUDED:
        yield "Iops", iops, f"{GP3_IOPS_INCLUDED} or more", "leave Iops out"
    if not isinstance(speed, int):
        return
    if not GP3_MIN_MIB_PER_SECOND <= speed <= GP3_MAX_MIB_PER_SECOND:
        yield "Throughput", speed, f"{GP3_MIN_MIB_PER_SECOND} to {GP3_MAX_MIB_PER_SECOND} MiB/s", _IN_RANGE
    elif not isinstance(iops, Unknown):
        there = iops or GP3_IOPS_INCLUDED
        most = there // GP3_IOPS_FOR_EACH_MIB_PER_SECOND
        if speed > most:
            yield "Throughput", speed, f"{most} MiB/s at most with {there} IOPS", "more Iops, or a lower Throughput"


@warning(
    "GPU268",
    question="is there room for the images of GPU containers?",
    because="images with CUDA and PyTorch take 10 to 30 GiB once they are unpacked, next to the weights of models and "
    "the images of the last version, and a task whose image finds no room does not start; the machine images of ECS "
    f"come with {_ON_LINUX.gib} GiB on volume {_ON_LINUX.device}, on Bottlerocket with {_ON_BOTTLEROCKET.gib} on "
    f"{_ON_BOTTLEROCKET.device}, which a size for another device does not change",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-ami-storage-config.html",
)
def room_for_images(context: Context) -> Problems:
    volumes = context.once(_volumes)
    for pool, waiting in context.awaited(lambda pool: pool.names_image is True or bool(volumes.get(pool))):
        if _moves_images(pool):
            continue
        there = volumes.get(pool, ())
        size = _gib_for_images(pool, there)
        if size is None and not there and any(map(_runs_large_image, waiting)):
            size = _volume_of(pool).gib
        if size is not None and size < _LEAST_GIB:
            yield Problem(
                about=pool,
                property_name="BlockDeviceMappings.Ebs.VolumeSize",
                value=size,
                allowed=f"{_LEAST_GIB} GiB or more",
                message=f"the hosts of {pool.name} have {size} GiB for container images",
                fix=f"BlockDeviceMappings with 100 GiB or more for {_volume_of(pool).device}",
            )
    for pool in context.fleet.pools:
        yield from _for_another_volume(pool, {each.device for each in volumes.get(pool, ())})


def _for_another_volume(pool: Pool, devices: Collection[str | Unknown]) -> Problems:
    """A size that is set for another device than the one with the images."""
    system = pool.operating_system
    if isinstance(system, Unknown) or not pool.user_data.complete or _moves_images(pool):
        return
    device, gib = IMAGE_VOLUMES[system].device, IMAGE_VOLUMES[system].gib
    mistaken = sorted(_MISTAKEN & {each for each in devices if isinstance(each, str)})
    if mistaken and device not in devices and not any(isinstance(each, Unknown) for each in devices):
        yield Problem(
            about=pool,
            property_name="BlockDeviceMappings.DeviceName",
            value=mistaken[0],
            allowed=device,
            message=f"the hosts of {pool.name} have a volume {mistaken[0]}, and container images are on {device}, "
            f"which keeps {gib} GiB",
            fix=f"DeviceName {device}",
            changes="BlockDeviceMappings",
        )


def _volume_of(pool: Pool) -> ImageVolume:
    """The volume with the container images; that of Amazon Linux where the system is not known."""
    system = pool.operating_system
    return _ON_LINUX if isinstance(system, Unknown) else IMAGE_VOLUMES[system]


def _moves_images(pool: Pool) -> bool:
    data = pool.user_data
    return data.local_disks is LocalDiskUse.IMAGES or _MOVES_IMAGES.search(data.commands) is not None


def _gib_for_images(pool: Pool, volumes: Collection[_Volume]) -> int | None:
    system = pool.operating_system
    if isinstance(system, Unknown) or any(isinstance(each.device, Unknown) for each in volumes):
        return None
    found = [each.size_gib for each in volumes if each.device == IMAGE_VOLUMES[system].device]
    return found[0] if found and isinstance(found[0], int) else None


def _runs_large_image(waiting: Workload | Task) -> bool:
    task = waiting if isinstance(waiting, Task) else waiting.task
    containers = () if task is None else task.containers
    return any(isinstance(each.image, str) and is_large(each.image) for each in containers)
