"""What a launch template says of its hosts beyond what decides where a task fits."""

from __future__ import annotations

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """An EBS volume of a host.

    Attributes:
        device: Such as ``/dev/xvda``.
        size_gib: Its size; None is that of the image.
        type: Such as ``gp3``; None if nothing was written.
        iops: As written; None if nothing was.
        throughput_mib_per_second: As written; None if nothing was.
    """

    device: str | Unknown = UNKNOWN
    size_gib: int | Unknown | None = None
    type: str | Unknown | None = None
    iops: int | Unknown | None = None
    throughput_mib_per_second: int | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchDetails:
    """What a launch template, a launch configuration or an instance says; only templates of CloudFormation do.

    Attributes:
        names_image: Whether it names a machine image.
        may_have_address: Whether hosts may get a public address, whatever their subnets say.
        volumes: Its EBS volumes.
    """

    names_image: bool | Unknown = UNKNOWN
    may_have_address: bool = True
    volumes: tuple[Volume, ...] = ()


NOTHING_SAID = LaunchDetails()
"""Of hosts whose launch template no file that was read defines."""
