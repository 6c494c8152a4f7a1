"""One task on a pool: whether it fits on what the pool launches, and on which other instance types it does.

What ECS and AWS Batch count is here. What else a container needs of its GPUs (memory, precision, NVLink) they
do not see and place without regard to it, so it is not part of this answer; see `gpu_constructs.placement.machine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from gpu_constructs.facts import Architecture, InstanceType, accelerated, general
from gpu_constructs.facts.catalogue import by_size, is_offered
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import GPU, PlacementConstraint, Pool, PoolKind, Task, Unknown
from gpu_constructs.placement.assumptions import rooms_of
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.machine import unmet_needs
from gpu_constructs.placement.one_host import on_host, query_reasons
from gpu_constructs.placement.pool_profile import PoolProfile, left_out, profile_of
from gpu_constructs.placement.reasons import (
    Doubt,
    DoubtKind,
    Fit,
    HostResource,
    Obstacle,
    ObstacleKind,
    Reason,
    Shortfall,
    listed,
)

_SCALED_BY = frozenset({HostResource.GPU, HostResource.CPU, HostResource.MEMORY, HostResource.INTERFACES})
"""What managed scaling sorts instance types by: vCPU, memory, ENIs, ports, and GPUs.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html
"""


def refusals(task: Task, instance_type: InstanceType, pool: Pool) -> tuple[Shortfall | Obstacle, ...]:
    """What certainly keeps one copy of a task from one empty host of a pool, the memory of its GPUs included."""
    placed = on_host(demand_of(task), instance_type, profile_of(pool))
    asked, has = task.gpu_memory_mib, instance_type.gpu_memory_mib
    short = asked is not None and asked > (has or 0)
    memory = Shortfall(HostResource.GPU_MEMORY, asked or 0, has, instance_type)
    return (*placed.shortfalls, *([memory] if short else []), *placed.obstacles)


def smallest(shortfalls: Iterable[Shortfall]) -> tuple[Shortfall, ...]:
    """Of each resource the worst shortfall, in the order of the resources."""
    worst: dict[HostResource, Shortfall] = {}
    for short in shortfalls:
        before = worst.get(short.resource)
        if before is None or (short.available or 0) < (before.available or 0):
            worst[short.resource] = short
    return tuple(sorted(worst.values(), key=lambda short: _ORDER[short.resource]))


def fit(task: Task, pool: Pool, *, constraints: Sequence[PlacementConstraint] = ()) -> Fit:
    """Whether one copy of a task fits on a pool.

    With managed scaling the smallest type decides for each resource, because "if a group of tasks have resource
    requirements that are greater than the smallest instance type in the Auto Scaling group, then that group of tasks
    can't run with this capacity provider"
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html). Where the pool always
    has hosts, one of a larger type may be among them, so that is a doubt. An Auto Scaling group without managed scaling
    launches whichever of its types it comes to, so one that cannot run the task is a doubt as well. Everywhere else one
    type that fits is enough.
    """
    return fit_demand(demand_of(task, constraints), profile_of(pool))


def fit_demand(demand: Demand, offer: PoolProfile) -> Fit:
    """`fit` of a demand that was taken together before."""
    return _everywhere(offer) if _is_within_floor(demand, offer) else _looked_at(demand, offer)


@lru_cache(maxsize=1024)
def _everywhere(offer: PoolProfile) -> Fit:
    return Fit(hosts=offer.instance_types)


def _is_within_floor(demand: Demand, offer: PoolProfile) -> bool:
    """Whether the task fits on every host for the numbers alone, which most tasks do."""
    floor, _ = rooms_of(offer)
    if floor is None:
        return False
    gpus, _, cpu, memory_mib, interfaces = floor.units
    return (
        demand.gpus <= gpus
        and demand.memory_mib <= memory_mib
        and demand.cpu <= cpu
        and demand.interfaces <= interfaces
        and (not demand.host_ports or offer.reserved_ports == frozenset())
        and not (demand.capabilities and left_out(demand.capabilities, offer.capability_settings))
        and not (demand.interfaces and offer.apart)
        and (demand.architecture is None or demand.architecture is offer.architecture)
        and demand.has_numbers_only
        and not (offer.daemons and (demand.host_ports or demand.is_network_unknown))
        and (not demand.expressions or _holds_everywhere(demand.expressions, offer))
    )


@lru_cache(maxsize=4096)
def _holds_everywhere(expressions: tuple[str, ...], offer: PoolProfile) -> bool:
    return not any(True for each in offer.instance_types for _ in query_reasons(expressions, each, offer))


@lru_cache(maxsize=8192)
def _looked_at(demand: Demand, offer: PoolProfile) -> Fit:
    each_type = tuple(on_host(demand, each, offer) for each in offer.instance_types)
    smallest, any_type = _smallest_of(each_type, offer), _any_of(each_type, offer)
    decided = smallest if offer.smallest_decides is True else any_type
    if isinstance(offer.smallest_decides, Unknown) and smallest.answer is not any_type.answer:
        unsure = Doubt(
            DoubtKind.SMALLEST_TYPE,
            f"it fits on {listed(any_type.hosts)} only, and whether managed scaling looks at the smallest type is "
            "only known at deploy time",
        )
        decided = Fit(doubts=(unsure, *smallest.doubts), hosts=any_type.hosts)
    if offer.unknown_types and (decided.answer is not True or not decided.hosts or offer.smallest_decides is not False):
        hosts = Doubt(DoubtKind.HOSTS, offer.unknown_types)
        return Fit(doubts=(hosts, *decided.doubts), hosts=decided.hosts)
    return decided


def _any_of(each_type: tuple[Fit, ...], offer: PoolProfile) -> Fit:
    """One type that fits is enough, unless types are chosen without regard to what the task needs."""
    hosts = _hosts(each_type)
    if not hosts:
        return replace(_excluded(each_type), shortfalls=_nearest(each_type))
    any_may_come = _why_any_may_come(each_type, hosts, offer)
    if not any_may_come and any(each.answer is True for each in each_type):
        return Fit(hosts=hosts)
    doubts = _merged_doubts(each_type)
    if not any_may_come or len(hosts) == len(each_type):
        return Fit(doubts=doubts, hosts=hosts)
    return Fit(doubts=(_of_some_types(each_type, any_may_come), *doubts), hosts=hosts)


def _why_any_may_come(each_type: Iterable[Fit], hosts: Iterable[InstanceType], offer: PoolProfile) -> str:
    """Why a type may be launched that cannot run the task; empty where what the task needs decides.

    Docker starts no container without one of its devices (https://github.com/aws-neuron/aws-neuron-sdk/issues/482).
    """
    if offer.kind is PoolKind.AUTO_SCALING_GROUP:
        return f"without managed scaling the group launches any of its types, and only {listed(hosts)} can run it"
    lacking = [[short.resource for short in each.shortfalls] for each in each_type]
    if offer.kind is PoolKind.BATCH and [HostResource.NEURON_DEVICES] in lacking:
        return f"AWS Batch looks at vCPUs and memory of its types, and only {listed(hosts)} can run it"
    return ""


def _smallest_of(each_type: tuple[Fit, ...], offer: PoolProfile) -> Fit:
    """The smallest type decides for each resource, whatever the others have."""
    hosts = _hosts(each_type)
    if not hosts:
        return _excluded(each_type)
    # What daemons take is not said to count.
    counted = (short for each in each_type for short in each.shortfalls if not short.beside)
    short = smallest(each for each in counted if each.resource in _SCALED_BY)
    if short and not offer.may_have_hosts:
        return Fit(shortfalls=short, hosts=hosts)
    doubts = _merged_doubts(each_type)
    if short:
        text = f"only {listed(hosts)} can run it, and managed scaling looks at the smallest type ({_joined(short)})"
        doubts = (Doubt(DoubtKind.SMALLEST_TYPE, text), *doubts)
    elif len(hosts) < len(each_type):
        text = (
            f"managed scaling may look at that type, find that the task cannot run on it, and never launch "
            f"{listed(hosts)}"
        )
        doubts = (_of_some_types(each_type, text), *doubts)
    return Fit(doubts=doubts, hosts=hosts)


def _of_some_types(each_type: Iterable[Fit], text: str) -> Doubt:
    """Why some types cannot run a task, and what that may lead to."""
    excluded = _excluded(each for each in each_type if each.answer is False)
    constrained = any(each.kind is ObstacleKind.CONSTRAINT for each in excluded.obstacles)
    kind = DoubtKind.CONSTRAINED_TYPES if constrained else DoubtKind.SOME_TYPES
    return Doubt(kind, f"{_joined((*excluded.shortfalls, *excluded.obstacles))}; {text}")


def _hosts(each_type: Iterable[Fit]) -> tuple[InstanceType, ...]:
    return tuple(host for each in each_type for host in each.hosts)


def _excluded(each_type: Iterable[Fit]) -> Fit:
    each_type = tuple(each_type)
    shortfalls = smallest(short for each in each_type for short in each.shortfalls)
    return Fit(shortfalls=shortfalls, obstacles=_merged_obstacles(each_type))


def _nearest(each_type: Iterable[Fit]) -> tuple[Shortfall, ...]:
    """Of each resource the shortfall of the type that comes nearest to what is asked.

    A type that lacks all that another one lacks, and more, says nothing.
    """
    lacking = [
        (frozenset([*(one.resource for one in each.shortfalls), *(one.kind for one in each.obstacles)]), each)
        for each in sorted(each_type, key=_distance)
        if each.shortfalls
    ]
    nearest: dict[HostResource, Shortfall] = {}
    sets = {lacked for lacked, _ in lacking}
    for each in (each for lacked, each in lacking if not any(other < lacked for other in sets)):
        for short in each.shortfalls:
            nearest.setdefault(short.resource, short)
    return tuple(sorted(nearest.values(), key=lambda short: _ORDER[short.resource]))


def _distance(each: Fit) -> tuple[int, float]:
    missing = (1 - (short.available or 0) / short.asked for short in each.shortfalls)
    return len(each.shortfalls) + len(each.obstacles), sum(missing)


_ORDER = {resource: place for place, resource in enumerate(HostResource)}


def _merged_obstacles(each_type: Iterable[Fit]) -> tuple[Obstacle, ...]:
    types: dict[tuple[ObstacleKind, str], list[InstanceType]] = {}
    for each in each_type:
        for obstacle in each.obstacles:
            types.setdefault((obstacle.kind, obstacle.text), []).extend(obstacle.instance_types)
    return tuple(Obstacle(kind, text, tuple(of)) for (kind, text), of in types.items())


def _merged_doubts(each_type: Iterable[Fit]) -> tuple[Doubt, ...]:
    """Of each kind the first; types differ in the numbers of a doubt, seldom in the doubt."""
    first: dict[DoubtKind, Doubt] = {}
    for each in each_type:
        for doubt in each.doubts:
            first.setdefault(doubt.kind, doubt)
    return tuple(first.values())


def _joined(reasons: Iterable[Reason]) -> str:
    return "; ".join(map(str, reasons))


_ANY_POOL = PoolProfile()
_KINDS = (PoolProfile(reserved_mib=0), PoolProfile(reserved_mib=0, kind=PoolKind.MANAGED_INSTANCES))


def alternatives(task: Task, *, like: Pool | None = None) -> tuple[InstanceType, ...]:
    """Instance types on which a task fits and which serve its needs, smallest first.

    Those of the families of `like` come first; its architecture, its agents' settings and its kind count. Only types
    that a region offered when the catalogue was recorded are among them, the region of `like` where that is known.
    Placement constraints do not count, because a list of types excludes every other, nor do values that are only known
    at deploy time; but where those may be GPUs, or ``gpu`` is asked for, and `like` has some, the types have some too.
    """
    asked, demand = demand_of(task), _in_numbers(demand_of(task))
    offer = _ANY_POOL if like is None else profile_of(like)
    kinds = [str(each.type) for container in task.containers for each in container.requirements]
    may_ask = "ResourceRequirements" in asked.unknown or any(each.upper() == GPU != each for each in kinds)
    if may_ask and any(each.accelerators for each in offer.instance_types):
        demand = replace(demand, gpus=max(demand.gpus, 1), may_be_part=False)  # it has hosts with GPUs for a reason
    needs = any(container.needs is not None for container in task.containers)
    fitting = [
        each
        for each in _fitting(demand, offer, None if like is None else like.region)
        if not needs or not unmet_needs(task, each)
    ]
    families = {each.family for each in offer.instance_types}
    return tuple(sorted(fitting, key=lambda each: each.family not in families))


def runs_somewhere(task: Task) -> bool:
    """Whether any instance type of the catalogue, offered or not, may run a task that asks for accelerators."""
    return _runs_somewhere(demand_of(task))


def _in_numbers(demand: Demand) -> Demand:
    return replace(demand, expressions=(), node_type=None, unknown=(), windows=False)


@by_identity(maxsize=1024)
def _runs_somewhere(demand: Demand) -> bool:
    asked = _in_numbers(demand)
    largest_first = sorted(accelerated(), key=lambda each: (-each.gpus, -each.memory_mib))
    return any(on_host(asked, each, offer).answer is not False for each in largest_first for offer in _KINDS)


@lru_cache(maxsize=1024)
def _fitting(demand: Demand, offer: PoolProfile, region: str | None) -> tuple[InstanceType, ...]:
    among = (each for each in _candidates(demand, offer, region) if on_host(demand, each, offer).answer is True)
    return tuple(sorted(among, key=by_size))


def _candidates(demand: Demand, offer: PoolProfile, region: str | None) -> Iterator[InstanceType]:
    architectures = {each.architecture for each in offer.instance_types}
    for each in accelerated() if demand.gets_accelerator else general():
        # What says nothing of its architecture is built for x86_64, unless its hosts are arm64.
        alike = demand.architecture is not None or each.architecture in (architectures or {Architecture.X86_64})
        if alike and is_offered(each, region):
            yield each
