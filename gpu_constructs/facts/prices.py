"""What an instance type costs an hour on demand: a list price with its date, never without.

A snapshot of public price lists, see `Price.source`, for the types that are sold on demand in the recorded regions.
Spot prices change all the time and are not shipped; nor are the account's own (savings plans, discounts, taxes).
``make catalogue`` writes ``data/prices.json``.
"""

from __future__ import annotations

import datetime as dt
from functools import cache

from gpu_constructs.facts.records import read
from gpu_constructs.facts.values import dataclass

_REFERENCE_REGION = "us-east-1"  # the one whose list has the most types


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The on-demand list price of one Linux instance.

    Attributes:
        instance_type: The name AWS prints.
        region: The region whose price it is, which may stand in for another.
        recorded: The day it is of; of a list without a date, the day on which that was read.
        dated: Whether the list has a date; without, the price may be older than `recorded`.
    """

    instance_type: str
    usd_per_hour: float
    region: str
    recorded: dt.date
    source: str
    dated: bool

    def __str__(self) -> str:
        return f"{dollars(self.usd_per_hour)} an hour (on-demand list price, {self.region}, {self.day})"

    @property
    def day(self) -> str:
        """How old it is, as it is shown."""
        return f"{self.recorded}" if self.dated else f"an undated list read on {self.recorded}"


def on_demand_price(instance_type: str, region: str | None = None) -> Price | None:
    """The on-demand list price of an instance type; None where no list has one, as of types in Capacity Blocks alone.

    Where a region's price is not listed, or none is given, that of us-east-1 stands in, and `Price.region` says so.
    """
    asked = (_price(instance_type, each) for each in dict.fromkeys((region or _REFERENCE_REGION, _REFERENCE_REGION)))
    return next((each for each in asked if each is not None), None)


def dollars(amount: float) -> str:
    """An amount as it is shown: ``$55.04``."""
    return f"${amount:,.2f}"


@cache
def _price(instance_type: str, region: str) -> Price | None:
    file = read("prices")
    for key, prices in file["regions"].get(region, {}).items():
        if instance_type in prices:
            return Price(
                instance_type=instance_type,
                usd_per_hour=prices[instance_type],
                region=region,
                recorded=dt.date.fromisoformat(file["lists"][key]["recorded"]),
                source=file["lists"][key]["source"],
                dated=file["lists"][key]["dated"],
            )
    return None
