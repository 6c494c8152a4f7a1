"""What hosts of a pool cost: list prices of each type that it may launch, and what is not known about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpu_constructs.fleet import PARTLY_SPOT, Pool, PoolKind, PurchaseOption, Unknown
from gpu_constructs.hardware.prices import Price, dollars, on_demand_price
from gpu_constructs.placement.reasons import listed
from gpu_constructs.values import dataclass

__all__ = ["HOURS_A_MONTH", "HostPrice", "Usd", "host_price", "sum_of"]

HOURS_A_MONTH = 730
"""A year of 8,760 hours by twelve, as AWS Pricing Calculator counts (https://docs.aws.amazon.com/pricing-calculator/)."""

_IN_ADVANCE = "the hours of a Capacity Block are paid in advance"
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-pricing-billing.html

_NOT_PRICED: Mapping[PoolKind, str] = {
    PoolKind.MANAGED_INSTANCES: "ECS chooses the hosts of Managed Instances, and AWS adds a management fee to their "
    "price",
}


@dataclass(frozen=True, slots=True)
class Usd:
    """An amount in US dollars, as far as it is known.

    Attributes:
        least: At least so much; None where that is not known, as of Spot hosts.
        most: At most so much.
    """

    least: float | None
    most: float

    def times(self, number: float) -> Usd:
        """So many of it."""
        return Usd(None if self.least is None and number else (self.least or 0.0) * number, self.most * number)

    def __str__(self) -> str:
        if self.least is None:
            return f"at most {dollars(self.most)}"
        least, most = dollars(self.least), dollars(self.most)
        return most if least == most else f"{least} to {most}"


def sum_of(amounts: Iterable[Usd]) -> Usd:
    """All of them together; without a least where one has none."""
    found = tuple(amounts)
    known = [each.least for each in found if each.least is not None]
    return Usd(sum(known) if len(known) == len(found) else None, sum(each.most for each in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPrice:
    """What one host of a pool costs an hour.

    Attributes:
        prices: The list price of each type that it may launch; empty where one of them is not known.
        is_spot: Whether some hosts are Spot: their price is not known, and is the on-demand price at most.
        is_paid: Whether it is paid in advance, so that an hour adds nothing.
        unknown: Why it is not known, or not charged by the hour, in words; empty where it is known.
    """

    prices: tuple[Price, ...] = ()
    is_spot: bool = False
    is_paid: bool = False
    unknown: str = ""

    def of(self, pool: Pool, hosts: int | Unknown) -> Usd | None:
        """What hosts cost an hour, whichever of the types they are; None where that is not known.

        Args:
            pool: The pool.
            hosts: How many; of AWS Batch, as many of the smallest type as come to its vCPUs.
        """
        if isinstance(hosts, Unknown):
            return None
        if not self.prices:
            return Usd(0.0, 0.0) if not hosts else None
        if pool.kind is PoolKind.BATCH:
            smallest = min(each.vcpus for each in pool.instance_types)
            numbers = [-(-hosts * smallest // each.vcpus) for each in pool.instance_types]
        else:
            numbers = [hosts] * len(self.prices)
        amounts = [number * each.usd_per_hour for number, each in zip(numbers, self.prices, strict=True)]
        return Usd(None if self.is_spot and hosts else min(amounts), max(amounts))


def host_price(pool: Pool) -> HostPrice:
    """What one host of a pool costs an hour."""
    option = pool.bought.option
    if option is PurchaseOption.CAPACITY_BLOCK:
        return HostPrice(is_paid=True, unknown=_IN_ADVANCE)
    if (why := _NOT_PRICED.get(pool.kind)) is not None:
        return HostPrice(unknown=why)
    if not pool.types_are_known:
        return HostPrice(unknown="its instance types are not all known before the deploy")
    if isinstance(option, Unknown):
        return HostPrice(unknown="how its hosts are bought is not known before the deploy")
    found = [(each.name, on_demand_price(each.name, pool.region)) for each in pool.instance_types]
    prices = tuple([price for _, price in found if price is not None])
    if len(prices) < len(found):
        missing = [name for name, price in found if price is None]
        return HostPrice(unknown=f"no price list that this library has names {listed(missing)}")
    return HostPrice(prices=prices, is_spot=option in PARTLY_SPOT)
