"""One task on a host and on a pool: whether it fits on what the pool launches, and everything that keeps it from it.

What ECS and AWS Batch count is here. What else a container needs of its GPUs (memory, precision, NVLink) they
do not see and place without regard to it, so it is not part of this answer; see `gpu_constructs.placement.needs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from gpu_constructs.errors import shown
from gpu_constructs.fleet import (
    RESERVED_TCP,
    TASK_INTERFACES,
    UNKNOWN,
    PlacementConstraint,
    Pool,
    PoolKind,
    Task,
    Unknown,
    known,
)
from gpu_constructs.hardware import InstanceType
from gpu_constructs.placement.agent import left_out
from gpu_constructs.placement.assumptions import rooms_of
from gpu_constructs.placement.daemons import fit_beside
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.gpu import of_accelerators
from gpu_constructs.placement.host import cpu_units, expected_memory_mib, most_memory_mib
from gpu_constructs.placement.pool_profile import Daemon, HostPlace, PoolProfile, profile_of
from gpu_constructs.placement.query import (
    SUBNET,
    ZONE,
    Attribute,
    Query,
    QuerySyntaxError,
    conditions,
    judge,
    parse,
)
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
    memory = Shortfall(resource=HostResource.GPU_MEMORY, asked=asked or 0, available=has, instance_type=instance_type)
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
        and not (demand.capabilities and offer.capability_settings)
        and not (demand.interfaces and offer.apart)
        and (demand.architecture is None or demand.architecture is offer.architecture)
        and demand.has_numbers_only
        and not (offer.daemons and (demand.host_ports or demand.is_network_unknown))
        and (not demand.expressions or _holds_everywhere(demand.expressions, offer))
    )


@lru_cache(maxsize=4096)
def _holds_everywhere(expressions: tuple[str, ...], offer: PoolProfile) -> bool:
    return not any(True for each in offer.instance_types for _ in _query_reasons(expressions, each, offer))


@lru_cache(maxsize=8192)
def _looked_at(demand: Demand, offer: PoolProfile) -> Fit:
    each_type = tuple(on_host(demand, each, offer) for each in offer.instance_types)
    smallest, any_type = _smallest_of(each_type, offer), _any_of(each_type, offer)
    decided = smallest if offer.smallest_decides is True else any_type
    if isinstance(offer.smallest_decides, Unknown) and smallest.answer is not any_type.answer:
        unsure = Doubt(
            kind=DoubtKind.SMALLEST_TYPE,
            text=f"it fits on {listed(any_type.hosts)} only, and whether managed scaling looks at the smallest type is "
            "only known at deploy time",
        )
        decided = Fit(doubts=(unsure, *smallest.doubts), hosts=any_type.hosts)
    if offer.unknown_types and (decided.answer is not True or not decided.hosts or offer.smallest_decides is not False):
        hosts = Doubt(kind=DoubtKind.HOSTS, text=offer.unknown_types)
        return Fit(doubts=(hosts, *decided.doubts), hosts=decided.hosts)
    return decided


def _any_of(each_type: tuple[Fit, ...], offer: PoolProfile) -> Fit:
    """One type that fits is enough, but in a group that chooses its types without regard to the task."""
    hosts = _hosts(each_type)
    if not hosts:
        return replace(_excluded(each_type), shortfalls=_nearest(each_type))
    is_chosen = offer.kind is not PoolKind.AUTO_SCALING_GROUP
    if is_chosen and any(each.answer is True for each in each_type):
        return Fit(hosts=hosts)
    doubts = _merged_doubts(each_type)
    if is_chosen or len(hosts) == len(each_type):
        return Fit(doubts=doubts, hosts=hosts)
    text = f"without managed scaling the group launches any of its types, and only {listed(hosts)} can run it"
    return Fit(doubts=(_of_some_types(each_type, text), *doubts), hosts=hosts)


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
    doubts = list(_merged_doubts(each_type))
    if short:
        text = f"only {listed(hosts)} can run it, and managed scaling looks at the smallest type ({_joined(short)})"
        doubts.insert(0, Doubt(kind=DoubtKind.SMALLEST_TYPE, text=text))
    elif len(hosts) < len(each_type):
        text = (
            f"managed scaling may look at that type, find that the task cannot run on it, and never launch "
            f"{listed(hosts)}"
        )
        doubts.insert(0, _of_some_types(each_type, text))
    return Fit(doubts=tuple(doubts), hosts=hosts)


def _of_some_types(each_type: Iterable[Fit], text: str) -> Doubt:
    """Why some types cannot run a task, and what that may lead to."""
    excluded = _excluded(each for each in each_type if each.answer is False)
    constrained = any(each.kind is ObstacleKind.CONSTRAINT for each in excluded.obstacles)
    kind = DoubtKind.CONSTRAINED_TYPES if constrained else DoubtKind.SOME_TYPES
    return Doubt(kind=kind, text=f"{_joined((*excluded.shortfalls, *excluded.obstacles))}; {text}")


def _hosts(each_type: Iterable[Fit]) -> tuple[InstanceType, ...]:
    return tuple(host for each in each_type for host in each.hosts)


def _excluded(each_type: Iterable[Fit]) -> Fit:
    each_type = tuple(each_type)
    shortfalls = smallest(short for each in each_type for short in each.shortfalls)
    return Fit(shortfalls=shortfalls, obstacles=_merged_obstacles(each_type))


def _nearest(each_type: Iterable[Fit]) -> tuple[Shortfall, ...]:
    """Of each resource the shortfall of the type that comes nearest to what is asked."""
    nearest: dict[HostResource, Shortfall] = {}
    for each in sorted(each_type, key=_distance):
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
    return tuple(Obstacle(kind=kind, text=text, instance_types=tuple(of)) for (kind, text), of in types.items())


def _merged_doubts(each_type: Iterable[Fit]) -> tuple[Doubt, ...]:
    """Of each kind the first; types differ in the numbers of a doubt, seldom in the doubt."""
    first: dict[DoubtKind, Doubt] = {}
    for each in each_type:
        for doubt in each.doubts:
            first.setdefault(doubt.kind, doubt)
    return tuple(first.values())


def _joined(reasons: Iterable[Reason]) -> str:
    return "; ".join(map(str, reasons))


def on_host(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Fit:
    """Whether one copy fits on one empty host."""
    reasons = tuple(_on_host(demand, instance_type, offer))
    shortfalls = tuple(each for each in reasons if isinstance(each, Shortfall))
    obstacles = tuple(each for each in reasons if isinstance(each, Obstacle))
    if shortfalls or obstacles:
        return Fit(shortfalls=shortfalls, obstacles=obstacles)
    doubts = tuple(each for each in reasons if isinstance(each, Doubt))
    alone = Fit(doubts=doubts, hosts=(instance_type,))
    return fit_beside(demand, instance_type, offer, alone) if offer.daemons else alone


def beside(offer: PoolProfile, daemons: Sequence[Daemon]) -> PoolProfile:
    """An offer without daemons as it is with them; hosts of Managed Instances are made for the tasks that wait."""
    return offer if not daemons or offer.kind is PoolKind.MANAGED_INSTANCES else _beside(offer, tuple(daemons))


@lru_cache(maxsize=1024)
def _beside(offer: PoolProfile, daemons: tuple[Daemon, ...]) -> PoolProfile:
    return replace(offer, daemons=tuple([_on(offer, each) for each in daemons]))


def _on(offer: PoolProfile, daemon: Daemon) -> Daemon:
    answers = _answers(daemon.demand, offer)
    # Only a call of PutAttributes could still give them, so they keep it off, and nothing certain follows from that.
    expected = _answers(daemon.demand, replace(offer, absent=daemon.absent)) if daemon.absent else answers
    return replace(
        daemon,
        runs_on=frozenset([name for name, answer in answers.items() if answer is True and daemon.is_certain]),
        hardly_on=frozenset([name for name, answer in expected.items() if answer is False]),
        never_on=frozenset([name for name, answer in answers.items() if answer is False]),
    )


def _answers(demand: Demand | None, offer: PoolProfile) -> dict[str, bool | Unknown]:
    if demand is None:
        return {}
    return {each.name: on_host(demand, each, offer).answer for each in offer.instance_types}


def _on_host(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Reason]:
    if demand.unknown:
        yield Doubt(
            kind=DoubtKind.DEPLOY_TIME,
            text=f"{listed(demand.unknown)} of the task {'are' if len(demand.unknown) > 1 else 'is'} only known at "
            "deploy time",
        )
    yield from of_accelerators(demand, instance_type, offer.kind)
    yield from _platform(demand, instance_type, offer)
    if demand.cpu > cpu_units(instance_type):
        yield _short(HostResource.CPU, demand.cpu, cpu_units(instance_type), instance_type)
    yield from _memory(demand.memory_mib, instance_type, offer)
    most = offer.free_interfaces(instance_type, certain=False)
    if demand.interfaces > most:
        note = "" if offer.gives_interfaces else f"{TASK_INTERFACES} is off"
        yield _short(HostResource.INTERFACES, demand.interfaces, most, instance_type, note)
    elif demand.interfaces > offer.free_interfaces(instance_type):
        text = f"no source says how many network interfaces {instance_type} takes"
        yield Doubt(kind=DoubtKind.HOSTS, text=text)
    if demand.interfaces and offer.apart:
        yield Obstacle.of(instance_type, ObstacleKind.ZONE, offer.apart)
    yield from _ports(demand, instance_type, offer)
    for capability, variable in left_out(demand.capabilities, offer.capability_settings):
        text = f"has an agent without {capability} ({variable})"
        yield Obstacle.of(instance_type, ObstacleKind.AGENT, text)
    yield from _query_reasons(demand.expressions, instance_type, offer)


def _ports(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Obstacle | Doubt]:
    if isinstance(offer.reserved_ports, Unknown):
        if demand.host_ports:
            text = f"{RESERVED_TCP} is only known at deploy time, so it is not known whether a host has its ports free"
            yield Doubt(kind=DoubtKind.HOSTS, text=text)
        return
    for number, protocol in sorted(demand.certain_ports & offer.reserved_ports):
        text = f"keeps port {number}/{protocol} from tasks"
        yield Obstacle.of(instance_type, ObstacleKind.PORT, text)


def _platform(demand: Demand, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Obstacle]:
    if demand.architecture is not None and demand.architecture is not instance_type.architecture:
        text = f"is {instance_type.architecture}, and the task is built for {demand.architecture}"
        yield Obstacle.of(instance_type, ObstacleKind.ARCHITECTURE, text)
    if demand.windows and (demand.wants_accelerator or offer.is_linux):
        why = "containers on Windows get no GPU" if demand.wants_accelerator else "the task is for Windows"
        text = f"runs Linux, and {why}" if offer.is_linux else f"cannot run it: {why}"
        yield Obstacle.of(instance_type, ObstacleKind.OPERATING_SYSTEM, text)


def _memory(asked_mib: int, instance_type: InstanceType, offer: PoolProfile) -> Iterator[Shortfall | Doubt]:
    most = max(0, most_memory_mib(instance_type, known(offer.reserved_mib)))
    expected = expected_memory_mib(instance_type, offer.may_reserve_mib)
    if asked_mib > most:
        kept = known(offer.reserved_mib)
        nominal = max(0, instance_type.memory_mib - kept)
        note = "a host registers less than its nominal memory" if asked_mib == nominal else ""
        if kept and asked_mib <= instance_type.memory_mib:
            note = f"ECS_RESERVED_MEMORY keeps {kept} MiB"  # without it the host would have enough
        yield _short(HostResource.MEMORY, asked_mib, nominal, instance_type, note)
    elif asked_mib > expected:
        yield Doubt(
            kind=DoubtKind.MEMORY,
            text=f"a {instance_type} of nominally {instance_type.memory_mib} MiB may register as little as {expected} "
            "MiB with ECS, and more is asked for",
            fix=f"ask for no more than {expected} MiB",
            most_mib=expected,
        )
    elif asked_mib and isinstance(offer.reserved_mib, Unknown):
        yield Doubt(
            kind=DoubtKind.MEMORY,
            text="ECS_RESERVED_MEMORY is only known at deploy time, so it is not known how much memory tasks have",
            fix="write ECS_RESERVED_MEMORY as a number",
        )


def _query_reasons(
    expressions: Iterable[str], instance_type: InstanceType, offer: PoolProfile
) -> Iterator[Obstacle | Doubt]:
    """What stands between a host and the cluster queries that it must satisfy, wherever it may be."""
    queries = {each: _read(each) for each in expressions}
    yield from (Doubt(kind=DoubtKind.CONSTRAINT, text=each) for each in queries.values() if isinstance(each, str))
    read = {text: query for text, query in queries.items() if not isinstance(query, str)}
    places = offer.places if any(map(_asked_of_place, read)) else ((),)
    found = [{text: judge(query, offer.host(instance_type, place)) for text, query in read.items()} for place in places]
    is_nowhere = all(any(each.holds is False for each in there.values()) for there in found)
    for text in read:
        verdicts = [there[text] for there in found]
        where = _where(text, places)
        if any(each.holds is False for each in verdicts):
            if is_nowhere:
                yield Obstacle.of(instance_type, ObstacleKind.CONSTRAINT, f"does not satisfy {shown(text)}{where}")
            else:
                yield Doubt(
                    kind=DoubtKind.CONSTRAINED_PLACES, text=f"not every host of it satisfies {shown(text)}{where}"
                )
        elif any(each.holds is not True for each in verdicts):
            why = "; ".join(dict.fromkeys(reason for each in verdicts for reason in each.reasons))
            yield Doubt(kind=DoubtKind.CONSTRAINT, text=f"whether {instance_type} satisfies {shown(text)}: {why}")


@lru_cache(maxsize=4096)
def _asked_of_place(expression: str) -> tuple[str, ...]:
    """Attributes that an expression asks for and that tell hosts of one pool apart by where they are."""
    query = _read(expression)
    subjects = set() if isinstance(query, str) else {str(each.subject) for each in conditions(query)}
    return tuple([each for each in (ZONE, SUBNET) if str(Attribute(each)) in subjects])


def _where(expression: str, places: Iterable[HostPlace]) -> str:
    """What the attributes of its place are that an expression asks for, in words."""
    values = {
        name: dict.fromkeys(dict(each).get(name, UNKNOWN) for each in places) for name in _asked_of_place(expression)
    }
    return "".join(f", and {name} is {listed(each, 'or')}" for name, each in values.items())


def _read(expression: str) -> Query | str:
    try:
        return parse(expression)
    except QuerySyntaxError as error:
        return f"{shown(expression)} is not a cluster query: {error.problem}"


def _short(
    resource: HostResource, asked: int, available: int, instance_type: InstanceType, note: str = ""
) -> Shortfall:
    return Shortfall(resource=resource, asked=asked, available=available, instance_type=instance_type, note=note)
