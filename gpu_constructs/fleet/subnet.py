"""A subnet that hosts are launched in."""

from __future__ import annotations

from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet that hosts are launched in, as far as the files say which.

    Attributes:
        id: Its id, such as ``subnet-0a1b2c3d``, of one that exists; None where that is not written.
        zone: Its Availability Zone, such as ``eu-west-1a``; None where that is not written.
        zone_index: Which zone of those that ``Fn::GetAZs`` gives it takes, from 0; None where it takes none of them.
        is_new: Whether the files define it, so that the deploy makes it.
    """

    id: str | None = None
    zone: str | None = None
    zone_index: int | None = None
    is_new: bool = False
