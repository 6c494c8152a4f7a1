"""How many hosts a pool has at MinSize and MaxSize, at the desired counts, in its warm pool, for one start of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.check.planning.host_price import HostPrice, Usd
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, Unknown, Workload, known
from gpu_constructs.placement import Assumption, PoolProof, demand_of
from gpu_constructs.placement.assumptions import need_of
from gpu_constructs.placement.costs import full_hosts
from gpu_constructs.placement.packing import Load, pack

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


_SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What one start of a job takes on the hosts of a pool, if no other tasks are there.

    Attributes:
        name: What is started: a job, or the state that starts all tasks of a training.
        workloads: What it starts, by name; several that wait for each other are on their hosts together.
        hosts: Hosts that it takes together; unknown where a size or a number is.
        usd_per_hour: What they cost an hour, in US dollars; None where that is not known.
        limit_seconds: The time limit of one attempt, in seconds; None where it has none, or it is not known.
    """

    name: str
    workloads: tuple[str, ...]
    hosts: int | Unknown
    usd_per_hour: Usd | None
    limit_seconds: float | None

    @property
    def usd_until_limit(self) -> Usd | None:
        """What the hosts cost until one attempt has to end; None where it has no limit, or the price is not known."""
        if self.usd_per_hour is None or self.limit_seconds is None:
            return None
        return self.usd_per_hour.times(self.limit_seconds / _SECONDS_AN_HOUR)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Copies of a workload that one start has at once."""

    workload: Workload
    copies: int | Unknown


class Starts:
    """What each job of a fleet starts."""

    def __init__(self, fleet: Fleet) -> None:
        jobs = {each.name: each for each in fleet.workloads if not each.is_service}
        self._parts: dict[str, list[_Part]] = {}
        gathered = set[str]()
        for gang in fleet.gangs:
            for member in gang.members:
                if member.workload in jobs and member.workload not in gathered:
                    gathered.add(member.workload)
                    copies = member.count if member.at_once is None else member.at_once
                    part = _Part(workload=jobs[member.workload], copies=copies)
                    self._parts.setdefault(gang.name, []).append(part)
        for name, job in jobs.items():
            if name not in gathered:
                self._parts[name] = [_Part(workload=job, copies=job.desired_count)]
        self._start_of = {part.workload.name: name for name, parts in self._parts.items() for part in parts}
        self._limits = {each.name: each.limit_seconds for each in fleet.steps}

    def on(self, proof: PoolProof, price: HostPrice, tenants: Sequence[Workload]) -> Mapping[str, Start]:
        """What starts of jobs take on one pool, by the names of their workloads."""
        here = {each.name for each in tenants if each.name in self._start_of}
        starts = {name: self._start(name, here, proof, price) for name in {self._start_of[each] for each in here}}
        return {each: starts[self._start_of[each]] for each in here}

    def _start(self, name: str, here: set[str], proof: PoolProof, price: HostPrice) -> Start:
        parts = [each for each in self._parts[name] if each.workload.name in here]
        hosts = _hosts(parts, proof)
        limits = [self._limits.get(each.workload.name) for each in parts]
        known = [each for each in limits if each is not None and each > 0]
        return Start(
            name=name,
            workloads=tuple(each.workload.name for each in parts),
            hosts=hosts,
            usd_per_hour=price.of(proof.pool, hosts),
            limit_seconds=max(known) if len(known) == len(limits) else None,
        )


def _hosts(parts: Sequence[_Part], proof: PoolProof) -> int | Unknown:
    """Hosts on which a packing of all copies was found."""
    room = proof.room
    if room is None:
        return UNKNOWN
    loads = []
    for each in parts:
        workload = each.workload
        if workload.task is None or len(workload.strategy) != 1 or isinstance(each.copies, Unknown):
            return UNKNOWN
        need = need_of(demand_of(workload.task, workload.constraints), room, Assumption.WORST)
        if need is None:
            return UNKNOWN
        loads.append(Load(need=need, copies=each.copies, distinct=workload.distinct_instances))
    packing = pack(loads, room)
    return packing.hosts if sum(packing.placed) == sum(each.copies for each in loads) else UNKNOWN
