"""How many hosts a pool has at MinSize and MaxSize, at the desired counts, and in its warm pool."""

from __future__ import annotations

from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, Unknown, known
from gpu_constructs.placement.batch_vcpus import full_hosts

SWITCHED_OFF = frozenset({"Stopped", "Hibernated"})
"""States of hosts in a warm pool in which only their disks cost."""

_RUNNING = "Running"


def hosts_that_are_written(pool: Pool) -> tuple[int | Unknown, int | Unknown]:
    """MinSize and MaxSize in hosts; what is no size is not known."""
    least, most = pool.min_instances, pool.max_instances
    if pool.kind is PoolKind.BATCH:
        least, most = _least_of_batch(pool), UNKNOWN if pool.batch_words else full_hosts(pool)
    if known(least) < 0 or known(most) < 0:
        return UNKNOWN, UNKNOWN
    if isinstance(pool.group.capacity_of_a_host, Unknown):
        return 0 if least == 0 else UNKNOWN, UNKNOWN  # nothing is no host, whatever a host counts as
    if isinstance(least, Unknown) or isinstance(most, Unknown):
        return least, most
    return least, max(least, most)  # AWS refuses a MinSize above MaxSize


def _least_of_batch(pool: Pool) -> int | Unknown:
    """Hosts that have MinvCpus at least; not known where types differ in how many that are."""
    vcpus = pool.min_vcpus
    if vcpus is None or isinstance(vcpus, Unknown) or vcpus <= 0 or not pool.types_are_known:
        return pool.min_instances
    numbers = {-(-vcpus // each.vcpus) for each in pool.instance_types}
    return numbers.pop() if len(numbers) == 1 else UNKNOWN


def hosts_wanted(pool: Pool, least: int | Unknown, needed: int | Unknown) -> int | Unknown:
    """Hosts for the copies, were there no MaxSize."""
    if pool.kind is PoolKind.BATCH:
        return least  # jobs come and go
    if pool.managed_scaling is False or not pool.has_provider:
        written = pool.group.desired_instances
        if written is None or isinstance(written, Unknown) or isinstance(least, Unknown):
            return (
                least if written is None else UNKNOWN if isinstance(pool.group.capacity_of_a_host, Unknown) else written
            )
        return max(least, written)  # AWS refuses a DesiredCapacity below MinSize
    if isinstance(least, Unknown) or isinstance(needed, Unknown) or pool.managed_scaling is not True:
        return UNKNOWN
    return max(least, needed)


def warm_hosts(pool: Pool, in_service: int | Unknown) -> int | Unknown:
    """Hosts that run in the warm pool of a group and cost what hosts cost; of stopped ones only the disks cost.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html,
    https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html
    """
    warm = pool.group.warm_pool
    if warm is None or warm.state in SWITCHED_OFF:
        return 0
    prepared = pool.max_instances if warm.max_prepared is None else warm.max_prepared
    sizes = (in_service, prepared, warm.min_size)
    if warm.state != _RUNNING or any(isinstance(each, Unknown) for each in sizes):
        return UNKNOWN
    return max(0, known(warm.min_size), known(prepared) - known(in_service))
