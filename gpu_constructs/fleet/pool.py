"""A pool: what one ECS capacity provider over an Auto Scaling group can launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet.unknown import Unknown
from gpu_constructs.hardware import Architecture, Image, InstanceType, Vendor

__all__ = ["HostImage", "Pool", "Shape", "require_one_shape"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Shape:
    """What every type of one pool must have in common.

    ECS managed scaling looks at the smallest type of an Auto Scaling group only; a task that needs more than that never
    makes the group grow
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html).

    Attributes:
        architecture: Processor architecture, which decides the AMI and the container images that run.
        vendor: Vendor of the accelerators, None on a CPU pool.
        count: Whole accelerators of one host.
        partition: The part of a whole GPU that one device is; below 1 on G6f and Gr6f.
    """

    architecture: Architecture
    vendor: Vendor | None
    count: int
    partition: float

    @classmethod
    def of(cls, instance_type: InstanceType) -> Shape:
        """The shape of one instance type."""
        devices = instance_type.accelerators
        if devices is None:
            return cls(architecture=instance_type.architecture, vendor=None, count=0, partition=1.0)
        return cls(
            architecture=instance_type.architecture,
            vendor=devices.vendor,
            count=devices.count,
            partition=devices.partition,
        )

    def __str__(self) -> str:
        if self.vendor is None:
            return f"no accelerator, {self.architecture}"
        name = {Vendor.NVIDIA: "NVIDIA GPU", Vendor.AMD: "AMD GPU"}.get(self.vendor, f"{self.vendor} device")
        if self.partition < 1:
            return f"{self.partition:g} of an {name}, {self.architecture}"
        return f"{self.count} {name}{'s' if self.count != 1 else ''}, {self.architecture}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostImage:
    """The machine image of a pool's hosts, and how its AMI id is found.

    Attributes:
        image: What the image can do. For a custom AMI these are the capabilities that its owner declares.
        release: The pinned release, ``custom`` for an AMI of the user's own; None follows the newest at every deploy.
    """

    image: Image
    release: str | None = None

    @property
    def is_floating(self) -> bool:
        """Whether a deploy may change the AMI of hosts that start after it, without a change in the app."""
        return self.release is None

    @property
    def ssm_parameter(self) -> str:
        """The public SSM parameter that holds the AMI id."""
        if self.release is None:
            return self.image.ssm_parameter
        return self.image.pinned_ssm_parameter.format(release=self.release)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Hosts of one shape behind one capacity provider.

    Attributes:
        name: How the user calls it; the construct id.
        instance_types: What it may launch, in the user's order of preference; empty where every type is a token.
        image: The machine image of its hosts.
        min_instances: Hosts that are always there.
        max_instances: Hosts at most.
        region: Where it launches them; None if that is only known at deploy time.
        managed_termination_protection: Whether ECS protects hosts with tasks from scale-in.
        has_unknown_types: Whether a type is a token, so that nothing can be said about the smallest host.
    """

    name: str
    instance_types: tuple[InstanceType, ...]
    image: HostImage
    min_instances: int | Unknown
    max_instances: int | Unknown
    region: str | None = None
    managed_termination_protection: bool = False
    has_unknown_types: bool = False

    @property
    def shape(self) -> Shape | None:
        """What all its types have in common; None where every type is a token."""
        return Shape.of(self.instance_types[0]) if self.instance_types else None


def require_one_shape(instance_types: Iterable[InstanceType], *, argument: str) -> None:
    """Refuses types that one capacity provider cannot serve together.

    Args:
        instance_types: What the pool should launch.
        argument: The argument they came from, for the error.

    Raises:
        IncompatibleError: Two of them differ in GPU count, partition, vendor or architecture.
    """
    by_shape: dict[Shape, list[str]] = {}
    for instance_type in instance_types:
        by_shape.setdefault(Shape.of(instance_type), []).append(instance_type.name)
    if len(by_shape) <= 1:
        return
    groups = "; ".join(f"{shape}: {', '.join(names)}" for shape, names in by_shape.items())
    raise IncompatibleError(
        f"these types have different shapes ({groups}), and managed scaling of one capacity provider only looks at the "
        "smallest",
        argument=argument,
        value=[name for names in by_shape.values() for name in names],
        allowed="types with the same number of accelerators of one vendor and the same architecture",
        fix=f"one add_capacity for each shape ({len(by_shape)} here), or add_family for a whole family",
    )
