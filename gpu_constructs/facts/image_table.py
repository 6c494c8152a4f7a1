"""The ECS-optimized images AWS publishes, as rows, and the families for which a row does not tell the truth.

Facts as of 2026-11-21; the functions over them are in `images`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from enum import Enum

from gpu_constructs.facts.model import Architecture, InstanceType, Vendor
from gpu_constructs.facts.records import read
from gpu_constructs.facts.values import StrEnum, dataclass


class OperatingSystem(StrEnum):
    """Operating systems of the ECS-optimized images."""

    AMAZON_LINUX_2023 = "amazon-linux-2023"
    AMAZON_LINUX_2 = "amazon-linux-2"
    BOTTLEROCKET = "bottlerocket"


class Verdict(Enum):
    """Whether an image can run on an instance type and drive what it carries."""

    DRIVES = "drives"
    CANNOT = "cannot"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One published ECS image; ``str()`` of it is its name here.

    Attributes:
        name: Name in this table, such as ``al2023-gpu``.
        architecture: Processor architecture it is built for; None for an image of a user that is declared without.
        accelerator: Whose devices it has a driver for; None for a plain image.
        ssm_parameter: Public SSM parameter of the newest AMI id; what it resolves to changes with each release.
        pinned_ssm_parameter: The same for one release, which stands for ``{release}`` in it.
        known_release: Newest release that is widely published when recorded; None if none is known.
        stopped_in: Regions that had stopped before `known_release` when recorded, each with the newest release there;
            None if no region's releases are recorded.
        driver_branch: Branch of its NVIDIA driver; None without one.
        driver_version: Version of that driver in `known_release`; of an image of a user as declared, None if it is not.
        agent_version: Version of the ECS agent in `known_release`; of an image of a user as declared. None if unknown.
        has_mps_service: Whether ``nvidia-mps.service`` is enabled on an image of a user, as declared; None if not.
        end_of_life: Day after which AWS promises no updates; releases may still appear. None if no day is announced.
        root_device: Device name of its root volume.
        image_device: Device name of the volume that holds container images.
        line: Name of its releases in ``data/image_releases.json``; empty for images without an NVIDIA driver, and for
            those of a user.
    """

    name: str
    operating_system: OperatingSystem
    architecture: Architecture | None
    accelerator: Vendor | None
    ssm_parameter: str
    pinned_ssm_parameter: str
    known_release: str | None
    driver_branch: int | None
    driver_version: str | None
    agent_version: str | None
    end_of_life: date | None
    root_device: str
    image_device: str
    source: str
    stopped_in: tuple[tuple[str, str], ...] | None = None
    line: str = ""
    has_mps_service: bool | None = None

    def __str__(self) -> str:
        return self.name

    def may_boot(self, instance_type: InstanceType) -> bool:
        """Whether nothing says that it is built for another architecture than a type has."""
        return self.architecture in {None, instance_type.architecture}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageVolume:
    """The device of a host that holds container images, and its size where a launch template gives none."""

    device: str
    gib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageException:
    """Families for which an image does not do what its row says.

    Attributes:
        architecture: Architecture of these images; None for all.
        below_branch: First driver branch to which it does not apply; None if it applies to all.
    """

    operating_system: OperatingSystem
    families: frozenset[str]
    verdict: Verdict
    reason: str
    source: str
    architecture: Architecture | None = None
    below_branch: int | None = None


_AL2023 = OperatingSystem.AMAZON_LINUX_2023
_AL2 = OperatingSystem.AMAZON_LINUX_2
_BOTTLEROCKET = OperatingSystem.BOTTLEROCKET

ROOT_DEVICE = "/dev/xvda"
"""Device name of the root volume of every image."""

_OF_AMAZON_LINUX = ImageVolume(device=ROOT_DEVICE, gib=30)
IMAGE_VOLUMES: Mapping[OperatingSystem, ImageVolume] = {
    _AL2023: _OF_AMAZON_LINUX,
    _AL2: _OF_AMAZON_LINUX,
    # Bottlerocket keeps containers and their images on its second, writable volume.
    _BOTTLEROCKET: ImageVolume(device="/dev/xvdb", gib=20),
}
"""Where the images of a system keep container images.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-ami-storage-config.html
"""

_X86 = Architecture.X86_64
_ARM = Architecture.ARM64

