"""The machine image of a pool's hosts: pinned, newest, or an AMI of the user.

The table of images is in `gpu_constructs.facts`; this file turns a row of it into what a launch template takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cache

from aws_cdk import aws_ec2 as ec2

from gpu_constructs.cdk.kinds import names_checked
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, shown, unexpected
from gpu_constructs.facts import (
    Architecture,
    Image,
    InstanceType,
    OperatingSystem,
    Vendor,
    default_image,
    image,
    newest_release,
    release_problem,
)
from gpu_constructs.facts.image_table import ROOT_DEVICE
from gpu_constructs.facts.own_image import NO_ACCELERATOR, own_image
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import HostImage

MACHINE_IMAGES = "GpuMachineImage.pinned('al2023-gpu'), .newest('al2023-gpu') or .custom(…)"


@dataclass(frozen=True, slots=True)
class GpuMachineImage:
    """Which AMI the hosts of a capacity run, and what is known about it.

    Made by one of the class methods. Without one, a capacity takes the image that drives its instance types, pinned to
    the newest release that this version of the library knows.

    Attributes:
        host_image: What the image can do and how its AMI id is found.
        machine_image: The CDK image of a custom AMI; None for an image of the table.
        takes_newest_known: Whether its release is the newest that this version of the library knows, whichever that is
            where the hosts run.
    """

    host_image: HostImage
    machine_image: ec2.IMachineImage | None = None
    takes_newest_known: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.host_image, HostImage):
            raise unexpected("host_image", self.host_image, "a HostImage", fix=MACHINE_IMAGES)

    @classmethod
    @names_checked
    def pinned(cls, name: str, release: str | None = None) -> GpuMachineImage:
        """One release of an ECS-optimized AMI or Bottlerocket variant: hosts change only when this line does.

        Args:
            name: The image, such as ``al2023-gpu``.
            release: Its release: an AMI name on Amazon Linux, such as
                ``al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs``, a version on Bottlerocket. By default
                the newest that this version of the library knows where the hosts run.

        Raises:
            InvalidValueError: No release is known, or the release cannot be part of a parameter name.
        """
        with argument_named("name"):
            row = image(name)
        chosen = release if release is not None else row.known_release
        if chosen is None:
            raise InvalidValueError(
                f"no release of {name} is known to this version of the library",
                argument="release",
                fix="name a release, or take GpuMachineImage.newest",
            )
        _require_release(row, chosen)
        return cls(HostImage(image=row, release=chosen), takes_newest_known=release is None)

    @classmethod
    @names_checked
    def newest(cls, name: str) -> GpuMachineImage:
        """The newest release at every deploy: hosts get patches, and any deploy may change their AMI.

        Args:
            name: The image, such as ``al2023-gpu``.
        """
        with argument_named("name"):
            return cls(HostImage(image=image(name)))

    @classmethod
    @names_checked
    def custom(
        cls,
        machine_image: ec2.IMachineImage,
        *,
        architecture: Architecture = Architecture.X86_64,
        accelerator: Vendor | None = Vendor.NVIDIA,
        driver_branch: int | None = None,
        driver_version: str | None = None,
        agent_version: str | None = None,
        has_mps_service: bool | None = None,
        operating_system: OperatingSystem = OperatingSystem.AMAZON_LINUX_2023,
        root_device: str = ROOT_DEVICE,
        image_device: str | None = None,
    ) -> GpuMachineImage:
        """Your own AMI, with what you declare that it can do; the declaration is checked like a row of the table.

        The template carries it, so that the check at synth and of files knows it. Hosts of an NVIDIA image get
        ``ECS_ENABLE_GPU_SUPPORT=true``, the setting of the agent that the GPU image of ECS brings.

        Args:
            machine_image: The AMI, for instance ``ec2.MachineImage.generic_linux({"us-east-1": "ami-…"})``. The ECS
                agent must be on it.
            architecture: Processor architecture it was built for.
            accelerator: Vendor whose driver is on it; None for a plain image.
            driver_branch: NVIDIA driver branch, such as 580. New GPUs came in the middle of a branch; where that
                decides, a warning says so.
            driver_version: The whole NVIDIA driver version, such as ``580.95.05``. Without it and a branch a warning
                says that no source confirms that the image drives the types.
            agent_version: Version of its ECS agent, such as ``1.107.0``, the first that shares GPUs.
            has_mps_service: Whether ``nvidia-mps.service`` is enabled on it, through which ECS shares GPUs. Without it
                and `agent_version` a warning says that no source confirms that its hosts share GPUs.
            operating_system: Decides the form of the user data.
            root_device: The system's own volume, such as ``/dev/sda1`` on Ubuntu.
            image_device: The volume that holds container images. By default the system's own, on Bottlerocket
                ``/dev/xvdb``.
        """
        if not hasattr(machine_image, "get_image"):
            raise unexpected(
                "machine_image",
                machine_image,
                "an ec2.IMachineImage",
                fix='ec2.MachineImage.generic_linux({"us-east-1": "ami-…"})',
            )
        facts = {
            "architecture": architecture,
            "accelerator": NO_ACCELERATOR if accelerator is None else accelerator,
            "driver_branch": driver_branch,
            "driver_version": driver_version,
            "agent_version": agent_version,
            "has_mps_service": has_mps_service,
            "operating_system": operating_system,
            "root_device": root_device,
            "image_device": image_device,
        }
        return cls(HostImage.own(own_image(facts)), machine_image)

    def in_region(self, region: str | None) -> GpuMachineImage:
        """The same where hosts run: a region that has no new releases takes the newest that is recorded there."""
        if not self.takes_newest_known:
            return self
        there = newest_release(self.host_image.image, region)
        return replace(self, host_image=replace(self.host_image, release=there))

    def to_machine_image(self) -> ec2.IMachineImage:
        """What a launch template takes."""
        if self.machine_image is not None:
            return self.machine_image
        return _by_parameter(self.host_image.ssm_parameter)


@cache  # nothing changes it, and it costs a call into Node
def _by_parameter(name: str) -> ec2.IMachineImage:
    return ec2.MachineImage.from_ssm_parameter(name, os=ec2.OperatingSystemType.LINUX)


def _require_release(row: Image, release: str) -> None:
    """Refuses what cannot be a release of this image; ``recommended`` and ``latest`` are not pins."""
    if is_token(release):
        raise InvalidValueError(
            "a release that is only known at deploy time cannot be in the name of an SSM parameter",
            argument="release",
            fix="take the release from context instead of a parameter",
        )
    reason = release_problem(row, release) if isinstance(release, str) else f"is not a release of {row.name}"
    if reason is not None:
        raise InvalidValueError(
            f"{shown(release)} {reason}",
            argument="release",
            value=release,
            fix=f"GpuMachineImage.pinned({row.name!r}) for {row.known_release}, the newest that is known here, or "
            f"GpuMachineImage.newest({row.name!r}) for the newest at every deploy",
        )


def image_for(types: Sequence[InstanceType]) -> GpuMachineImage:
    """The image that drives these types, pinned to its newest known release, or following it if none is known."""
    rows = {row.name: (row, each) for each in types for row in (default_image(each),)}
    if len(rows) > 1:
        sides = ", ".join(f"{each} needs {row.name}" for row, each in rows.values())
        raise IncompatibleError(
            f"no single image drives all of these types: {sides}",
            argument="instance_types",
            value=[each.name for each in types],
            fix="one add_capacity for each image",
        )
    ((row, _),) = rows.values()
    return GpuMachineImage(HostImage(image=row, release=row.known_release), takes_newest_known=True)
