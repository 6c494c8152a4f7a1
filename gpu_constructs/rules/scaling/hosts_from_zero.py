"""Tasks without a capacity provider strategy: does anything start hosts for them?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpu_constructs.fleet import Pool, PoolKind, StrategyItem, Unknown, Workload
from gpu_constructs.placement import demand_of
from gpu_constructs.placement.destinations import started_by_strategies
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES, pools_of
from gpu_constructs.placement.route import Assignment, Destination
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import Way, Ways, one_way
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.scaling.managed_scaling import begins_empty
from gpu_constructs.rules.words import and_list

_OTHER_HOSTS = "a CapacityProviderStrategy with hosts that are made for the task, and no LaunchType"
_SCALING = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html"


@warning(
    "GPU072",
    question="do tasks on pools with managed scaling have a capacity provider strategy?",
    because="a task without a capacity provider strategy does not make a capacity provider scale out while it waits",
    source=_SCALING,
    changes="LaunchType",
    unless=("GPU218",),
)
def makes_hosts_scale_out(context: Context) -> Problems:
    for assignment in context.assignments:
        workload = assignment.workload
        if workload.strategy or workload.daemon is not False:
            continue
        idle = [each.pool for each in assignment.destinations if each.fit.answer is not False and _waits(each.pool)]
        other = f" but launch type {workload.launch_type}" if isinstance(workload.launch_type, str) else ""
        if idle:
            yield Problem(
                about=workload,
                message=f"{workload.name} has no capacity provider strategy{other}, so "
                f"its tasks never make {and_list(each.name for each in idle)} scale out"
                + ("" if workload.is_service else "; while there is no host, RunTask fails at once"),
                fix=_OTHER_HOSTS,
                ways=_strategies(workload, idle)[:1],
            )


@error(
    "GPU218",
    question="is there a host, or something that starts one, for tasks without a capacity provider strategy?",
    because="only a task with a capacity provider strategy makes a capacity provider scale out or runs on Managed "
    "Instances, and nothing starts hosts in a group without one; without a host in the cluster RunTask fails at once, "
    "and a service waits",
    softer="where other files may give the cluster a default strategy, or something else may register hosts beside "
    "Managed Instances",
    source=_SCALING,
    unless=("GPU060", "GPU070"),
)
def has_a_first_host(context: Context) -> Problems:
    suspects = [each for each in context.assignments if _is_without_host(each)]
    started = started_by_strategies(context.fleet) if suspects else frozenset()
    defaults = _with_known_default(context) if suspects else frozenset()
    for assignment in suspects:
        workload, pools = assignment.workload, [each.pool for each in _landing(assignment)]
        has_default = workload.launch_type is None and workload.cluster not in defaults
        if has_default and any(each.has_provider for each in pools):
            continue
        if started.isdisjoint(each.name for each in pools):
            yield replace(_without_host(workload, pools), is_certain=not has_default)
    yield from _on_managed_instances(context)


def _on_managed_instances(context: Context) -> Problems:
    """Services with a launch type on a cluster that has only Managed Instances."""
    managed_of: dict[str | Unknown | None, list[Pool]] = {}
    for each in context.fleet.pools:
        if each.kind is PoolKind.MANAGED_INSTANCES:
            managed_of.setdefault(each.cluster, []).append(each)
    for workload in context.fleet.workloads if managed_of else ():
        if workload.strategy or workload.launch_type != "EC2" or isinstance(workload.cluster, Unknown):
            continue
        managed = managed_of.get(workload.cluster)
        if managed and not pools_of(context.fleet, workload):
            yield Problem(
                about=workload,
                property_name="LaunchType",
                message=f"{workload.name} has the launch type EC2, and its cluster has only ECS Managed Instances "
                f"({and_list(each.name for each in managed)}), which run tasks of a capacity provider strategy only",
                fix=f"use a CapacityProviderStrategy with {managed[0].name}, and remove LaunchType",
                is_certain=False,
            )


def _landing(assignment: Assignment) -> tuple[Destination, ...]:
    """Pools with hosts that may take the task, of a size that managed scaling does not launch for it among them."""
    return tuple(each for each in assignment.destinations if each.fit.answer is not False or each.types)


def _is_without_host(assignment: Assignment) -> bool:
    """Whether a workload sends its tasks to groups alone that have no host until ECS starts one."""
    workload = assignment.workload
    runs = workload.daemon is False and workload.has_copies and workload.launch_type in EC2_LAUNCH_TYPES
    return (
        runs
        and not workload.strategy
        and assignment.is_closed
        and any(each.fit.answer is not False for each in assignment.destinations)
        and all(_starts_none(each.pool) for each in _landing(assignment))
    )


def _starts_none(pool: Pool) -> bool:
    """Whether a group has no host, and gets none for a task without a strategy."""
    return begins_empty(pool) and (pool.is_scaled_by_ecs or not pool.has_provider)


def _with_known_default(context: Context) -> frozenset[str | Unknown | None]:
    """Clusters of which it is known that they have no default strategy but the one that was read."""
    return frozenset(each.cluster for each in context.fleet.provider_lists if each.cluster_is_defined)


def _without_host(workload: Workload, pools: list[Pool]) -> Problem:
    names = and_list(each.name for each in pools)
    what = "its tasks wait" if workload.is_service else "RunTask fails at once, because there is no host"
    way = "no capacity provider strategy" if workload.launch_type is None else f"launch type {workload.launch_type}"
    task = "a task" if workload.task is None else workload.task.name
    if not all(each.has_provider for each in pools):
        return Problem(
            about=workload,
            property_name="LaunchType",
            message=f"{workload.name} runs {task} with {way}, and nothing starts hosts "
            f"in {names}, with a MinSize of 0: {what}",
            fix="a capacity provider with managed scaling, and a CapacityProviderStrategy with it",
            ways=one_way("a MinSize of 1", replace(pools[0], min_instances=1)),
        )
    return Problem(
        about=workload,
        property_name="CapacityProviderStrategy" if workload.launch_type is None else "LaunchType",
        message=f"{workload.name} runs {task} with {way}, and "
        f"{names} {'starts' if len(pools) == 1 else 'start'} from zero hosts for tasks with a strategy only: {what}",
        fix=_OTHER_HOSTS,
        ways=_strategies(workload, pools),
    )


def _strategies(workload: Workload, pools: Iterable[Pool]) -> Ways:
    """A strategy with one of the pools, of the workload or of its cluster.

    A task without GPUs is sent to no hosts that have some.
    """
    wants_accelerator = workload.task is None or demand_of(workload.task).wants_accelerator
    with_one = {
        each.provider_name: replace(
            workload,
            strategy=(StrategyItem(provider=each.provider_name, pool=each, weight=1),),
            launch_type=None,
        )
        for each in pools
        if wants_accelerator or not any(one.accelerators for one in each.instance_types)
    }
    rest = "" if workload.launch_type is None else ", and no LaunchType"
    own = tuple(
        Way(text=f"a CapacityProviderStrategy with {name}{rest}", things=(new,)) for name, new in with_one.items()
    )
    if rest:
        return (own,)
    of_cluster = tuple(
        Way(text=f"{name} in DefaultCapacityProviderStrategy of the cluster", things=(new,))
        for name, new in with_one.items()
    )
    return own, of_cluster


def _waits(pool: Pool) -> bool:
    """Whether managed scaling could launch more hosts than there are."""
    scaled = pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.is_scaled_by_ecs
    return scaled and (isinstance(pool.min_instances, Unknown) or pool.min_instances != pool.max_instances)
