"""What hosts of a pool cost an hour, and what they count against quotas and limits in vCPUs.

https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html,
https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.prices import dollars, on_demand_price
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, PARTLY_SPOT, Place, Pool, PoolKind, PurchaseOption, Unknown

_AT_THE_ON_DEMAND_RATE = frozenset({PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED})
"""A capacity reservation is billed at the on-demand rate, with hosts in it or without, see
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html"""


class Cost(NamedTuple):
    """What some hosts cost, in US dollars an hour and in words."""

    usd_per_hour: float
    text: str


def cost_of(pool: Pool, hosts: int) -> Cost | None:
    """What some hosts of a pool cost; None where types or their price are not known.

    It is the list price of the cheapest type, however the hosts are bought.
    """
    prices = [on_demand_price(each.name, pool.region) for each in pool.instance_types]
    found = [each for each in prices if each is not None]
    if not pool.types_are_known or len(found) < len(prices):
        return None
    price, option = min(found, key=lambda each: each.usd_per_hour), pool.bought.option
    usd_per_hour = hosts * price.usd_per_hour
    text = f"{'from ' if len(found) > 1 else ''}{dollars(usd_per_hour)} an hour"
    what = "on-demand price"
    what += "" if option in _AT_THE_ON_DEMAND_RATE else ", which these hosts are not bought at"
    what += "; Spot prices change all the time and are not shipped" if option in PARTLY_SPOT else ""
    return Cost(usd_per_hour, f"{text} ({hosts} {price.instance_type}, {what}, {price.region}, {price.day})")


_TYPE_EC2 = BOUGHT_IN_ADVANCE | {PurchaseOption.ON_DEMAND}
"""How hosts are bought whose Type is ``EC2``, and not ``SPOT``."""


def may_exceed_limit(pool: Pool) -> bool:
    """Whether its last host may go above MaxvCpus: with every strategy but ``BEST_FIT``, and on Spot with that too."""
    return pool.allocation != "BEST_FIT" or pool.bought.option not in _TYPE_EC2


def full_hosts(pool: Pool) -> int | Unknown:
    """Hosts of the smallest type at MaxvCpus, which are the most that there can be.

    Where no host goes above the limit and none has room below it, it is one all the same: no page says that Batch then
    starts none.
    """
    limit = pool.max_vcpus
    if may_exceed_limit(pool) or limit is None or isinstance(limit, Unknown) or isinstance(pool.max_instances, Unknown):
        return pool.max_instances
    smallest = min(each.vcpus for each in pool.instance_types)
    return min(pool.max_instances, max(1, limit // smallest))


def most_of_last(pool: Pool, hosts: int) -> int:
    """The most vCPUs that are there when the last host starts, where so many of the smallest type come to the limit."""
    sizes = [each.vcpus for each in pool.instance_types]
    return max(0, hosts * min(sizes) - 1) // gcd(*sizes) * gcd(*sizes)


class Counted(NamedTuple):
    """A quota that vCPUs count against.

    Attributes:
        code: Its code in service ``ec2``.
        group: Its group of instance families, such as ``G/VT``.
        way: ``on-demand`` or ``spot``.
        doubt: Why the code is in doubt; None where it is not.
        place: The region and the account that it is a quota of.
    """

    code: str
    group: str
    way: str
    doubt: str | None
    place: Place


def vcpus_of(pool: Pool, hosts: int | Unknown) -> Iterator[tuple[Counted, int]]:
    """Quotas, and the vCPUs that hosts of a pool count against each at most.

    Of AWS Batch, `hosts` are as many of the smallest type. What is not known is left out.
    """
    if isinstance(hosts, Unknown):
        return
    place = place_of(pool)
    on_demand, spot = _hosts(pool, hosts)
    if pool.kind is PoolKind.BATCH:
        on_demand, spot = int(on_demand > 0), int(spot > 0)
    largest: dict[tuple[Counted, int], int] = {}
    for each in pool.instance_types:
        if each.quota is None:
            continue
        quota = each.quota
        ways = (
            (on_demand, quota.on_demand_code, "on-demand", None),
            (spot, quota.spot_code, "spot", quota.spot_note),
        )
        for most, code, way, doubt in ways:
            if most and code is not None:
                key = Counted(code, quota.group, way, doubt, place), most
                vcpus = _of_batch(pool, hosts, each) if pool.kind is PoolKind.BATCH else each.vcpus
                largest[key] = max(largest.get(key, 0), vcpus)
    for (counted, most), vcpus in largest.items():
        yield counted, most * vcpus


def _of_batch(pool: Pool, hosts: int, last: InstanceType) -> int:
    """The most vCPUs where the last host is of some type; Batch limits the vCPUs of all of them."""
    if may_exceed_limit(pool):
        return most_of_last(pool, hosts) + last.vcpus
    return hosts * min(each.vcpus for each in pool.instance_types)


def place_of(pool: Pool) -> Place:
    """The region and the account of a pool, as far as they are known."""
    account = None if pool.origin is None else pool.origin.place.account
    return Place(region=pool.region, account=account)


def _hosts(pool: Pool, hosts: int) -> tuple[int, int]:
    """How many hosts count against a quota on demand, and how many against one of spot.

    Capacity Blocks are paid in advance, and a reservation counted when it was made, so that hosts in it ask for nothing
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservation-overview.html).
    """
    if pool.bought.option is PurchaseOption.ON_DEMAND:
        return hosts, 0
    if pool.bought.option is PurchaseOption.SPOT:
        return 0, hosts
    if pool.bought.option is not PurchaseOption.MIXED:
        return 0, 0
    policy = pool.bought.distribution
    if policy is None or isinstance(policy.on_demand_base, Unknown) or isinstance(policy.on_demand_percentage, Unknown):
        return hosts, hosts
    base = min(hosts, policy.on_demand_base)
    # A part of a host may be rounded either way.
    above = (hosts - base) * policy.on_demand_percentage
    return base - (-above // 100), hosts - base - above // 100
