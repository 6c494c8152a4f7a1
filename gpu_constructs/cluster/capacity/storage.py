"""Where the hosts of a capacity keep container images and scratch data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import permutations
from math import ceil
from typing import TYPE_CHECKING

from aws_cdk import aws_ec2 as ec2

from gpu_constructs.cdk.arguments import flag, is_positive, known_number, known_or, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cdk.refusal import require_yes
from gpu_constructs.cluster.capacity.host_mounts import HostMount, prepare_mounts
from gpu_constructs.cluster.capacity.local_disks import SCRATCH_PATH, prepare_local_disks
from gpu_constructs.cluster.capacity.part import Contribution, HostPart
from gpu_constructs.errors import IncompatibleError, InvalidValueError, unexpected
from gpu_constructs.facts import Image, OperatingSystem
from gpu_constructs.facts.aws_limits import (
    GP3_IOPS_FOR_EACH_MIB_PER_SECOND,
    GP3_IOPS_INCLUDED,
    GP3_MAX_GIB,
    GP3_MAX_MIB_PER_SECOND,
    GP3_MIN_MIB_PER_SECOND,
)
from gpu_constructs.facts.image_table import IMAGE_VOLUMES
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, LocalDiskUse, Pool, Unknown

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

# EC2 refuses a volume that is smaller than the snapshot of its image.
_MIN_ROOT_VOLUME_GIB = IMAGE_VOLUMES[OperatingSystem.AMAZON_LINUX_2023].gib

_DEFAULT_ROOT_VOLUME_GIB = 100

# For each GiB of images: itself, half of it compressed while it is pulled, and the version before it, which stays until
# the agent cleans up (ECS_IMAGE_MINIMUM_CLEANUP_AGE, one hour by default).
_GIB_FOR_EACH_OF_IMAGES = 2.5

_GB_PER_GIB = 1024**3 / 1000**3


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class HostStorage(HostPart):
    """Where hosts keep container images and scratch data.

    A task reaches scratch space on local disks through a volume of its host::

        storage = HostStorage(scratch_on_local_disks=True)
        task.add_volume(name="scratch", host=ecs.Host(source_path=storage.scratch_path))

    Every task of a host may read and write there, and what it leaves stays until the host stops. Local disks are the
    NVMe instance store, encrypted by the hardware; several become one striped file system. A host on which they cannot
    be prepared never takes a task.

    Args:
        root_volume_gib: Size in GiB of the encrypted gp3 volume that holds container images; 30 at least. By default
            100, since CUDA images want no less, or what `images_gib` needs if that is more.
        images_gib: GiB of container images, unpacked as ``docker image ls`` shows them, that one host keeps at a time.
            The volume gets 30 GiB for the system and two and a half times the images: they themselves, half of them
            compressed during the pull, and the version that a deployment replaces. By default nothing is known of them.
        root_volume_mib_per_second: Throughput of the volume in MiB/s, 125 to 2000, with the IOPS it needs; images are
            unpacked no faster. By default 125, which is included.
        prefer_cached_images: Whether a host takes an image that it has without asking the registry, and never removes
            it. A tag that is moved is then not seen. By default it asks, and pulls what has changed.
        images_on_local_disks: Whether Docker keeps images and writable layers on local disks instead.
        scratch_on_local_disks: Whether tasks find scratch space on local disks; not on Bottlerocket.
        mounts: Shared storage that every host mounts, such as ``[HostMount.s3(bucket)]``; on Amazon Linux 2023.
    """

    root_volume_gib: int | None = None
    images_gib: float | None = None
    root_volume_mib_per_second: int | None = None
    prefer_cached_images: bool = False
    images_on_local_disks: bool = False
    scratch_on_local_disks: bool = False
    mounts: Sequence[HostMount] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "mounts", _mounts(self.mounts))
        for argument in ("prefer_cached_images", "images_on_local_disks", "scratch_on_local_disks"):
            flag(argument, getattr(self, argument))
        if self.root_volume_mib_per_second is not None:
            throughput = known_number(
                "root_volume_mib_per_second",
                self.root_volume_mib_per_second,
                smallest=GP3_MIN_MIB_PER_SECOND,
                largest=GP3_MAX_MIB_PER_SECOND,
                unit="MiB/s",
                fix="root_volume_mib_per_second=500",
                problem="a throughput that is only known at deploy time does not say how many IOPS it needs",
                known_by="root_volume_mib_per_second=500",
            )
            object.__setattr__(self, "root_volume_mib_per_second", throughput)
        # A token is no size, since that of the volume follows from it.
        largest = (GP3_MAX_GIB - _MIN_ROOT_VOLUME_GIB) / _GIB_FOR_EACH_OF_IMAGES
        if self.images_gib is not None and not is_positive(self.images_gib, largest):
            raise unexpected(
                "images_gib",
                self.images_gib,
                "the GiB of container images on one host",
                allowed=f"a number above 0 and up to {largest:g}",
                fix="images_gib=20, the sum of the sizes that docker image ls shows",
            )
        object.__setattr__(self, "root_volume_gib", self._root_volume_gib())

    def _root_volume_gib(self) -> int:
        on_root = 0.0 if self.images_on_local_disks else self.images_gib or 0.0
        if self.root_volume_gib is None:
            return max(_DEFAULT_ROOT_VOLUME_GIB, _root_for(on_root))
        volume = whole_number(
            "root_volume_gib",
            self.root_volume_gib,
            smallest=_MIN_ROOT_VOLUME_GIB,
            largest=GP3_MAX_GIB,
            unit="GiB",
            fix="root_volume_gib=100; CUDA images want no less",
        )
        if not isinstance(volume, Unknown) and on_root > volume:
            raise InvalidValueError(
                f"{on_root:g} GiB of images do not fit on a volume of {volume} GiB",
                argument="root_volume_gib",
                value=volume,
                allowed=f"{_root_for(on_root)} or more",
                fix="leave it out, and it follows images_gib",
            )
        return known_or(self.root_volume_gib, volume)

    @property
    def local_disks(self) -> LocalDiskUse:
        """What the local disks of a host are prepared for."""
        if self.images_on_local_disks:
            return LocalDiskUse.IMAGES
        return LocalDiskUse.SCRATCH if self.scratch_on_local_disks else LocalDiskUse.NONE

    @property
    def scratch_path(self) -> str | None:
        """The directory of a host that tasks mount for scratch data; None without `scratch_on_local_disks`."""
        return SCRATCH_PATH if self.scratch_on_local_disks else None

    def applied_to(self, pool: Pool) -> Pool:
        """A capacity with this storage, as the value that every check reads."""
        return replace(pool, user_data=replace(pool.user_data, local_disks=self.local_disks))

    def require_possible(self, pool: Pool) -> None:
        """Refuses what the hosts of a pool do not have.

        Whether a type that is a token has disks is known on its hosts only, which do not start Docker without. Rule
        GPU174 warns of it at synth, and of a type of which nothing recorded says whether it has disks.
        """
        if self.mounts and pool.operating_system not in {OperatingSystem.AMAZON_LINUX_2023, UNKNOWN}:
            raise IncompatibleError(
                f"{pool.operating_system} has no packages for shared storage that hosts mount",
                argument="mounts",
                value=[each.path for each in self.mounts],
                allowed="Amazon Linux 2023",
                fix="image=GpuMachineImage.pinned('al2023-gpu')",
            )
        if self.local_disks is LocalDiskUse.NONE:
            return
        argument = "images_on_local_disks" if self.images_on_local_disks else "scratch_on_local_disks"
        known = tuple(each for each in pool.instance_types if each.local_disks or each.regions)
        if known:
            require_yes(
                replace(pool, instance_types=known, has_unknown_types=False, unknown_type_names=()),
                "GPU174",
                arguments={"UserData": argument},
            )
        if self.scratch_on_local_disks and pool.operating_system is OperatingSystem.BOTTLEROCKET:
            raise IncompatibleError(
                "Bottlerocket uses local disks for system directories only, and tasks cannot mount these",
                argument="scratch_on_local_disks",
                value=True,
                allowed="Amazon Linux, or images_on_local_disks on Bottlerocket",
                fix="images_on_local_disks=True, and a Docker volume of the task, which is then on the local disks",
            )
        if self.images_on_local_disks and self.images_gib is not None:
            gb = self.images_gib * _GB_PER_GIB
            too_small = [each for each in pool.instance_types if each.local_disks and each.local_storage_gb < gb]
            if too_small:
                smallest = min(too_small, key=lambda each: each.local_storage_gb)
                raise IncompatibleError(
                    f"{self.images_gib:g} GiB of images do not fit on the local disks of {smallest.name}, "
                    f"{smallest.local_storage_gb} GB",
                    argument="images_gib",
                    value=self.images_gib,
                    fix="images on the root volume, or types with larger disks",
                )

    def contribute(self, adds: Contribution, pool: Pool) -> None:
        """Adds a setting of the agent, and what prepares local disks and mounts."""
        if self.prefer_cached_images:
            adds.agent["ECS_IMAGE_PULL_BEHAVIOR"] = "prefer-cached"
        if self.local_disks is not LocalDiskUse.NONE:
            adds.boot_commands += prepare_local_disks(
                pool.operating_system, scratch=self.scratch_on_local_disks, images=self.images_on_local_disks
            )
        adds.boot_commands += prepare_mounts(self.mounts)

    def volumes(self, image: Image, key: kms.IKey | None) -> list[ec2.BlockDevice]:
        """The EBS volumes of a host."""
        volume = _kept_volume if key is None else partial(_volume, key=key)
        throughput = self.root_volume_mib_per_second
        iops = 0 if throughput is None else GP3_IOPS_FOR_EACH_MIB_PER_SECOND * throughput
        images = volume(
            image.image_device, self.root_volume_gib, throughput, iops if iops > GP3_IOPS_INCLUDED else None
        )
        # Bottlerocket keeps its system on a separate volume, whose size is the snapshot's.
        return [images] if image.root_device == image.image_device else [volume(image.root_device), images]


def _mounts(given: Sequence[HostMount]) -> tuple[HostMount, ...]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, HostMount) for each in given):
        raise unexpected("mounts", given, "a list of HostMount", fix="mounts=[HostMount.s3(bucket)]")
    paths = [each.path for each in given]
    twice = next((each for each in paths if paths.count(each) > 1), None)
    if twice is not None:
        raise InvalidValueError(
            f"two mounts have the directory {twice}",
            argument="mounts",
            value=paths,
            fix="another path for one of them, such as path='/mnt/models'",
        )
    for inner, outer in permutations(paths, 2):
        if inner.startswith(f"{outer}/"):
            raise InvalidValueError(
                f"{inner} is inside {outer}, which is storage of its own",
                argument="mounts",
                value=paths,
                fix="paths of which none is inside another, such as /mnt/models and /mnt/data",
            )
    return tuple(given)


def _volume(
    device: str,
    size_gib: int | None = None,
    mib_per_second: int | None = None,
    iops: int | None = None,
    key: kms.IKey | None = None,
) -> ec2.BlockDevice:
    ebs = ec2.EbsDeviceProps(
        volume_size=size_gib,
        throughput=mib_per_second,
        iops=iops,
        encrypted=True,
        kms_key=key,
        volume_type=ec2.EbsDeviceVolumeType.GP3,
        delete_on_termination=True,
    )
    return ec2.BlockDevice(device_name=device, volume=ec2.BlockDeviceVolume(ebs))


_kept_volume = cache(_volume)  # nothing changes it, and it costs calls into Node


def _root_for(images_gib: float) -> int:
    return ceil(_MIN_ROOT_VOLUME_GIB + _GIB_FOR_EACH_OF_IMAGES * images_gib)
