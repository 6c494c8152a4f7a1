"""What hosts of a pool cost an hour, as far as a public list says."""

from __future__ import annotations

from gpu_constructs.fleet import PARTLY_SPOT, Pool, PurchaseOption
from gpu_constructs.hardware.prices import Price, dollars, on_demand_price
from gpu_constructs.values import dataclass

_AT_THE_ON_DEMAND_RATE = frozenset({PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED})
"""A capacity reservation is billed at the on-demand rate, with hosts in it or without, see
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What some hosts cost an hour.

    Attributes:
        hosts: How many.
        price: The list price of one, of the cheapest type of its pool.
        is_least: Whether the pool has other types, so that it may cost more.
        is_list_price_only: Whether the hosts are bought in another way than the price is for.
        is_spot: Whether some of them are Spot, whose prices are not shipped.
    """

    hosts: int
    price: Price
    is_least: bool = False
    is_list_price_only: bool = False
    is_spot: bool = False

    @property
    def usd_per_hour(self) -> float:
        """All of them, in US dollars an hour."""
        return self.hosts * self.price.usd_per_hour

    def __str__(self) -> str:
        price = self.price
        text = f"{'from ' if self.is_least else ''}{dollars(self.usd_per_hour)} an hour"
        what = "on-demand price, which these hosts are not bought at" if self.is_list_price_only else "on-demand price"
        what += "; Spot prices change all the time and are not shipped" if self.is_spot else ""
        return f"{text} ({self.hosts} {price.instance_type}, {what}, {price.region}, {price.day})"


def cost_of(pool: Pool, hosts: int) -> Cost | None:
    """What some hosts of a pool cost an hour.

    Returns:
        None where the types or their price are not known.
    """
    if not pool.types_are_known:
        return None
    prices = [on_demand_price(each.name, pool.region) for each in pool.instance_types]
    known = [each for each in prices if each is not None]
    if len(known) < len(prices):
        return None
    return Cost(
        hosts=hosts,
        price=min(known, key=lambda each: each.usd_per_hour),
        is_least=len(known) > 1,
        is_list_price_only=pool.bought.option not in _AT_THE_ON_DEMAND_RATE,
        is_spot=pool.bought.option in PARTLY_SPOT,
    )
