"""How the hosts of a capacity are bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aws_cdk import aws_autoscaling as autoscaling
from constructs import Construct

from gpu_constructs.arguments import whole_number
from gpu_constructs.fleet import Block, Distribution, Pool, PurchaseOption, Reservation

__all__ = ["Purchase"]

_PRICE_CAPACITY = "price-capacity-optimized"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """How the hosts of a capacity are bought. Made by one of the class methods; on demand by default.

    Attributes:
        option: How the hosts are bought, in one word.
        distribution: What of it is on demand and what is spot; None where it is all one.
        reservation: The capacity reservations that the hosts run in; None without.
        block: When the hosts of a Capacity Block are there; None for any other purchase.
        instances: Hosts that were bought in advance; None where the purchase has no such limit.
    """

    option: PurchaseOption = PurchaseOption.ON_DEMAND
    distribution: Distribution | None = None
    reservation: Reservation | None = None
    block: Block | None = None
    instances: int | None = field(default=None)

    @classmethod
    def on_demand(cls) -> Purchase:
        """On demand, by the second, in whatever capacity there is."""
        return cls()

    @classmethod
    def spot(cls, *, on_demand_base: int = 0) -> Purchase:
        """Spot, allocated by price and capacity, above a base on demand.

        Args:
            on_demand_base: Hosts on demand before any spot host starts. By default none.

        Raises:
            InvalidValueError: The base is no whole number.
        """
        base = whole_number("on_demand_base", on_demand_base, smallest=0, unit="hosts", fix="on_demand_base=1")
        return cls(
            option=PurchaseOption.MIXED if on_demand_base else PurchaseOption.SPOT,
            distribution=Distribution(on_demand_base=base, on_demand_percentage=0, spot_allocation=_PRICE_CAPACITY),
        )

    @property
    def needs_one_zone(self) -> bool:
        """Whether what was bought is in one Availability Zone, so that hosts start nowhere else."""
        return False

    def require_possible(self, pool: Pool) -> None:
        """Refuses what contradicts the capacity.

        Args:
            pool: What the capacity can launch, this purchase included.

        Raises:
            IncompatibleError: AWS refuses the purchase with something else of the capacity.
        """

    def launch_template_data(self) -> Mapping[str, object]:
        """What it adds to ``LaunchTemplateData``."""
        return {}

    def group_properties(self) -> Mapping[str, object]:
        """What it adds to the properties of the Auto Scaling group."""
        return {}

    def instances_distribution(self) -> autoscaling.InstancesDistribution | None:
        """The distribution of a mixed instances policy; None where none is needed for one type."""
        if self.distribution is None:
            return None
        return autoscaling.InstancesDistribution(
            on_demand_base_capacity=self.distribution.on_demand_base,  # type: ignore[arg-type]
            on_demand_percentage_above_base_capacity=0,
            on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
            spot_allocation_strategy=autoscaling.SpotAllocationStrategy.PRICE_CAPACITY_OPTIMIZED,
        )

    def add_to(self, scope: Construct, group: autoscaling.AutoScalingGroup) -> None:
        """Defines what it needs beside the Auto Scaling group.

        Args:
            scope: The capacity.
            group: Its Auto Scaling group.
        """
