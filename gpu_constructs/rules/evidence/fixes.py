"""What would make a task fit: the fixes of rules, and whether anything can."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import Image, InstanceType, default_image, may_run
from gpu_constructs.facts.prices import dollars, on_demand_price
from gpu_constructs.fleet import (
    GPU,
    Container,
    Fleet,
    HostImage,
    InstanceRequirements,
    PlacementConstraint,
    Pool,
    ResourceRequirement,
    StrategyItem,
    Task,
    Unknown,
    Workload,
    known,
    satisfies,
)
from gpu_constructs.fleet.purchase import RANGES, REQUIREMENTS
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.fit import alternatives, fit
from gpu_constructs.placement.pool_profile import expected_shareable_mib, least_memory_mib, most_memory_mib, profile_of
from gpu_constructs.placement.query.evaluate import evaluate, host_of
from gpu_constructs.placement.reasons import Fit, HostResource, ObstacleKind, Shortfall
from gpu_constructs.rules.evidence.expressions import joined, readable
from gpu_constructs.rules.finding import Text, Way, Ways, Word, and_list, one_way, or_list, with_verb

LESS = "ask for less, or larger hosts"
"""What is left where no change of one value does."""

_MOST_TYPES = 4

_PROPERTIES: Mapping[HostResource, str] = {
    HostResource.GPU: "ContainerDefinitions.ResourceRequirements",
    HostResource.SHARED_GPU_MEMORY: "ContainerDefinitions.ResourceRequirements",
    HostResource.NEURON_DEVICES: "ContainerDefinitions.LinuxParameters.Devices",
    HostResource.CPU: "ContainerDefinitions.Cpu",
    HostResource.MEMORY: "ContainerDefinitions.Memory",
    HostResource.INTERFACES: "NetworkMode",
}
"""The property of a task definition that asks for each resource."""
API_NAMES = {**REQUIREMENTS, "cpu_architectures": "the architecture of the image"}
"""Requirements of hosts in the words of the EC2 API."""


def asked_at(task: Task, resource: HostResource) -> str:
    """The property that asks for a resource: that of the whole task, where it has a size of its own."""
    own = {HostResource.CPU: task.cpu_limit, HostResource.MEMORY: task.memory_limit_mib}
    asked = _PROPERTIES[resource]
    return asked if own.get(resource) is None else asked.removeprefix("ContainerDefinitions.")


_ACCELERATORS = frozenset({HostResource.GPU, HostResource.SHARED_GPU_MEMORY, HostResource.NEURON_DEVICES})


def ways_of(task: Task, pool: Pool, found: Fit) -> Ways:
    """Changes that make a task fit the hosts of a pool: types that have as much, or asking for less."""
    if found.hosts:
        return one_way(provider_for(found), of_types(pool, found.hosts))
    return hosts_for(task, pool, "hosts of a type"), *_less(task, pool, found)


def asking_less(task: Task, pool: Pool, found: Fit) -> tuple[Way, ...]:
    """Asking for no more than the hosts have, or than they are certain to register."""
    doubts = ((each.fix, with_memory(task, each.most_mib)) for each in found.doubts if each.most_mib is not None)
    certain = (Way(text=text, things=(less,)) for text, less in doubts if less is not None)
    return (*(way for group in _less(task, pool, found) for way in group), *certain)


def hosts_for(task: Task, pool: Pool, what: str, *, of_other_families: bool = False) -> tuple[Way, ...]:
    """Types that can run a task, first those that its placement constraints ask for: each with its price, if known.

    `what` is what the hosts are to be, such as ``hosts of a type``.
    """
    old = {each.family for each in pool.instance_types} if of_other_families else ()
    types = [each for each in _launched(task, pool) if each.family not in old]
    asked = _asked(types, task.constraints)
    others = [each for each in types if each not in asked]
    return tuple(_as(task, pool, each, what, is_asked=each in asked) for each in (*asked, *others)[:_MOST_TYPES])


def hosts_asked(task: Task, pool: Pool, constraints: Iterable[PlacementConstraint]) -> tuple[Way, ...]:
    """Types that can run a task and that some constraints name, as a user wrote them."""
    types = _asked(_launched(task, pool), constraints)[:_MOST_TYPES]
    return tuple(_as(task, pool, each, "hosts of a type", is_asked=True) for each in types)


def _launched(task: Task, pool: Pool) -> list[InstanceType]:
    """Types that can run a task and that the pool can launch: a launch configuration launches older ones alone."""
    types = alternatives(task, like=pool)
    return [each for each in types if not (pool.launch_configuration and each.traits.released_after_2022)]


def _asked(types: Iterable[InstanceType], constraints: Iterable[PlacementConstraint]) -> list[InstanceType]:
    every = tuple(constraints)
    query = joined(readable(tuple(each for each in every if each not in without_type_lists(every))))
    return [each for each in types if query is not None and evaluate(query, host_of(each)) is not False]


def such_as(task: Task) -> str:
    """The smallest type with accelerators that can run a task, as the end of a sentence; empty where none can."""
    types = [each for each in alternatives(task) if each.accelerators is not None]
    return f", such as {types[0]}" if types else ""


def _as(task: Task, pool: Pool, instance_type: InstanceType, what: str, *, is_asked: bool) -> Way:
    new = of_types(pool, (instance_type,))
    kept = task.constraints if is_asked else without_type_lists(task.constraints)
    # The constructs write such a list themselves.
    listed = len(kept) < len(task.constraints) and task.origin is not None and task.origin.file is not None
    old, image = pool.image, new.image
    driven = "" if image is old or isinstance(image, Unknown) else f" and image {image.image.name}"
    costs = priced(instance_type, pool.region)
    too = ", in its placement constraint too" if listed else ""
    barred = "" if pool.requirements is None else beside_names(instance_type, pool.requirements)
    return Way(
        text=Text(Word(f"{what} such as"), f" {instance_type}{driven}{costs}{too}{barred}"),
        things=(new,) if is_asked else (new, replace(task, constraints=kept)),
    )


def priced(instance_type: InstanceType, region: str | None) -> str:
    """The price of a type in brackets, if it is known."""
    price = on_demand_price(instance_type.name, region)
    return "" if price is None else f" ({dollars(price.usd_per_hour)} an hour on demand, {price.region}, {price.day})"


def without_type_lists(constraints: Iterable[PlacementConstraint]) -> tuple[PlacementConstraint, ...]:
    """The constraints that do not name instance types."""
    return tuple(each for each in constraints if "ecs.instance-type" not in str(each.expression))


def of_types(pool: Pool, types: tuple[InstanceType, ...]) -> Pool:
    """The pool with other types, and with an image for them where its own cannot be."""
    new = replace(pool, instance_types=types, requirements=None, has_unknown_types=False, unknown_type_names=())
    if isinstance(pool.image, Unknown) or may_run(pool.image.image, types[0], pool.image.release):
        return new
    try:
        return replace(new, image=HostImage(image=default_image(types[0])))
    except IncompatibleError:
        return new


def larger(pool: Pool, *sizes: int) -> tuple[Way, ...]:
    """More hosts at most: the numbers to try, the smallest first."""
    return tuple(
        Way(
            text=Text("raise ", Word("MaxSize"), f" of {pool.name} to {size}"),
            things=(replace(pool, max_instances=size),),
        )
        for size in sizes
    )


def own_strategies(fleet: Fleet, workload: Workload) -> tuple[Way, ...]:
    """Strategies of its own for what the default strategy of its cluster sends to hosts that do not fit.

    Of each provider of the cluster whose hosts certainly run the task.
    """
    task = workload.task
    if task is None or not workload.follows_cluster:
        return ()
    return tuple(
        Way(
            text=Text("a ", Word("CapacityProviderStrategy"), f" with {each.provider_name}"),
            things=(replace(workload, strategy=(StrategyItem(provider=each.provider_name, pool=each, weight=1),)),),
        )
        for each in fleet.pools
        if each.has_provider
        and each.cluster == workload.cluster
        and fit(task, each, constraints=workload.constraints).answer is True
    )


def with_container(task: Task, old: Container, new: Container) -> Callable[[], Task]:
    """Makes the task with another container in the place of one of its own."""
    return partial(_exchanged, task, old, new)


def _exchanged(task: Task, old: Container, new: Container) -> Task:
    return replace(task, containers=tuple(new if each is old else each for each in task.containers))


def with_image(pool: Pool, image: Image, release: str | None = None) -> Pool:
    """The pool with this machine image instead of its own, pinned to a release or the newest."""
    return replace(pool, image=HostImage(image=image, release=release), image_written=None)


def worst(shortfalls: Iterable[Shortfall]) -> Shortfall | None:
    """The shortfall to settle first: that of accelerators, because CPU and memory go with them."""
    return min(shortfalls, key=lambda each: each.resource not in _ACCELERATORS, default=None)


def provider_for(found: Fit) -> str:
    """A capacity provider that only launches hosts that can run a task."""
    return Text(Word("a separate capacity provider for"), f" {and_list(found.hosts)}")


def _less(task: Task, pool: Pool, found: Fit) -> Ways:
    """Asking for no more than the hosts have of everything that they have too little of."""
    most = {each.resource: certain_amount(each, pool) for each in found.shortfalls}
    less: Task | None = task
    for resource, available in most.items():
        lower = _LOWER.get(resource)
        less = lower(less, available) if lower is not None and less is not None and available > 0 else None
    if most and less is not None:
        text = and_list(f"{each.label} no higher than {each.amount(available)}" for each, available in most.items())
        return one_way(text, less)
    if any(each.kind is ObstacleKind.DAEMONS for each in found.obstacles) and demand_of(task).host_ports:
        return ((Way(text="another host port, or a dynamic one (0)"),),)
    is_of_parts = any(each.kind is ObstacleKind.GPU_PART for each in found.obstacles)
    if not most and pool.shape is not None and is_of_parts:
        part = pool.shape.partition
        if part == 1:
            return ((Way(text="whole GPUs"),),) if demand_of(task).part else ()
        with_part = _with_gpus(task, f"{part:g}")
        return () if with_part is None else one_way(f"{part:g} of a GPU, as its hosts have", with_part)
    return ()


def certain_amount(short: Shortfall, pool: Pool) -> int:
    """How much of what is short a host certainly has."""
    if short.resource is HostResource.SHARED_GPU_MEMORY:
        return expected_shareable_mib(short.available or 0)
    if short.resource is not HostResource.MEMORY:
        return short.available or 0
    # A host registers less memory than the most that it may have.
    offer, host = profile_of(pool), short.instance_type
    least = least_memory_mib(host, offer.may_reserve_mib)
    taken = most_memory_mib(host, known(offer.reserved_mib)) - (short.available or 0) if short.beside else 0
    return least - taken


def _with_gpus(task: Task, most: int | str) -> Task | None:
    """A task with fewer GPUs or a part of one; None where several containers have some, as only the user can divide."""
    asking = [each for each in task.containers if each.wants_gpu]
    if len(asking) != 1:
        return None
    others = tuple(each for each in asking[0].requirements if each.type != GPU)
    fewer = replace(asking[0], requirements=(*others, ResourceRequirement(value=str(most))))
    return _exchanged(task, asking[0], fewer)


def _with_cpu(task: Task, most: int) -> Task | None:
    if task.cpu_limit is not None:
        return replace(task, cpu_limit=most)
    if len(task.containers) != 1:
        return None
    return replace(task, containers=(replace(task.containers[0], cpu=most),))


def with_memory(task: Task, most: int) -> Task | None:
    """A task of one container with less memory; None for another one, whose containers share it as only users know."""
    if len(task.containers) != 1:
        return None
    container = task.containers[0]
    limit, kept = container.memory_limit_mib, container.memory_reservation_mib
    lower = replace(
        container,
        memory_limit_mib=limit if limit is None or kept is not None else most,
        memory_reservation_mib=None if kept is None else most,
    )
    return replace(task, containers=(lower,), memory_limit_mib=None if task.memory_limit_mib is None else most)


_LOWER: Mapping[HostResource, Callable[[Task, int], Task | None]] = {
    HostResource.GPU: _with_gpus,
    HostResource.CPU: _with_cpu,
    HostResource.MEMORY: with_memory,
}


def beside_names(instance_type: InstanceType, wanted: InstanceRequirements) -> str:
    """What keeps a type out that the list of allowed types alone would not, as the end of a sentence."""
    barring = [
        each
        for each in asked_of(wanted)
        if not satisfies(instance_type, InstanceRequirements(**{each: getattr(wanted, each)}))
    ]
    if not {*barring} - {"allowed_instance_types"}:
        return ""
    named = [asked_of(wanted)[each] if each in RANGES else API_NAMES[each] for each in barring]
    return f", which {with_verb(named, 'keeps', 'keep')} out"


def asked_of(wanted: InstanceRequirements) -> dict[str, str]:
    """Everything that they ask for, by field."""
    said: dict[str, str] = {}
    for each in fields(wanted):
        name, value = API_NAMES[each.name], getattr(wanted, each.name)
        if each.name not in RANGES:
            said |= {each.name: f"{name} {or_list(value)}"} if value else {}
        elif value != (None, None):
            low, high = ("any" if bound is None else bound for bound in value)
            said[each.name] = f"{name} {low} to {high}"
    return said
