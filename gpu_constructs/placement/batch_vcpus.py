"""vCPUs of a compute environment of AWS Batch, whose limit is in vCPUs and not in hosts.

https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
"""

from __future__ import annotations

from math import gcd

from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, Pool, PurchaseOption, Unknown

_NEVER_ABOVE = "BEST_FIT"
_TYPE_EC2 = BOUGHT_IN_ADVANCE | {PurchaseOption.ON_DEMAND}
"""How hosts are bought whose Type is ``EC2``, and not ``SPOT``."""


def may_exceed_limit(pool: Pool) -> bool:
    """Whether its last host may go above MaxvCpus: with every strategy but ``BEST_FIT``, and on Spot with that too."""
    return pool.allocation != _NEVER_ABOVE or pool.bought.option not in _TYPE_EC2


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
    """The most vCPUs that are there when the last host starts, whatever its type, if hosts may go above the limit.

    Args:
        pool: A pool whose types are known.
        hosts: How many hosts of the smallest type come to its limit.
    """
    sizes = [each.vcpus for each in pool.instance_types]
    return max(0, hosts * min(sizes) - 1) // gcd(*sizes) * gcd(*sizes)
