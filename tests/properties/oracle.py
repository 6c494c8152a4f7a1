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
host before anything else (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html). Tasks without
a strategy go to any host of the cluster
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/launch-type-ec2.html), and start none.

It asks two questions that a proof must agree with: whether there is a placement whatever hosts come and however little
they register (`always`), and whether there is one at all (`ever`). Before both comes where there are hosts at all
(`with_hosts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from math import ceil, floor

__all__ = ["Job", "Kind", "Provider", "World", "always", "ever", "with_hosts"]


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


@dataclass(frozen=True)
class Provider:
    """An Auto Scaling group, as a capacity provider with managed scaling or without."""

    kinds: tuple[Kind, ...]
    most_hosts: int
    daemons: tuple[Job, ...] = ()
    least_hosts: int = 0
    is_scaled: bool = True


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


_IDLE = -1


def always(world: World) -> bool:
    """Whether there is a placement whatever types are launched, whatever they register, however copies are split."""
    return all(
        _search(world, _started(world, choice, 0), split) for split in _splits(world) for choice in _choices(world)
    )


def ever(world: World) -> bool:
    """Whether there is a placement for some types and some split, if they register as much as they can."""
    if world.is_open:  # any host may be there, but for tasks that a strategy sends to a provider
        world = replace(world, jobs=tuple(each for each in world.jobs if each.strategy))
    return any(
        _search(world, _started(world, choice, 1), split)
        for split in _splits(world)
        if not _never_launched(world, split)
        for choice in _choices(world)
    )


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


def _splits(world: World) -> list[tuple[tuple[int, ...], ...]]:
    """For each job the copies of each provider, and behind them those that may go to any.

    How a remainder is rounded is not documented, so every way counts.
    """
    return list(product(*(list(_splits_of(job, len(world.providers))) for job in world.jobs)))


def _splits_of(job: Job, providers: int) -> Iterator[tuple[int, ...]]:
    if not job.strategy:
        yield (*(0,) * providers, job.copies)
        return
    counts = [0] * (providers + 1)
    left = job.copies
    for provider, base, _ in job.strategy:
        first = min(base, left)
        counts[provider] += first
        left -= first
    total = sum(weight for _, _, weight in job.strategy)
    if len(job.strategy) == 1:
        counts[job.strategy[0][0]] += left
        yield tuple(counts)
        return
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
            if (copies and not provider.least_hosts) and (
                max(job.gpus, int(job.all_gpus or job.shared > 0)) > min(kind.gpus for kind in smallest)
                or job.cpu > min(kind.cpu for kind in smallest)
                or job.memory > min(kind.memory[1] for kind in smallest)
                or job.interfaces > min(kind.interfaces for kind in smallest)
            ):
                return True
    return False


def _choices(world: World) -> Iterator[tuple[tuple[int, ...], ...]]:
    return product(
        *(combinations_with_replacement(range(len(each.kinds)), each.most_hosts) for each in world.providers)
    )


def _started(world: World, choice: tuple[tuple[int, ...], ...], which: int) -> tuple[_Host, ...]:
    hosts = []
    for number, (provider, kinds) in enumerate(zip(world.providers, choice, strict=True)):
        for index in kinds:
            kind = provider.kinds[index]
            host = _Host(
                provider=number,
                kind=index,
                total=kind.gpus,
                gpus=(_IDLE,) * kind.gpus,
                gpu_memory=kind.gpu_memory[which],
                cpu=kind.cpu,
                memory=kind.memory[which],
                interfaces=kind.interfaces,
            )
            for daemon in provider.daemons:
                host = next(_placed(daemon, -1, host), host)
            hosts.append(host)
    return tuple(hosts)


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
        jobs=host.jobs | {number},
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
