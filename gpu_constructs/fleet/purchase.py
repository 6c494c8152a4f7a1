"""How the hosts of a pool are bought, as it is written."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from gpu_constructs.fleet.subnet import Subnet
from gpu_constructs.fleet.unknown import Unknown
from gpu_constructs.values import dataclass

RESERVATIONS_ONLY = "capacity-reservations-only"
"""The preference with which hosts start in a capacity reservation or not at all."""

RESERVATIONS_FIRST = "capacity-reservations-first"
"""The preference with which hosts start on demand where no capacity reservation has room."""


class PurchaseOption(Enum):
    """How the hosts of a pool are bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    MIXED = "on-demand and spot"
    CAPACITY_BLOCK = "capacity-block"
    RESERVED = "reserved"

    def __str__(self) -> str:
        return self.value


PARTLY_SPOT = frozenset({PurchaseOption.SPOT, PurchaseOption.MIXED})
"""With these a host may be spot."""

BOUGHT_IN_ADVANCE = frozenset({PurchaseOption.CAPACITY_BLOCK, PurchaseOption.RESERVED})
"""With these hosts start in what was bought before they did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What of a group is on demand and what is spot.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html

    Attributes:
        on_demand_base: Hosts on demand before any other.
        on_demand_percentage: Percent of the hosts above the base that are on demand.
        spot_allocation: The allocation strategy of Spot hosts as written; None if nothing was.
        segments: Types of capacity to take one after the other, such as ``capacity-block``, of all its distribution
            segments; empty without.
        template_option: How the launch template would buy without a mixed instances policy.
    """

    on_demand_base: int | Unknown = 0
    on_demand_percentage: int | Unknown = 100
    spot_allocation: str | Unknown | None = None
    segments: tuple[str | Unknown, ...] = ()
    template_option: PurchaseOption | Unknown = PurchaseOption.ON_DEMAND


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The capacity reservations that hosts run in.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html

    Attributes:
        preference: As written, such as ``capacity-reservations-only``; None if nothing was.
        id: The one reservation that is named, by its logical id where the files define it; unknown where several are,
            None without.
        group: The resource group of reservations that is named, likewise or by its ARN; None without.
        instances: Hosts that are reserved, as far as their owner says so, or those of the one reservation where the
            files define it; None where nothing says so.
        instance_type: The type that the one reservation is of, where the files define it; only templates say so.
        platform: Likewise its platform, such as ``Linux/UNIX``.
        zone: Likewise its Availability Zone; the subnet has no id.
    """

    preference: str | Unknown | None = None
    id: str | Unknown | None = None
    group: str | Unknown | None = None
    instances: int | Unknown | None = None
    instance_type: str | Unknown | None = field(default=None, compare=False)
    platform: str | Unknown | None = field(default=None, compare=False)
    zone: Subnet | None = field(default=None, compare=False)

    @property
    def is_targeted(self) -> bool:
        """Whether it names the reservations that it means, instead of any open one."""
        return self.id is not None or self.group is not None

    @property
    def comes_first(self) -> bool:
        """Whether hosts start in a reservation while there is room, instead of in one that happens to match."""
        return self.is_targeted or self.preference in {RESERVATIONS_FIRST, RESERVATIONS_ONLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """When the hosts of a Capacity Block are started and when they have to be gone.

    Attributes:
        starts: When the group grows, in UTC as written, such as ``2026-12-01T11:30:00Z``; None if nothing says so.
        ends: When the group shrinks to none, likewise; None if nothing says so.
    """

    starts: str | Unknown | None = None
    ends: str | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """How the hosts of a pool are bought.

    Attributes:
        option: In one word.
        distribution: What of it is on demand and what is spot, where its group has a mixed instances policy.
        reservation: The capacity reservations that the hosts run in, where any are named.
        block: When the hosts can be there, where they run in a Capacity Block.
        spot_request: The type of a Spot request as written, such as ``persistent``; None if nothing was, and in other
            places than a launch template. Only templates say so.
        max_price_usd_per_hour: The maximum price of a Spot host, a number as text; None without one, unknown as well
            where it is the price of a unit of which a host has several.
    """

    option: PurchaseOption | Unknown = PurchaseOption.ON_DEMAND
    distribution: Distribution | None = None
    reservation: Reservation | None = None
    block: Block | None = None
    max_price_usd_per_hour: str | Unknown | None = None
    spot_request: str | Unknown | None = field(default=None, compare=False)

    @property
    def reserved_alone(self) -> int | None:
        """Hosts that are reserved, where they start in nothing else and it is known how many these are."""
        found = None if self.reservation is None else self.reservation.instances
        return found if self.option in BOUGHT_IN_ADVANCE and isinstance(found, int) else None
