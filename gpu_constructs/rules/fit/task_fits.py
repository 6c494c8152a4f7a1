"""Whether a task fits the hosts that it may be placed on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from gpu_constructs.facts import InstanceType, Vendor
from gpu_constructs.fleet import TASK_INTERFACES, Pool, Scheduler, Task
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import carries_gpus, unassigned
from gpu_constructs.placement.fit import fit
from gpu_constructs.placement.machine import built_for_another
from gpu_constructs.placement.reach import pools_by_hand
from gpu_constructs.placement.reasons import DoubtKind, Fit, HostResource, Obstacle, ObstacleKind, Shortfall
from gpu_constructs.placement.route import UNSCALED, Assignment, Destination
from gpu_constructs.rules.evidence.copies import WHILE_SPARED, may_find_host
from gpu_constructs.rules.evidence.fixes import (
    LESS,
    asked_at,
    certain_amount,
    hosts_for,
    own_strategies,
    provider_for,
    ways_of,
    with_memory,
    worst,
)
from gpu_constructs.rules.finding import Text, Way, Ways, Word, and_list, joined, one_way, or_list, some, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_SCALING = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html"

# Other rules report the other resources.
_RESOURCES = frozenset({HostResource.GPU, HostResource.CPU, HostResource.MEMORY, HostResource.INTERFACES})
_OF_HOSTS = {
    ObstacleKind.AGENT: ("TaskDefinition", "user data with a setting that allows it, or a task without that need"),
    ObstacleKind.ZONE: ("NetworkConfiguration", "subnets for its tasks in the zones of the hosts"),
}
"""Obstacles that are a matter of neither size, with the property and the fix."""
_MORE, _AS_MANY = "GPUs with more memory", "hosts with as many Neuron devices"
_UNSURE = (DoubtKind.MEMORY, DoubtKind.UNDOCUMENTED, DoubtKind.DAEMONS)


@warning(
    "GPU006",
    question="is the task certain to fit on the memory that hosts are expected to register?",
    because="a host registers less memory with ECS than its nominal memory, and how much less is only known once it "
    "runs",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html",
    stops_work=True,
    changes="Memory",
)
def certain_to_fit(context: Context) -> Problems:
    for assignment in context.assignments:
        for each in assignment.in_doubt:
            yield from _may_not_fit(assignment.task, each.pool, each.fit)
    for task in unassigned(context.fleet):
        answers = [(pool, fit(task, pool)) for pool in pools_by_hand(context.fleet, task)]
        if all(each.answer is not True for _, each in answers):
            for pool, found in answers:
                yield from () if found.answer is False else _may_not_fit(task, pool, found)


@warning(
    "GPU014",
    question="is it known before the deploy how much the task asks for?",
    because="a number that is only known at deploy time can be more than any host has, and no check can find that "
    "before",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html",
    changes="Memory",
)
def known_task(context: Context) -> Problems:
    placed = {each.task.name for each in context.assignments}
    for task in context.tasks:
        if not task.wants_gpu and task.name not in placed:
            continue
        unknown = demand_of(task).unknown
        if unknown:
            yield Problem(
                about=task,
                message=f"{task.name} may not fit: {with_verb(unknown, 'is', 'are')} only known at deploy time, so it "
                "cannot be checked whether a host can run it",
                fix=f"write the value{'s' if len(unknown) > 1 else ''}, or take {'them' if len(unknown) > 1 else 'it'} "
                "from context",
            )


@error(
    "GPU060",
    question="does the task fit the hosts of each pool that it may be placed on?",
    because="ECS gives a task to one capacity provider and does not move it; if the hosts are too small, or have too "
    "little left beside their daemons, which ECS starts first, the task stays in PROVISIONING",
    softer=f"where a task without a strategy may find a larger host that other tasks started, and {WHILE_SPARED}",
    source=_SCALING,
    unless=("GPU020", "GPU023", "GPU063"),
)
def fits(context: Context) -> Problems:
    yield from _without_devices(context)
    for assignment in context.assignments:
        never = assignment.stuck
        if not never:
            continue
        if own := own_strategies(context.fleet, assignment.workload):
            yield from _sent_by_default(assignment, never[0], own)
            continue
        short = [(each, reasons) for each in never if (reasons := _reasons(assignment.task, each))]
        if assignment.every:
            for each, reasons in short:
                found = _does_not_fit(assignment, Text(f"on {each.pool.name}: ", _joined(reasons)), each)
                yield replace(found, is_certain=not each.is_spared)
        elif short:
            where = some(f"{each.pool.name}: {_joined(reasons)}" for each, reasons in short)
            found = _does_not_fit(assignment, f"on any host of its cluster here ({where})", short[0][0])
            yield replace(found, is_certain=not may_find_host(context, never))


@error(
    "GPU067",
    question="do the hosts have the processor that the task is built for?",
    because="a host only runs images for its own architecture, and ECS does not place a task on it whose "
    "RuntimePlatform names another; into images it does not look, and a container of another architecture ends with "
    "exec format error",
    softer=WHILE_SPARED,
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html",
    changes="RuntimePlatform.CpuArchitecture",
    unless=("GPU063",),
)
def same_architecture(context: Context) -> Problems:
    for assignment, each in _stuck(context):
        task = assignment.task
        for obstacle in each.barred_by(ObstacleKind.ARCHITECTURE):
            yield Problem(
                about=assignment.workload,
                involves=(assignment.task,),
                message=f"{task.name} cannot run on {each.pool.name}: {obstacle}",
                fix=f"{task.architecture} hosts",
                ways=(hosts_for(task, each.pool, f"{task.architecture} hosts,"),),
                is_certain=not each.is_spared,
            )
    yield from _images_of_another(context)


def _images_of_another(context: Context) -> Iterator[Problem]:
    """ECS does not look into images: the container ends with ``exec format error`` on the host that it gets."""
    for route in context.routed(lambda task: any(each.built_for for each in task.containers)):
        task, places = route.task, [each for each in route.destinations if each.fit.answer is not False]
        wrong = {each.pool.name: {host: built_for_another(task, host) for host in each.types} for each in places}
        on_none = route.is_closed and all(found and all(found.values()) for found in wrong.values())
        if route.workload is None and not (on_none and task.wants_accelerator and not context.is_exposed(task)):
            continue  # who runs it by hand may choose hosts that run it
        for each in places:
            named = {container: host for host, found in wrong[each.pool.name].items() for container in found}
            for container, host in named.items():
                yield Problem(
                    about=route.sender,
                    involves=(task,),
                    message=f"container {container.name} of {task.name} cannot run on {each.pool.name}: {host} is "
                    f"{host.architecture}, and its image is built for {container.built_for}",
                    fix=f"an image for {host.architecture} (in CDK: platform=…), or {container.built_for} hosts",
                    property_name="Image",
                    changes="Image",
                    origin=container.origin,
                    container=container,
                    is_certain=(route.every or on_none) and all(wrong[each.pool.name].values()) and not each.is_spared,
                )


@warning(
    "GPU069",
    question="can every type of the Auto Scaling group, or of the compute environment, run the task?",
    because="managed scaling compares a task with the smallest type of the Auto Scaling group and does not scale out "
    "for a task that needs more; such a task only runs on a larger host that is already running, and without managed "
    "scaling nothing makes the group launch one; AWS Batch does not count devices that are given by path",
    source=_SCALING,
    stops_work=True,
    changes="InstanceType",
)
def fits_the_smallest(context: Context) -> Problems:
    by_hand = (each for each in context.routed(lambda task: task.scheduler is Scheduler.BATCH) if not each.workload)
    for route in (*context.assignments, *by_hand):
        for each, doubt in ((there, one) for there in route.in_doubt for one in there.fit.doubts):
            if doubt.kind not in UNSCALED:
                continue
            yield Problem(
                about=route.sender,
                message=f"{route.task.name} may never start on {each.pool.name}: {doubt}",
                fix=f"a compute environment of {and_list(each.fit.hosts)} alone"
                if route.task.scheduler is Scheduler.BATCH
                else provider_for(each.fit),
            )


def _without_devices(context: Context) -> Problems:
    """No GPU with the memory that containers share through MPS, who all get the same one, or too few Neuron devices.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_NvidiaMpsAllocation.html
    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference-task-def.html
    """
    for assignment, each in _stuck(context):
        short = {one.resource: one for one in each.fit.shortfalls}
        shared, neuron = short.get(HostResource.SHARED_GPU_MEMORY), short.get(HostResource.NEURON_DEVICES)
        none = [obstacle for obstacle in each.fit.obstacles if obstacle.kind is ObstacleKind.NEURON]
        if shared is not None:
            less = _less_shared(assignment.task, certain_amount(shared, each.pool))
            yield _lacks(assignment, each, f"fits on no GPU of {each.pool.name}: {shared}", _MORE, shared, (less,))
        if neuron is not None or none:
            why = "; ".join(map(str, filter(None, (neuron, *none))))
            yield _lacks(assignment, each, f"cannot run on {each.pool.name}: {why}", _AS_MANY, neuron)


def _lacks(
    assignment: Assignment, each: Destination, why: str, hosts: str, short: Shortfall | None, *ways: tuple[Way, ...]
) -> Problem:
    return Problem(
        about=assignment.workload,
        involves=(assignment.task,),
        message=f"{assignment.task.name} {why}",
        fix=hosts,
        ways=(hosts_for(assignment.task, each.pool, f"{hosts},"), *ways),
        property_name=asked_at(assignment.task, short.resource if short else HostResource.NEURON_DEVICES),
        value=None if short is None else short.asked,
        allowed="" if short is None else f"up to {short.resource.amount(certain_amount(short, each.pool))}",
        is_shortage=short is not None,
        is_certain=not each.is_spared,
    )


def _stuck(context: Context) -> Iterator[tuple[Assignment, Destination]]:
    return ((assignment, each) for assignment in context.assignments for each in assignment.stuck)


def _less_shared(task: Task, most: int) -> Way:
    """Asking for no more of the memory of a GPU, tried with equal shares; how to divide it only the user knows."""
    share = most // sum(len(each.mps) for each in task.containers)
    containers = tuple(
        replace(
            container,
            requirements=tuple(
                each
                if each.nvidia_mps is None
                else replace(each, nvidia_mps=replace(each.nvidia_mps, memory_mib=share))
                for each in container.requirements
            ),
        )
        for container in task.containers
    )
    return Way(
        text=Text(Word("Memory of NvidiaMps"), f" no higher than {most} for all containers together"),
        things=(replace(task, containers=containers),),
    )


def _may_not_fit(task: Task, pool: Pool, found: Fit) -> Problems:
    for doubt in (each for each in found.doubts if each.kind in _UNSURE):
        less = None if doubt.most_mib is None else with_memory(task, doubt.most_mib)
        yield Problem(
            about=task,
            message=f"{task.name} may not fit on {pool.name}: {doubt.text}",
            fix="ask for less memory" if less is not None else doubt.fix,
            ways=() if less is None else one_way(doubt.fix, less),
            changes=asked_at(task, HostResource.GPU) if doubt.kind is DoubtKind.UNDOCUMENTED else "",
        )


def _reasons(task: Task, destination: Destination) -> tuple[Shortfall | Obstacle, ...]:
    """Why a pool never runs a task, without what other rules report."""
    obstacles = {ObstacleKind.GPU_PART, ObstacleKind.DAEMONS, *_OF_HOSTS}
    obstacles |= set() if task.wants_gpu else {ObstacleKind.OPERATING_SYSTEM}
    return (
        *(
            each
            for each in destination.fit.shortfalls
            # Another rule says that ECS does not hand out the devices of hosts without NVIDIA GPUs.
            if each.resource in _RESOURCES and not (_is_foreign(each) and not carries_gpus(destination.pool))
        ),
        *(each for each in destination.fit.obstacles if each.kind in obstacles),
    )


def _is_foreign(short: Shortfall) -> bool:
    return short.resource is HostResource.GPU and short.instance_type.vendor not in {None, Vendor.NVIDIA}


def _does_not_fit(assignment: Assignment, where: str, each: Destination) -> Problem:
    short = each.fit.shortfalls if each.fit.hosts else ()
    # Types without NVIDIA GPUs, where they alone are short of GPUs and another type can run the task.
    foreign = dict.fromkeys(one.instance_type for one in short) if all(map(_is_foreign, short)) else ()
    types = "InstanceType" if each.pool.requirements is None else "InstanceRequirements"
    on_larger = f"; only {and_list(each.fit.hosts)} can run it, and managed scaling looks at the smallest type"
    first = worst(each.fit.shortfalls)
    asked = asked_at(assignment.task, first.resource if first else HostResource.GPU)
    told = None if first else next((_OF_HOSTS[one.kind] for one in each.fit.obstacles if one.kind in _OF_HOSTS), None)
    is_off = each.pool.user_data.turns_off(TASK_INTERFACES) and first and first.resource is HostResource.INTERFACES
    return Problem(
        about=assignment.workload,
        involves=(assignment.task, *([each.pool] if foreign else [])),
        message=Text(f"{assignment.task.name} does not fit ", where, on_larger if each.fit.hosts else ""),
        fix=told[1] if told else f"{TASK_INTERFACES}=true, or network mode bridge" if is_off else LESS,
        ways=() if is_off or told else (*_without(foreign, each.pool), *ways_of(assignment.task, each.pool, each.fit)),
        property_name=told[0] if told else asked,
        value=None if first is None else first.asked,
        allowed="" if first is None else f"up to {first.resource.amount(certain_amount(first, each.pool))}",
        is_shortage=first is not None,
        origin=each.pool.origin if each.fit.hosts else None,
        changes=types if each.fit.hosts else "",
    )


def _sent_by_default(assignment: Assignment, each: Destination, own: tuple[Way, ...]) -> Problems:
    """A strategy of its own is missing, where the cluster has hosts that run the task: nothing is wrong with either."""
    reasons = _reasons(assignment.task, each) or each.barred_by(ObstacleKind.CONSTRAINT)
    if reasons:
        yield Problem(
            about=assignment.workload,
            message=f"the default strategy of its cluster sends {assignment.workload.name} to {each.pool.name}, where "
            f"{assignment.task.name} does not fit: {_joined(reasons)}",
            fix=Text("a ", Word("CapacityProviderStrategy"), " with hosts that are made for the task"),
            ways=(own,),
            property_name="CapacityProviderStrategy",
        )


def _without(foreign: Collection[InstanceType], pool: Pool) -> Ways:
    if not foreign:
        return ()
    text = f"leave {or_list(foreign)} out" if pool.requirements is None else "AcceleratorManufacturers nvidia"
    kept = tuple(each for each in pool.instance_types if each not in foreign)
    return one_way(text, replace(pool, instance_types=kept))


def _joined(reasons: Iterable[Shortfall | Obstacle]) -> Text:
    return joined(
        "; ",
        (
            Text(f"{each.asks} ", Word("asked"), f", {each.has}") if isinstance(each, Shortfall) else str(each)
            for each in reasons
        ),
    )
