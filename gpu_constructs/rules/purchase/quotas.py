"""What a fleet comes to in the quotas of an account."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpu_constructs.fleet import Pool, PoolKind, PurchaseOption, Unknown
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, info

_SMALL_VCPUS = 128
"""Fewer vCPUs of one quota are not worth a word; a host of 8 GPUs has 96 to 192."""


@info(
    "GPU088",
    question="does the account's quota allow all hosts at MaxSize?",
    because="instances above the vCPU quota of their group are not launched; the quotas of GPU groups are small or 0 "
    "in a new account",
    source="https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html",
)
def quotas(context: Context) -> Problems:
    asked: dict[tuple[str, str, str], list[tuple[Pool, int]]] = defaultdict(list)
    for pool in context.fleet.pools:
        for code, group, way, vcpus in _vcpus(pool):
            asked[code, group, way].append((pool, vcpus))
    for (code, group, way), found in asked.items():
        vcpus = sum(each for _, each in found)
        if vcpus >= _SMALL_VCPUS:
            yield Problem(
                about=found[0][0],
                message=f"{and_list(pool.name for pool, _ in found)} can come to {vcpus} vCPUs of {way} {group} "
                f"instances at {_limit(found)}, which count against the account's quota {code}",
                fix=f"aws service-quotas get-service-quota --service-code ec2 --quota-code {code}",
            )


def _limit(found: list[tuple[Pool, int]]) -> str:
    kinds = {"MaxvCpus" if pool.kind is PoolKind.BATCH else "MaxSize" for pool, _ in found}
    return " and ".join(sorted(kinds))


def _vcpus(pool: Pool) -> Iterator[tuple[str, str, str, int]]:
    """Quota code, its group, the way of buying, and the vCPUs that a pool counts against it at most.

    What is not known is left out.
    """
    hosts = pool.max_instances
    if isinstance(hosts, Unknown) or pool.kind is PoolKind.INSTANCE:
        return
    on_demand, spot = _hosts(pool, hosts)
    # Of AWS Batch the vCPUs are limited, and so many hosts of the smallest type come to that.
    smallest = min((each.vcpus for each in pool.instance_types), default=0) if pool.kind is PoolKind.BATCH else 0
    largest: dict[tuple[str, str, str, int], int] = {}
    for each in pool.instance_types:
        if each.accelerators is None:
            continue
        codes = ((on_demand, each.quota.on_demand_code, "on-demand"), (spot, each.quota.spot_code, "spot"))
        for most, code, way in codes:
            if most and code is not None:
                key = (code, each.quota.group, way, most)
                largest[key] = max(largest.get(key, 0), smallest or each.vcpus)
    for (code, group, way, most), vcpus in largest.items():
        yield code, group, way, most * vcpus


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
