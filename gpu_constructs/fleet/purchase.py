"""How the hosts of a pool are bought, as it is written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpu_constructs.fleet.unknown import Unknown

__all__ = ["Block", "Distribution", "PurchaseOption", "Reservation"]


class PurchaseOption(Enum):
    """How the hosts of a pool are bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    MIXED = "on-demand and spot"
    CAPACITY_BLOCK = "capacity-block"
    RESERVED = "reserved"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What of a group is on demand and what is spot.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html

    Attributes:
        on_demand_base: Hosts on demand before any other.
        on_demand_percentage: Percent of the hosts above the base that are on demand.
        spot_allocation: The allocation strategy of spot hosts as written; None if nothing was.
    """

    on_demand_base: int | Unknown = 0
    on_demand_percentage: int | Unknown = 100
    spot_allocation: str | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The capacity reservations that hosts run in.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html

    Attributes:
        preference: As written, such as ``capacity-reservations-only``; None if nothing was.
        id: The one reservation that is named; None without.
        group: The resource group of reservations that is named, by its ARN; None without.
        instances: Hosts that are reserved, as far as their owner says so.
    """

    preference: str | Unknown | None = None
    id: str | Unknown | None = None
    group: str | Unknown | None = None
    instances: int | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """When the hosts of a Capacity Block are started and when they have to be gone.

    Attributes:
        starts: When the group grows, in UTC as written, such as ``2026-12-01T11:30:00Z``; None if nothing says so.
        ends: When the group shrinks to none, likewise; None if nothing says so.
    """

    starts: str | Unknown | None = None
    ends: str | Unknown | None = None
