"""Runs of GPU tasks that end: does each state end, does each override fit its task, and do checkpoints survive?

The tasks of a gang wait for each other. ECS starts each task by itself, so what came first waits for the others on
hosts that are paid for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import MAX_INLINE_ITERATIONS
from gpu_constructs.fleet import (
    PARTLY_SPOT,
    UNKNOWN,
    Container,
    Gang,
    GangMember,
    Pool,
    PoolKind,
    Step,
    Task,
    Unknown,
    Workload,
    known,
    total,
)
from gpu_constructs.placement import Assumption
from gpu_constructs.placement.route import Assignment, Destination, Route
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import is_accelerated
from gpu_constructs.rules.evidence.copies import limit_of, slots_on
from gpu_constructs.rules.evidence.fixes import larger
from gpu_constructs.rules.finding import Ways
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import and_list, with_verb

_MANY_RETRIES: Final = 100
"""More than a failure that goes away by itself takes; each of them takes a GPU host."""


@warning(
    "GPU321",
    question="does something end a state of a state machine that runs a GPU task?",
    because="the definition of a state machine has no time limit unless it sets one: while no host comes, or the task "
    "hangs, the execution waits; Step Functions follows the way from a failure back to the state as long as nothing "
    "counts how often, and retries up to 99,999,999 times; each time a host with GPUs is paid for",
    source="https://docs.aws.amazon.com/step-functions/latest/dg/sfn-stuck-execution.html",
    unless=("GPU345",),
)
def ends_at_some_time(context: Context) -> Problems:
    for step, task in _gpu_steps(context):
        if step.is_limited is False:
            yield Problem(
                about=step,
                involves=(task,),
                property_name="TimeoutSeconds",
                message=f"{brief(step.name)} waits until {task.name} ends, and neither the state nor its state machine "
                "has TimeoutSeconds",
                fix="TimeoutSeconds of the state, with the time that a host needs to start",
            )
        if step.way_back is not None:
            by_way = f" by way of {', '.join(map(brief, step.way_back))}" if step.way_back else ""
            yield Problem(
                about=step,
                involves=(task,),
                property_name="Catch",
                message=f"each time that {task.name} fails, {brief(step.name)} starts it again{by_way}, and nothing "
                "counts how often",
                fix="a Retry with MaxAttempts in place of the way back, a Choice that counts, or TimeoutSeconds of the "
                "whole state machine",
            )
        if isinstance(step.retries, int) and step.retries > _MANY_RETRIES:
            yield Problem(
                about=step,
                involves=(task,),
                property_name="Retry.MaxAttempts",
                value=step.retries,
                message=f"{brief(step.name)} starts {task.name} again up to {step.retries:,} times when it fails, "
                "whatever the reason is",
                allowed=f"up to {_MANY_RETRIES}",
                fix="a smaller MaxAttempts, and more only for errors that go away by themselves, such as "
                "ECS.AmazonECSException",
            )


def _gpu_steps(context: Context) -> Iterator[tuple[Step, Task]]:
    """States that run a task with GPUs and wait for its end, with that task."""
    steps = (each for each in context.fleet.steps if each.waits)
    return ((each, each.task) for each in steps if each.task is not None and is_accelerated(each.task))


@error(
    "GPU359",
    question="does each override name a container of the task?",
    because="RunTask refuses an override for a container that is not in the task definition, and starts nothing",
    source="https://github.com/azavea/django-ecsmanage/issues/21",
)
def overrides_its_containers(workload: Workload) -> Problems:
    task = workload.task
    if task is None or not is_accelerated(task):
        return
    names = and_list(brief(each.name) for each in task.containers)
    for name, origin in workload.overrides_others:
        yield Problem(
            origin=origin,
            property_name="ContainerOverrides.Name",
            value=name,
            message=f"{workload.name} overrides container {brief(name)}, and {task.name} has {names}",
            allowed=names,
            fix="the name of a container of the task",
        )


@warning(
    "GPU370",
    question="does a GPU task on Spot hosts mount a volume where it keeps its checkpoints?",
    because="what a container writes outside of its volumes is deleted with it, so that nothing is left to resume from "
    "after an interruption",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_data_volumes.html",
)
def mounts_its_checkpoints(context: Context) -> Problems:
    said: set[tuple[int, str]] = set()
    for route in context.routed(lambda task: task.wants_gpu):
        spot = [each.pool for each in route.destinations if each.pool.bought.option in PARTLY_SPOT]
        for container, name, path in _directories(route) if spot else ():
            paths = container.relations.mount_paths
            # Volumes of another container are mounted where that one has them.
            is_open = any(isinstance(each, Unknown) for each in paths) or bool(container.relations.volumes_from)
            if is_open or _is_below(path, paths) or (id(route.task), path) in said:
                continue
            said.add((id(route.task), path))
            directory = brief(path.rstrip("/"))
            yield Problem(
                about=route.task,
                container=container,
                involves=(route.sender, spot[0]),
                property_name="MountPoints",
                message=f"container {brief(container.name)} of {route.task.name} keeps checkpoints in {directory} "
                f"({brief(name)}), where it mounts no volume, and {spot[0].name} has Spot hosts",
                fix=f"MountPoints with ContainerPath {directory} and a volume of EFS or FSx for Lustre (in CDK "
                f'container.add_mount_points(ecs.MountPoint(container_path="{directory}", source_volume=…, '
                "read_only=False))), or a bucket",
            )


def _directories(route: Route) -> Iterator[tuple[Container, str, str]]:
    """Containers with the variables that name a directory for checkpoints, and that directory."""
    overrides = route.workload.variables if route.workload is not None else ()
    for container in route.task.containers:
        own = {name: value for name, value in container.environment if isinstance(value, str)}
        own.update({name: value for of, name, value in overrides if of == container.name})
        for name, value in own.items():
            if "CHECKPOINT" in name.upper() and value.startswith("/") and value.strip("/"):
                yield container, name, value


def _is_below(path: str, mounted: tuple[str | Unknown, ...]) -> bool:
    return any(isinstance(each, str) and PurePosixPath(path).is_relative_to(each) for each in mounted)


_MANAGED: Final = PoolKind.MANAGED_INSTANCES
_Members: TypeAlias = tuple[tuple[GangMember, Workload], ...]


@error(
    "GPU344",
    question="can all tasks of a gang run at once?",
    because="each task waits for all others, as torch.distributed does for WORLD_SIZE processes: those that run keep "
    "their hosts, and those without a host never start",
    softer="where other hosts may join the cluster",
    source="https://docs.pytorch.org/docs/stable/distributed.html",
    unless=("GPU212",),
)
def runs_at_once(context: Context) -> Problems:
    for gang, members in _gangs(context):
        yield from _few_at_once(gang, members)
        for tasks, assignments in _by_hosts(context, members):
            there: dict[str, list[Destination]] = defaultdict(list)
            for one in (one for each in assignments for one in each.destinations):
                there[one.pool.name].append(one)
            pools = [first.pool for first, *_ in there.values()]
            slots = total(map(_slots, there.values()))
            if isinstance(tasks, int) and isinstance(slots, int) and slots < tasks:
                limit = limit_of(pools)
                yield Problem(
                    about=gang,
                    involves=(*(run for _, run in members), *pools),
                    property_name="MaxSize",
                    value=slots,
                    message=f"{brief(gang.name)} starts {tasks} tasks that wait for each other, and "
                    f"{with_verb(there, 'holds', 'hold')} {slots} at {limit}",
                    fix=f"raise {limit} to room for {tasks}, or fewer tasks",
                    ways=_more_hosts(pools[0], tasks, slots) if len(pools) == 1 else (),
                    is_shortage=True,
                    is_certain=all(each.is_closed for each in assignments),
                )


@warning(
    "GPU345",
    question="does a gang end when one of its tasks fails or gets no host?",
    because="the others wait for it on hosts that are paid for; Step Functions stops them only where their states wait "
    "for them with .sync, and one of these fails or is over its TimeoutSeconds",
    source="https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html",
    unless=("GPU344",),
)
def ends_together(context: Context) -> Problems:
    for gang, members in _gangs(context):
        leaves = not all(each.waits for each, _ in members)
        if gang.can_stop or (not leaves and all(each.is_limited for each, _ in members)):
            continue
        runs = tuple(run for _, run in members)
        yield Problem(
            about=gang,
            involves=(*runs, *(run.task for run in runs if run.task is not None)),
            property_name="Resource" if leaves else "TimeoutSeconds",
            message=f"when a task of {brief(gang.name)} fails or gets no host, the others wait for it"
            + (", and no state waits for their end" if leaves else " without a time limit"),
            fix="a Resource with .sync, and TimeoutSeconds"
            if leaves
            else "TimeoutSeconds of each state, with the time that hosts need to start",
        )


def _gangs(context: Context) -> Iterator[tuple[Gang, _Members]]:
    """Gangs with GPUs, with what each member runs."""
    runs = {each.name: each for each in context.fleet.workloads} if context.fleet.gangs else {}
    for gang in context.fleet.gangs:
        members = tuple((each, runs[each.workload]) for each in gang.members)
        if any(run.task is not None and is_accelerated(run.task) for _, run in members):
            yield gang, members


def _few_at_once(gang: Gang, members: _Members) -> Problems:
    for member, run in members:
        if member.at_once is not None:
            yield Problem(
                about=gang,
                involves=(run,),
                property_name="MaxConcurrency",
                value=member.at_once,
                message=f"{brief(gang.name)} starts {member.count} tasks that wait for each other, and its map runs "
                f"{member.at_once} at once",
                fix="no MaxConcurrency"
                if known(member.count) <= MAX_INLINE_ITERATIONS
                else f"up to {MAX_INLINE_ITERATIONS} tasks, or a map in DISTRIBUTED mode",
            )


def _by_hosts(context: Context, members: _Members) -> Iterator[tuple[int | Unknown, tuple[Assignment, ...]]]:
    """How many tasks go to the same hosts, with their ways there; none where they may go to hosts of other files."""
    counts = {id(run): member.count for member, run in members}
    by_pools: dict[frozenset[str], list[Assignment]] = {}
    ways = context.once(_ways_of_runs)
    for each in (ways[id(run)] for _, run in members if id(run) in ways):
        pools = tuple(one.pool for one in each.destinations)
        is_known = all(item.pool is not None for item in each.workload.strategy) and not each.never
        if is_known and _MANAGED not in {one.kind for one in pools}:
            by_pools.setdefault(frozenset(one.name for one in pools), []).append(each)
    for found in by_pools.values():
        yield total(counts[id(each.workload)] for each in found), tuple(found)


def _ways_of_runs(context: Context) -> dict[int, Assignment]:
    return {id(each.workload): each for each in context.assignments}


def _slots(there: Iterable[Destination]) -> int | Unknown:
    """Tasks that a pool holds at most, as if all were like the one of which it holds most."""
    slots = [slots_on(each, Assumption.BEST) for each in there]
    return UNKNOWN if any(isinstance(each, Unknown) for each in slots) else max(map(known, slots))


def _more_hosts(pool: Pool, tasks: int, slots: int) -> Ways:
    if isinstance(pool.max_instances, Unknown) or not slots:
        return ()
    hosts = -(-tasks * pool.max_instances // slots)
    return (larger(pool, hosts, hosts + 1),)
