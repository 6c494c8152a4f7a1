"""What a fleet comes to in the quotas of an account."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpu_constructs.fleet import Fleet, Pool, PoolKind, PurchaseOption, Unknown
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, Rule, rule
from gpu_constructs.rules.wording import both

__all__ = ["RULES"]

_SMALL_VCPUS = 128
"""Fewer vCPUs of one quota are not worth a word; a host of 8 GPUs has 96 to 192."""


@rule(
    "GPU088",
    Severity.INFO,
    question="does the account's quota allow all hosts at max_instances?",
    because="instances above the vCPU quota of their group are not launched; the quotas of GPU groups are small or 0 "
    "in a new account",
    source="https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html",
)
def quotas(fleet: Fleet) -> Iterator[Problem]:
    asked: dict[tuple[str, str, str], list[tuple[Pool, int]]] = defaultdict(list)
    for pool in fleet.pools:
        for code, group, way, vcpus in _vcpus(pool):
            asked[code, group, way].append((pool, vcpus))
    for (code, group, way), found in asked.items():
        vcpus = sum(each for _, each in found)
        if vcpus >= _SMALL_VCPUS:
            yield Problem(
                about=found[0][0],
                message=f"{both(pool.name for pool, _ in found)} can come to {vcpus} vCPUs of {way} {group} instances "
                f"at {_limit(found)}, which count against the account's quota {code}",
                fix=f"aws service-quotas get-service-quota --service-code ec2 --quota-code {code}",
            )


def _limit(found: list[tuple[Pool, int]]) -> str:
    kinds = {"MaxvCpus" if pool.kind is PoolKind.BATCH else "max_instances" for pool, _ in found}
    return " and ".join(sorted(kinds))


def _vcpus(pool: Pool) -> Iterator[tuple[str, str, str, int]]:
    """Quota code, its group, the way of buying, and the vCPUs that a pool counts against it at most.

    Capacity Blocks are paid in advance and are left out, as is what nobody knows.
    """
    hosts = pool.max_instances
    if isinstance(hosts, Unknown) or isinstance(pool.purchase, Unknown) or pool.kind is PoolKind.INSTANCE:
        return
    on_demand = pool.purchase in {PurchaseOption.ON_DEMAND, PurchaseOption.MIXED, PurchaseOption.RESERVED}
    spot = pool.purchase in {PurchaseOption.SPOT, PurchaseOption.MIXED}
    # Of AWS Batch the vCPUs are limited, and so many hosts of the smallest type come to that.
    smallest = min((each.vcpus for each in pool.instance_types), default=0) if pool.kind is PoolKind.BATCH else 0
    largest: dict[tuple[str, str, str], int] = {}
    for each in pool.instance_types:
        if each.accelerators is None:
            continue
        codes = ((on_demand, each.quota.on_demand_code, "on-demand"), (spot, each.quota.spot_code, "spot"))
        for counts, code, way in codes:
            if counts and code is not None:
                key = (code, each.quota.group, way)
                largest[key] = max(largest.get(key, 0), smallest or each.vcpus)
    for (code, group, way), vcpus in largest.items():
        yield code, group, way, hosts * vcpus


RULES: tuple[Rule, ...] = (quotas,)
