"""The plan of a fleet: hosts of each pool, what they cost, what they need of the account's quotas.

It counts hosts of which a packing was found (`gpu_constructs.placement.prover`). Jobs are not among the copies that run
all the time: `starts` says what one start takes. Service auto scaling keeps its minimum of copies at least, and that
stands for a desired count that nothing else says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpu_constructs.check.planning.host_price import (
    HostPrice,
    Usd,
    host_price,
    hosts_that_are_written,
    hosts_wanted,
    sum_of,
    warm_hosts,
)
from gpu_constructs.check.planning.starts import JobStart, per_host, starts_of
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, ComputeEnvironment, Fleet, Pool, PoolKind, Unknown, Workload, known, total
from gpu_constructs.placement.costs import Counted, full_hosts, vcpus_of
from gpu_constructs.placement.proof import PoolProof, Proof
from gpu_constructs.placement.prover import prove
from gpu_constructs.placement.reach import items_with_tasks
from gpu_constructs.placement.reasons import listed
from gpu_constructs.placement.rollout import percentages_of

UNPLANNED = "the types of hosts are not in these files"
"""Why a compute environment of AWS Batch is not planned."""

_BOTH_VERSIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """So many hosts.

    Attributes:
        hosts: How many; unknown where that is only known at deploy time.
        gpus: Whole GPUs of all of them; unknown where hosts are, or where types of one pool differ.
        known_hosts: The same without the pools of which it is not known.
        known_gpus: Likewise.
        usd_per_hour: What they cost an hour; None where that is not known. Of a fleet: the pools of which it is known,
            see `FleetPlan.unpriced`; None where it is known of none.
    """

    hosts: int | Unknown
    gpus: int | Unknown
    known_hosts: int
    known_gpus: int
    usd_per_hour: Usd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """The plan of one pool.

    Attributes:
        minimum: Hosts that are always there: MinSize. Like all levels with those that run in its warm pool meanwhile.
        desired: Hosts that the copies need at their desired counts; unknown where a service that is sent here does not
            fit.
        maximum: Hosts at MaxSize.
        warm: Those at the desired counts that run in its warm pool.
        short: Hosts that the copies need at their desired counts beyond those that there can be.
        misfits: Services that are sent here and fit on none of its hosts.
        tasks: How many copies of each workload one host takes beside its daemons and nothing else; unknown where a size
            is.
        deploying: Hosts while as many old and new copies run as may while all services are deployed at once; None where
            no service runs here.
    """

    pool: Pool
    minimum: Level
    desired: Level
    maximum: Level
    warm: int | Unknown
    short: int
    misfits: tuple[str, ...]
    price: HostPrice
    tasks: tuple[tuple[Workload, int | Unknown], ...]
    deploying: int | Unknown | None

    @property
    def is_scaled(self) -> bool:
        """Whether ECS moves the number of its hosts, up to MaxSize."""
        return self.pool.kind is PoolKind.AUTO_SCALING_GROUP and self.pool.is_scaled_by_ecs

    @property
    def why_unpriced(self) -> str:
        """Why what its hosts cost is not in an amount."""
        verb = "does" if len(self.misfits) == 1 else "do"
        misfit = f"{listed(self.misfits)} {verb} not fit on its hosts" if self.misfits else ""
        return self.price.unknown or misfit or "how many hosts there are is not known before the deploy"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaNeed:
    """vCPUs that count against one quota of an account in a region.

    Attributes:
        desired: vCPUs at the desired counts; unknown where the hosts of a pool are.
        maximum: vCPUs at MaxSize of every pool, likewise.
        known_desired: The same without the pools of which the hosts are not known.
        known_maximum: Likewise; what is above a quota already is, whatever the other pools take.
        unknown_pools: Those of which the hosts at MaxSize are not known.
    """

    quota: Counted
    desired: int | Unknown
    maximum: int | Unknown
    known_desired: int
    known_maximum: int
    pools: tuple[str, ...]
    unknown_pools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """The plan of a fleet.

    Attributes:
        pools: Its pools, in the order of the fleet.
        minimum: All pools at MinSize. Amounts are the sum of what is known; see `unpriced`.
        desired: All pools at the desired counts of what runs on them.
        maximum: All pools at MaxSize.
        elsewhere: Workloads whose hosts are not in the files: those of imported clusters, Fargate and the like.
        unplanned: Compute environments of AWS Batch with hosts whose types are not in the files.
    """

    pools: tuple[PoolPlan, ...]
    minimum: Level
    desired: Level
    maximum: Level
    quotas: tuple[QuotaNeed, ...]
    starts: tuple[JobStart, ...]
    elsewhere: tuple[str, ...]
    unplanned: tuple[ComputeEnvironment, ...]

    @property
    def levels(self) -> Mapping[str, Level]:
        """The three numbers of hosts, by their names."""
        return {"minimum": self.minimum, "desired": self.desired, "maximum": self.maximum}

    def unpriced(self, level: str) -> tuple[PoolPlan, ...]:
        """Pools whose hosts are not in the amount of a level: ``minimum``, ``desired`` or ``maximum``."""
        return tuple(each for each in self.pools if getattr(each, level).usd_per_hour is None)

    @property
    def is_region_assumed(self) -> bool:
        """Whether some prices are those of us-east-1 because nothing says in which region the hosts are."""
        return any(each.pool.region is None and each.price.prices and each.maximum.hosts != 0 for each in self.pools)


def plan(fleet: Fleet) -> FleetPlan:
    """What a fleet costs and needs, such as that of a `gpu_constructs.check.report.Report`."""
    wanted = _with_copies(fleet, _least_copies)
    proof = prove(wanted)
    deploying = _with_copies(wanted, _copies_to_deploy)
    then = proof if deploying is wanted else prove(deploying)
    tenants, misfits = _tenants(wanted, proof), _misfits(proof)
    pools = tuple(
        _plan_pool(each, during, tenants.get(each.pool.name, ()), misfits.get(each.pool.name, ()))
        for each, during in zip(proof.pools, then.pools, strict=True)
    )
    return FleetPlan(
        pools=pools,
        minimum=_sum([each.minimum for each in pools]),
        desired=_sum([each.desired for each in pools]),
        maximum=_sum([each.maximum for each in pools]),
        quotas=_quotas(pools),
        starts=starts_of(fleet),
        elsewhere=tuple(each.workload.name for each in proof.workloads if not each.tenants),
        unplanned=tuple(each for each in fleet.environments if each.has_hosts),
    )


def _tenants(fleet: Fleet, proof: Proof) -> Mapping[str, tuple[Workload, ...]]:
    """Workloads of which copies come to a pool, jobs and services at zero among them, by the name of the pool."""
    found: dict[str, dict[str, Workload]] = {}
    for of in proof.workloads:
        for there in of.tenants:
            if there.fits is not False and there.most != 0:
                found.setdefault(there.pool.name, {})[of.workload.name] = of.workload
    for workload in fleet.workloads:
        is_placed = workload.is_service and workload.desired_count != 0
        for item in () if is_placed else items_with_tasks(workload.strategy):
            if item.pool is not None:
                found.setdefault(item.pool.name, {})[workload.name] = workload
    return {name: tuple(each.values()) for name, each in found.items()}


def _misfits(proof: Proof) -> Mapping[str, tuple[str, ...]]:
    """Services that never start, by the names of the pools that ECS sends their copies to."""
    found: dict[str, tuple[str, ...]] = {}
    for of in proof.workloads:
        coming = [each for each in of.tenants if each.most != 0]
        waits = [each for each in coming if each.fits is False] if of.workload.daemon is False else []
        # With a strategy each provider has its share; without one a copy goes wherever it fits.
        if of.workload.strategy or len(waits) == len(coming):
            for each in waits:
                found[each.pool.name] = (*found.get(each.pool.name, ()), of.workload.name)
    return found


def _plan_pool(proof: PoolProof, during: PoolProof, tenants: Sequence[Workload], misfits: tuple[str, ...]) -> PoolPlan:
    pool, price = proof.pool, host_price(proof.pool)
    least, most = hosts_that_are_written(pool)
    services = tuple(each for each in tenants if each.is_service and each.daemon is False)
    is_open = any(isinstance(each.desired_count, Unknown) for each in services)
    needed = UNKNOWN if is_open else proof.hosts_needed
    wanted = hosts_wanted(pool, least, UNKNOWN if misfits else needed)
    hosts = wanted if isinstance(wanted, Unknown) or isinstance(most, Unknown) else min(wanted, most)
    warm = {count: warm_hosts(pool, count) for count in (least, hosts, most)}
    is_known = not any(isinstance(_copies_to_deploy(each), Unknown) for each in services)
    deploying = during.hosts_needed if is_known and not isinstance(hosts, Unknown) else UNKNOWN
    return PoolPlan(
        pool=pool,
        minimum=_level(pool, price, total((least, warm[least]))),
        desired=_level(pool, price, total((hosts, warm[hosts]))),
        maximum=_level(pool, price, total((most, warm[most]))),
        warm=warm[hosts],
        short=0 if isinstance(needed, Unknown) or isinstance(hosts, Unknown) else max(0, needed - hosts),
        misfits=misfits,
        price=price,
        tasks=tuple((each, per_host(proof.room, each.task, each)) for each in tenants if each.daemon is not True),
        deploying=deploying if any(each.desired_count != 0 for each in services) else None,
    )


def _with_copies(fleet: Fleet, copies: Callable[[Workload], int | Unknown]) -> Fleet:
    """The fleet with other desired counts of services; the same object where all stay as they are."""
    counts = [copies(each) if each.is_service else each.desired_count for each in fleet.workloads]
    if all(count == each.desired_count for count, each in zip(counts, fleet.workloads, strict=True)):
        return fleet
    workloads = (replace(each, desired_count=count) for count, each in zip(counts, fleet.workloads, strict=True))
    return replace(fleet, workloads=tuple(workloads))


def _least_copies(workload: Workload) -> int | Unknown:
    """The copies that a service certainly keeps: the desired count, and no fewer than scaling allows."""
    desired, least = workload.desired_count, workload.min_count
    if least is None or isinstance(least, Unknown):
        return desired
    return least if isinstance(desired, Unknown) else max(desired, least)


def _copies_to_deploy(workload: Workload) -> int | Unknown:
    """As many old and new copies as run at once while a service is deployed, if there is room.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html
    """
    wanted, percent = workload.desired_count, percentages_of(workload)
    if workload.daemon is not False or isinstance(wanted, Unknown):
        return wanted
    if workload.runs_twice_to_deploy:
        return _BOTH_VERSIONS * wanted
    return UNKNOWN if percent is None else max(wanted, wanted * percent.max_healthy_percent // 100)


def _level(pool: Pool, price: HostPrice, hosts: int | Unknown) -> Level:
    sizes = {each.gpus for each in pool.instance_types} if pool.types_are_known else set()
    gpus: int | Unknown = UNKNOWN
    if hosts == 0 or sizes == {0}:
        gpus = 0
    elif len(sizes) == 1 and not isinstance(hosts, Unknown):
        gpus = hosts * sizes.pop()
    return Level(
        hosts=hosts, gpus=gpus, known_hosts=known(hosts), known_gpus=known(gpus), usd_per_hour=price.of(pool, hosts)
    )


def _sum(levels: Sequence[Level]) -> Level:
    known_amounts = [each.usd_per_hour for each in levels if each.usd_per_hour is not None]
    return Level(
        hosts=total(each.hosts for each in levels),
        gpus=total(each.gpus for each in levels),
        known_hosts=sum(each.known_hosts for each in levels),
        known_gpus=sum(each.known_gpus for each in levels),
        usd_per_hour=sum_of(known_amounts) if known_amounts or not levels else None,
    )


def _quotas(pools: Sequence[PoolPlan]) -> tuple[QuotaNeed, ...]:
    found: dict[Counted, dict[str, tuple[int | Unknown, int | Unknown]]] = {}
    for each in pools:
        # What AWS Batch chooses by itself has no accelerators, and takes nothing from quotas of those that have.
        limit = full_hosts(each.pool) if each.pool.batch_words else each.maximum.hosts
        most = dict(vcpus_of(each.pool, limit))
        now = dict(vcpus_of(each.pool, each.desired.hosts))
        for quota in {**most, **now, **dict(vcpus_of(each.pool, 1))}:
            found.setdefault(quota, {})[each.pool.name] = (
                UNKNOWN if isinstance(each.desired.hosts, Unknown) else now.get(quota, 0),
                UNKNOWN if isinstance(limit, Unknown) else most.get(quota, 0),
            )
    return tuple(
        QuotaNeed(
            quota=quota,
            desired=total(desired for desired, _ in of.values()),
            maximum=total(most for _, most in of.values()),
            known_desired=sum(known(desired) for desired, _ in of.values()),
            known_maximum=sum(known(most) for _, most in of.values()),
            pools=tuple(of),
            unknown_pools=tuple(name for name, (_, most) in of.items() if isinstance(most, Unknown)),
        )
        for quota, of in found.items()
    )