# The releases that the images are pinned to. They belong to the release of this library, and no newer catalogue changes
# them: a pin moves when the library is updated.
_PINNED = read("pinned_images")
# Regions with no newer release than that of a day, which is the same for every image of Amazon Linux.
_STOPPED: Mapping[str, str] = _PINNED["stopped"]

RELEASE_DAY = re.compile(r"20\d{6}")
"""The day in the name of an Amazon Linux AMI."""
_KERNEL = "kernel-5.10"  # the other kernel of Amazon Linux 2, whose first one stands in no name
_AL2_END = date(2026, 6, 30)
_AL2023_END = date(2029, 6, 30)  # https://docs.aws.amazon.com/linux/al2023/ug/release-cadence.html
_FIRST_FIPS = 2  # variants 2 and 3 are published in a form for FIPS 140-3 as well

_BOTTLEROCKET_DRIVERS = "https://bottlerocket.dev/en/os/1.66.x/version-information/gpu-drivers/1.66.0/"
_BOTTLEROCKET_VARIANTS = "https://bottlerocket.dev/en/os/1.62.x/version-information/variants/"
_EKS_IMAGES = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"

_DEVICES = {"gpu": Vendor.NVIDIA, "inf": Vendor.NEURON, "neuron": Vendor.NEURON}


def _amazon_linux(system: OperatingSystem, kind: str = "", kernel: str = "") -> Image:
    """An image whose name, parameter and AMI are made of the same parts; a kind is a device or ``arm64``."""
    device, architecture = kind if kind in _DEVICES else "", _ARM if kind == "arm64" else _X86
    pinned = _PINNED[system]
    release, driver = pinned["release"], pinned["driver"]
    if system is _AL2:
        short, ami = "al2", _joined("-", "amzn2-ami-ecs", kernel, device, "hvm", release, architecture, "ebs")
    else:
        end = "ebs" if device == "gpu" else ""
        short = "al2023"
        ami = _joined("-", "al2023-ami-ecs", device, "hvm", release, "kernel-6.1", architecture, end)
    parameter = _joined("/", "/aws/service/ecs/optimized-ami", system, kernel, kind)
    return Image(
        name=_joined("-", short, kernel, kind),
        operating_system=system,
        architecture=architecture,
        accelerator=_DEVICES.get(device),
        ssm_parameter=f"{parameter}/recommended/image_id",
        pinned_ssm_parameter=f"{parameter}/{{release}}/image_id",
        known_release=ami,
        driver_branch=int(driver.partition(".")[0]) if device == "gpu" else None,
        driver_version=driver if device == "gpu" else None,
        agent_version=pinned["agent"],
        end_of_life=_AL2_END if system is _AL2 else _AL2023_END,
        root_device=ROOT_DEVICE,
        image_device=IMAGE_VOLUMES[system].device,
        source="https://github.com/aws/amazon-ecs-ami/releases",
        stopped_in=tuple((region, RELEASE_DAY.sub(day, ami)) for region, day in _STOPPED.items()),
        line=f"{short}-gpu" if device == "gpu" else "",
    )


def _joined(separator: str, *parts: object) -> str:
    return separator.join(str(each) for each in parts if str(each))


def _bottlerocket(variant: int, architecture: Architecture, accelerator: Vendor | None, fips: str = "") -> Image:
    suffix = f"{'-nvidia' if accelerator else ''}{fips}"
    pinned = _PINNED[_BOTTLEROCKET]
    parameter = f"/aws/service/bottlerocket/aws-ecs-{variant}{suffix}/{architecture}"
    return Image(
        name=f"bottlerocket-ecs-{variant}{suffix}-{architecture}",
        operating_system=_BOTTLEROCKET,
        architecture=architecture,
        accelerator=accelerator,
        ssm_parameter=f"{parameter}/latest/image_id",
        pinned_ssm_parameter=f"{parameter}/{{release}}/image_id",
        known_release=pinned["release"],
        driver_branch=int(pinned["driver"].partition(".")[0]) if accelerator else None,
        driver_version=pinned["driver"] if accelerator else None,
        agent_version=None,
        end_of_life=None,
        root_device=ROOT_DEVICE,
        image_device=IMAGE_VOLUMES[_BOTTLEROCKET].device,
        source=_BOTTLEROCKET_DRIVERS if accelerator else _BOTTLEROCKET_VARIANTS,
        # The FIPS form of variant 3 is as old as the variant.
        line=f"bottlerocket-ecs-{variant}{suffix if variant == _FIRST_FIPS else '-nvidia'}" if accelerator else "",
    )


