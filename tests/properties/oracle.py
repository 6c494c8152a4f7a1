"""An exhaustive search for a placement, written from the ECS documentation and sharing nothing with the library.

A container instance registers resources: GPUs by id, CPU, MEMORY, ports, network interfaces. A task is placed on an
instance if what remains of each is enough and no constraint excludes it
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html). One GPU goes to one container, or in
sharing mode to the containers whose memory it has together
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html). A strategy gives the base to its provider
and the rest out by weight
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html). A provider never
launches hosts for tasks that ask for more than the smallest type of its group
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html). Daemons are on every
host before anything else (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html), in an order
that no page gives. A group starts each host in one of its zones, and an expression may ask for one
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html). Tasks without
a strategy go to any host of the cluster
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/launch-type-ec2.html), and start none.

It asks two questions that a proof must agree with: whether there is a placement whatever hosts come and however little
they register (`always`), and whether there is one at all (`ever`). Before both comes where there are hosts at all
(`with_hosts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, permutations, product
from math import ceil, floor

__all__ = [
    "Job",
    "Kind",
    "Provider",
    "World",
    "always",
    "as_started",
    "ever",
    "runs_daemons",
    "splits_of",
    "with_hosts",
]


@dataclass(frozen=True)
class Kind:
    """What a host of one type registers; of two numbers the first is the least that it may be."""

    gpus: int
    gpu_memory: tuple[int, int]
    cpu: int
    memory: tuple[int, int]
    interfaces: int


@dataclass(frozen=True)
class Job:
    """A service: its strategy is provider, base and weight of each item; without one it has launch type EC2."""

    copies: int
    gpus: int = 0
    all_gpus: bool = False
    shared: int = 0
    cpu: int = 0
    memory: int = 0
    interfaces: int = 0
    ports: frozenset[int] = frozenset()
    distinct: bool = False
    strategy: tuple[tuple[int, int, int], ...] = ()
    barred: frozenset[tuple[int, int]] = frozenset()  # (provider, kind) that memberOf excludes
    may_bar: frozenset[tuple[int, int]] = frozenset()  # those that it excludes unless PutAttributes is called
    zone: str = ""  # the only one that memberOf allows


@dataclass(frozen=True)
class Provider:
    """An Auto Scaling group, as a capacity provider with managed scaling or without.

    Of hosts that start in a Capacity Reservation or not at all there are no more than it has instances, so that
    `most_hosts` is the smaller of the two numbers
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html).
    """

    kinds: tuple[Kind, ...]
    most_hosts: int
    daemons: tuple[Job, ...] = ()
    least_hosts: int = 0
    is_scaled: bool = True
    zones: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class World:
    """Everything there is, unless the cluster may have hosts that are not described."""

    providers: tuple[Provider, ...]
    jobs: tuple[Job, ...]
    is_open: bool = False


@dataclass(frozen=True)
class _Host:
    provider: int
    kind: int
    zone: str
    total: int
    gpus: tuple[
        int, ...
    ]  # memory that is left of each that is shared, -1 for an idle one; those that are taken are gone
    gpu_memory: int
    cpu: int
    memory: int
    interfaces: int
    ports: frozenset[int] = frozenset()
    jobs: frozenset[int] = frozenset()
    daemons: frozenset[int] = frozenset()


_IDLE = -1


def always(world: World) -> bool:
    """Whether all have a place whatever types are launched, whatever they register, however copies are split."""
    splits, world = _splits(world), _strictly(world)
    return all(
        all(len(host.daemons) == len(world.providers[host.provider].daemons) for host in hosts)
        and all(_search(world, hosts, split) for split in splits)
        for hosts in _started(world, 0)
    )


def ever(world: World) -> bool:
    """Whether there is a placement for some types and some split, if they register as much as they can."""
    if world.is_open:  # any host may be there, but for tasks that a strategy sends to a provider
        world = replace(world, jobs=tuple(each for each in world.jobs if each.strategy))
    splits = [each for each in _splits(world) if not _never_launched(world, each)]
    return any(_search(world, hosts, split) for hosts in _started(world, 1) for split in splits)


def runs_daemons(world: World) -> bool:
    """Whether each daemon runs on some host that may come."""
    ran = {daemon for hosts in _started(world, 1) for host in hosts for daemon in host.daemons}
    return len(ran) == max(len(each.daemons) for each in world.providers)


def with_hosts(world: World, number: int) -> frozenset[int]:
    """Groups that may ever have hosts for a job: they run some, nothing scales them, or a strategy starts some there.

    Managed scaling starts hosts for tasks with a strategy only
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html).
    """
    if world.jobs[number].strategy:
        return frozenset(provider for provider, base, weight in world.jobs[number].strategy if base or weight)
    sent = {provider for job in world.jobs if job.copies for provider, base, weight in job.strategy if base or weight}
    return frozenset(
        place for place, each in enumerate(world.providers) if each.least_hosts or not each.is_scaled or place in sent
    )


def _strictly(world: World) -> World:
    """The same where nobody gives hosts an attribute once they run."""

    def barred(job: Job) -> Job:
        return replace(job, barred=job.barred | job.may_bar)

    providers = (replace(each, daemons=tuple(map(barred, each.daemons))) for each in world.providers)
    return replace(world, providers=tuple(providers), jobs=tuple(map(barred, world.jobs)))


def as_started(world: World) -> World:
    """The same where tasks without a strategy are barred from groups that never have hosts for them."""
    jobs = []
    for number, job in enumerate(world.jobs):
        there = with_hosts(world, number)
        empty = {
            (at, kind) for at, each in enumerate(world.providers) if at not in there for kind in range(len(each.kinds))
        }
        jobs.append(job if job.strategy else replace(job, barred=job.barred | empty))
    return replace(world, jobs=tuple(jobs))


def _splits(world: World) -> list[tuple[tuple[int, ...], ...]]:
    """For each job the copies of each provider, and behind them those that may go to any.

    How a remainder is rounded is not documented, so every way counts.
    """
    return list(product(*(list(splits_of(job, len(world.providers))) for job in world.jobs)))


def splits_of(job: Job, providers: int) -> Iterator[tuple[int, ...]]:
    """The copies of each provider, and behind them those that may go to any, in every way that may be."""
    if not job.strategy:
        yield (*(0,) * providers, job.copies)
        return
    if len(job.strategy) == 1:
        yield tuple(job.copies if place == job.strategy[0][0] else 0 for place in range(providers + 1))
        return
    total = sum(weight for _, _, weight in job.strategy)
    # "Capacity providers with a weight of 0 can't be used to place tasks", and "the base value is satisfied first":
    # of a base on such a provider the page says both.
    for used in product(*[{True, weight > 0} for _, _, weight in job.strategy]):
        counts = [0] * (providers + 1)
        left = job.copies
        for (provider, base, _), is_used in zip(job.strategy, used, strict=True):
            first = min(base, left) if is_used else 0
            counts[provider] += first
            left -= first
        shares = [(provider, left * weight / total) for provider, _, weight in job.strategy]
        for rounded in product(*({floor(share + 1e-9), ceil(share - 1e-9)} for _, share in shares)):
            if sum(rounded) == left:
                split = list(counts)
                for (provider, _), copies in zip(shares, rounded, strict=True):
                    split[provider] += copies
                yield tuple(split)


def _never_launched(world: World, split: tuple[tuple[int, ...], ...]) -> bool:
    for job, counts in zip(world.jobs, split, strict=True):
        for provider, copies in zip(world.providers, counts[:-1], strict=True):
            smallest = provider.kinds
            # A host that always runs may be of any type of its group.
            if (copies and provider.is_scaled and not provider.least_hosts) and (
                max(job.gpus, int(job.all_gpus or job.shared > 0)) > min(kind.gpus for kind in smallest)
                or job.cpu > min(kind.cpu for kind in smallest)
                or job.memory > min(kind.memory[1] for kind in smallest)
                or job.interfaces > min(kind.interfaces for kind in smallest)
            ):
                return True
    return False


def _started(world: World, which: int) -> Iterator[tuple[_Host, ...]]:
    """Every way in which the hosts may have started, with their daemons."""
    groups = []
    for number, provider in enumerate(world.providers):
        of_one = [
            host
            for kind, zone in product(range(len(provider.kinds)), provider.zones)
            for host in _with_daemons(provider, _host(provider, number, kind, zone, which))
        ]
        groups.append(list(combinations_with_replacement(of_one, provider.most_hosts)))
    for choice in product(*groups):
        yield tuple(host for group in choice for host in group)


def _host(provider: Provider, number: int, index: int, zone: str, which: int) -> _Host:
    kind = provider.kinds[index]
    return _Host(
        provider=number,
        kind=index,
        zone=zone,
        total=kind.gpus,
        gpus=(_IDLE,) * kind.gpus,
        gpu_memory=kind.gpu_memory[which],
        cpu=kind.cpu,
        memory=kind.memory[which],
        interfaces=kind.interfaces,
    )


def _with_daemons(provider: Provider, host: _Host) -> list[_Host]:
    """The host with those of its daemons that find room, in whatever order they come."""
    found: dict[_Host, None] = {}
    at = host.provider, host.kind
    may_miss = [number for number, each in enumerate(provider.daemons) if at in each.may_bar]
    for missing in product(*[((), (each,)) for each in may_miss]):
        there = [(number, each) for number, each in enumerate(provider.daemons) if (number,) not in missing]
        for order in permutations(there):
            state = host
            for number, daemon in order:
                # Of two GPUs that a share fits on it takes the one that is shared already, as tasks may.
                best = max(_placed(daemon, -1, state), key=lambda each: each.gpus.count(_IDLE), default=None)
                state = state if best is None else replace(best, daemons=state.daemons | {number})
            found[state] = None
    return list(found)


def _search(world: World, hosts: tuple[_Host, ...], split: tuple[tuple[int, ...], ...]) -> bool:
    waiting = [
        (number, provider)
        for number, counts in enumerate(split)
        for provider, copies in enumerate(counts)
        for _ in range(copies)
    ]
    # The order does not change whether a placement exists, only how soon it is found.
    waiting.sort(key=lambda each: (world.jobs[each[0]].all_gpus, world.jobs[each[0]].gpus), reverse=True)
    seen: set[tuple[int, frozenset[tuple[_Host, int]]]] = set()

    def step(done: int, now: tuple[_Host, ...]) -> bool:
        if done == len(waiting):
            return True
        counted: dict[_Host, int] = {}
        for host in now:
            counted[host] = counted.get(host, 0) + 1
        state = (done, frozenset(counted.items()))
        if state in seen:
            return False
        seen.add(state)
        number, provider = waiting[done]
        for host in counted:
            if provider in {host.provider, len(world.providers)}:
                at = now.index(host)
                for after in _placed(world.jobs[number], number, host):
                    if step(done + 1, (*now[:at], after, *now[at + 1 :])):
                        return True
        return False

    return step(0, hosts)


def _placed(job: Job, number: int, host: _Host) -> Iterator[_Host]:
    """The host after the task, in every way that its GPUs can be given."""
    if (
        (host.provider, host.kind) in job.barred
        or job.zone not in {"", host.zone}
        or job.cpu > host.cpu
        or job.memory > host.memory
        or job.interfaces > host.interfaces
        or job.ports & host.ports
        or (job.distinct and number in host.jobs)
    ):
        return
    left = replace(
        host,
        cpu=host.cpu - job.cpu,
        memory=host.memory - job.memory,
        interfaces=host.interfaces - job.interfaces,
        ports=host.ports | job.ports,
        jobs=host.jobs | ({number} if job.distinct else set()),
    )
    idle = host.gpus.count(_IDLE)
    if job.all_gpus:
        if idle == host.total > 0:
            yield replace(left, gpus=())
    elif job.shared:
        for memory in sorted(set(host.gpus)):
            free = host.gpu_memory if memory == _IDLE else memory
            if free >= job.shared:
                gpus = list(host.gpus)
                gpus.remove(memory)
                yield replace(left, gpus=tuple(sorted((*gpus, free - job.shared))))
    elif job.gpus <= idle:
        shared = tuple(memory for memory in host.gpus if memory != _IDLE)
        yield replace(left, gpus=tuple(sorted((*shared, *(_IDLE,) * (idle - job.gpus)))))
