"""Hosts of a pool: how many there are, what they cost by list prices, and what is not known about them."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_constructs.facts.prices import Price, dollars, on_demand_price
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import PARTLY_SPOT, UNKNOWN, Pool, PoolKind, PurchaseOption, Unknown, known
from gpu_constructs.placement.costs import full_hosts, may_exceed_limit, most_of_last
from gpu_constructs.placement.reasons import listed

HOURS_A_MONTH = 730
"""A year of 8,760 hours by twelve, as AWS Pricing Calculator counts (https://docs.aws.amazon.com/pricing-calculator/)."""

_FEE = "the management fee of AWS, which no price list here has"
# For each hour of an instance; https://aws.amazon.com/ecs/pricing/ gives the amount of an example type alone.

_SHARED = frozenset({None, "default"})
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/dedicated-instance.html


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

    @property
    def of_one(self) -> Usd | None:
        """What one host costs an hour, whichever of the types it is; None where that is not known."""
        costs = [each.usd_per_hour for each in self.prices]
        return Usd(None if self.is_spot else min(costs), max(costs)) if costs else None

    def of(self, pool: Pool, hosts: int | Unknown) -> Usd | None:
        """What hosts cost an hour, whichever of the types they are; None where that is not known.

        Those of AWS Batch are as many of the smallest type as come to its vCPUs.
        """
        if isinstance(hosts, Unknown):
            return None
        if not self.prices:
            return Usd(0.0, 0.0) if not hosts else None
        costs = [each.usd_per_hour for each in self.prices]
        found = self._of_batch(pool, hosts) if pool.kind is PoolKind.BATCH else (hosts * min(costs), hosts * max(costs))
        return Usd(None if self.is_spot and hosts else found[0], found[1])

    def _of_batch(self, pool: Pool, hosts: int) -> tuple[float, float]:
        """The least and the most that vCPUs cost, of whichever types; the last host may go above the limit."""
        sizes, costs = [each.vcpus for each in pool.instance_types], [each.usd_per_hour for each in self.prices]
        if not hosts or len(set(zip(sizes, costs, strict=True))) == 1:
            return hosts * costs[0], hosts * costs[0]
        rates = [cost / size for size, cost in zip(sizes, costs, strict=True)]
        vcpus = hosts * min(sizes)
        most = most_of_last(pool, hosts) * max(rates) + max(costs) if may_exceed_limit(pool) else vcpus * max(rates)
        return min(vcpus * min(rates), most), most


def host_price(pool: Pool) -> HostPrice:
    """What one host of a pool costs an hour."""
    if pool.kind is PoolKind.MANAGED_INSTANCES and pool.bought.option is not PurchaseOption.CAPACITY_BLOCK:
        return _managed(pool)
    if why := _why_unknown(pool):
        return HostPrice(is_paid=pool.bought.option is PurchaseOption.CAPACITY_BLOCK, unknown=why)
    found = {each.name: _price(each.name, pool) for each in pool.instance_types}
    prices = tuple([price for price in found.values() if price is not None])
    if len(prices) < len(found):
        missing = listed(name for name, price in found.items() if price is None)
        where = "" if pool.region is None else f" in {pool.region}"
        return HostPrice(unknown=f"no price list that this library has names {missing}{where}")
    return HostPrice(prices=prices, is_spot=pool.bought.option in PARTLY_SPOT)


def _price(name: str, pool: Pool) -> Price | None:
    """The price in the region of a pool; that of us-east-1 where the region is not known."""
    price = on_demand_price(name, pool.region)
    return None if price is not None and pool.region not in {None, price.region} else price


def _why_unknown(pool: Pool) -> str:
    option, tenancy = pool.bought.option, pool.tenancy
    reasons = (
        # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-pricing-billing.html
        (option is PurchaseOption.CAPACITY_BLOCK, "the hours of a Capacity Block are paid in advance"),
        (not pool.types_are_known, "its instance types are not all known before the deploy"),
        (bool(pool.batch_words), f"AWS Batch also chooses from the types of {listed(pool.batch_words)}"),
        (isinstance(option, Unknown), "how its hosts are bought is not known before the deploy"),
        (isinstance(tenancy, Unknown), "whether its tenancy is shared is not known before the deploy"),
        (tenancy not in _SHARED, f"its tenancy is {tenancy}, and list prices are for shared tenancy"),
    )
    return next((why for is_so, why in reasons if is_so), "")


def _managed(pool: Pool) -> HostPrice:
    """Hosts that ECS chooses: no type costs less than the cheapest, and what the fee is, no list says."""
    prices = [_price(each.name, pool) for each in pool.instance_types]
    found = [each for each in prices if each is not None]
    is_known = len(found) == len(prices) and pool.types_are_known and pool.bought.option is PurchaseOption.ON_DEMAND
    if not found or not is_known:
        return HostPrice(unknown=f"ECS chooses the hosts, and their price comes with {_FEE}")
    cheapest = min(found, key=lambda each: each.usd_per_hour)
    return HostPrice(unknown=f"ECS chooses the hosts, one {cheapest.instance_type} from {cheapest} without {_FEE}")


SWITCHED_OFF = frozenset({"Stopped", "Hibernated"})
"""States of hosts in a warm pool in which only their disks cost."""


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
    if warm.state != "Running" or any(isinstance(each, Unknown) for each in sizes):
        return UNKNOWN
    return max(0, known(warm.min_size), known(prepared) - known(in_service))