# There is no arm64 Amazon Linux image with an NVIDIA driver: no SSM parameter in any region, no recipe
# (https://github.com/aws/amazon-ecs-ami issues 220 and 241).
IMAGES: tuple[Image, ...] = (
    *(_amazon_linux(_AL2023, kind) for kind in ("gpu", "neuron", "", "arm64")),
    *(
        _bottlerocket(variant, architecture, accelerator)
        for accelerator in (Vendor.NVIDIA, None)
        for variant in (2, 3, 4)
        for architecture in (_X86, _ARM)
    ),
    *(_amazon_linux(_AL2, kind, kernel) for kind in ("gpu", "inf") for kernel in ("", _KERNEL)),
    *(_amazon_linux(_AL2, kind, kernel) for kernel in ("", _KERNEL) for kind in ("", "arm64")),
    *(
        _bottlerocket(variant, architecture, accelerator, "-fips")
        for accelerator in (Vendor.NVIDIA, None)
        for variant in (_FIRST_FIPS, 3)
        for architecture in (_X86, _ARM)
    ),
)

EXCEPTIONS: tuple[ImageException, ...] = (
    ImageException(
        operating_system=_AL2,
        families=frozenset({"g6f", "gr6f"}),
        verdict=Verdict.CANNOT,
        reason="a fraction of an L4 needs the GRID kernel module, which the Amazon Linux 2 image does not have",
        source="https://github.com/aws/amazon-ecs-ami/pull/546 (AL2023 only)",
    ),
    ImageException(
        operating_system=_AL2,
        families=frozenset({"inf2", "trn1", "trn1n", "trn2"}),
        verdict=Verdict.UNCONFIRMED,
        reason="the Amazon Linux 2 image pins an old Neuron driver that is meant for inf1",
        source="https://github.com/aws/amazon-ecs-ami (2.17.17 on kernel 4.14, 2.21 on kernel 5.10)",
    ),
    ImageException(
        operating_system=_AL2023,
        families=frozenset({"g7"}),
        verdict=Verdict.UNCONFIRMED,
        below_branch=595,
        reason="NVIDIA lists the RTX PRO 4500 from driver 580.142 on, and AWS asks for branch 595 or later on g7",
        source=(
            "README of https://github.com/NVIDIA/open-gpu-kernel-modules at 580.142, "
            "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html (595 or later)"
        ),
    ),
    ImageException(
        operating_system=_BOTTLEROCKET,
        families=frozenset({"g7"}),
        verdict=Verdict.UNCONFIRMED,
        reason=(
            "Bottlerocket 1.62.1 picks the proprietary kernel module for the RTX PRO 4500 of g7 and did not boot on "
            "EKS; whether a later release does is not confirmed"
        ),
        source="https://github.com/bottlerocket-os/bottlerocket/issues/4889",
    ),
    ImageException(
        operating_system=_BOTTLEROCKET,
        families=frozenset({"g3", "g3s"}),
        verdict=Verdict.UNCONFIRMED,
        reason="branch 580 drives Maxwell, but AWS lists g3 for no Bottlerocket image",
        source=_EKS_IMAGES,
    ),
    ImageException(
        operating_system=_BOTTLEROCKET,
        families=frozenset({"g6f", "gr6f", "p6-b200", "p6-b300"}),
        verdict=Verdict.UNCONFIRMED,
        reason="AWS lists the family for Bottlerocket on EKS; for ECS, which shares its drivers, no page does",
        source=_EKS_IMAGES,
    ),
    ImageException(
        operating_system=_BOTTLEROCKET,
        architecture=_ARM,
        families=frozenset({"p6e-gb200"}),
        verdict=Verdict.CANNOT,
        reason=(
            "AWS publishes no arm64 ECS image for GB200: the arm64 Bottlerocket NVIDIA images are for g5g only, "
            "and the Amazon Linux 2023 GPU image is x86_64"
        ),
        source=_EKS_IMAGES,
    ),
)
