"""Which quotas of an account the hosts of a pool count against, and with how many vCPUs.

https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_constructs.fleet import Place, Pool, PoolKind, PurchaseOption, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.batch_vcpus import may_exceed_limit, most_of_last


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

    What is not known is left out.

    Args:
        pool: The pool.
        hosts: How many hosts; of AWS Batch, as many of the smallest type.
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
