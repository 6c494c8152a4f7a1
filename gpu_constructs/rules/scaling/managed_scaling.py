"""Managed scaling: does anything start hosts, also for tasks without a strategy, and can hosts leave again?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpu_constructs.facts.aws_limits import MAX_CLUSTER_PROVIDERS
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, StrategyItem, Unknown, Workload, known
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import started_by_strategies
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES, pools_of, unjudged
from gpu_constructs.placement.route import Assignment, Destination
from gpu_constructs.rules.finding import Way, Ways, and_list, one_way, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, info, warning


@info(
    "GPU007",
    question="can the hosts leave when the stack does?",
    because="managed termination protection outlives its capacity provider, so deleting a stack while hosts run waits "
    "until they are terminated by hand",
    source="https://github.com/aws/containers-roadmap/issues/2862",
    unless=("GPU123", "GPU165"),
)
def unprotected(pool: Pool) -> Problems:
    if pool.managed_termination_protection is True:
        yield Problem(
            property_name="ManagedTerminationProtection",
            message="managed termination protection stays on the hosts after their capacity provider is deleted: "
            "deleting the stack while hosts run waits until they are terminated by hand "
            "(containers-roadmap issue 2862)",
            fix="turn it off; managed draining lets tasks end without it",
        )


@warning(
    "GPU123",
    question="does managed termination protection have the managed scaling that it needs?",
    because="managed scaling lifts the protection of hosts without tasks; without it the protection does not work, as "
    "the page says, and hosts that the group protects stay when something scales the group in, and cost",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AutoScalingGroupProvider.html",
)
def protection_works(pool: Pool) -> Problems:
    if pool.managed_termination_protection is True and pool.managed_scaling is False:
        yield Problem(
            property_name="ManagedTerminationProtection",
            message="managed termination protection is on and managed scaling is off, and the first needs the second",
            fix="ManagedScaling with Status ENABLED, or turn managed termination protection off",
        )


@warning(
    "GPU013",
    question="is the number of capacity providers of a cluster within the quota?",
    because=f"the service quota is {MAX_CLUSTER_PROVIDERS} capacity providers for a cluster",
    source="https://docs.aws.amazon.com/general/latest/gr/ecs-service.html",
)
def few_providers(context: Context) -> Problems:
    pools_of_clusters = grouped(
        (each.cluster, each) for each in context.fleet.pools if each.has_provider and isinstance(each.cluster, str)
    )
    for pools in pools_of_clusters.values():
        if len(pools) > MAX_CLUSTER_PROVIDERS:
            yield Problem(
                about=pools[MAX_CLUSTER_PROVIDERS],
                message=f"the cluster has {len(pools)} capacity providers, and the service quota is "
                f"{MAX_CLUSTER_PROVIDERS}",
                fix="move the others to a second cluster",
            )


@error(
    "GPU269",
    question="do all instance types of a group count the same?",
    because="ECS counts hosts, and does not support groups that give instance types weights",
    softer="where every weight is 1, with which hosts count as without any",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/asg-capacity-providers.html",
)
def without_weights(context: Context) -> Problems:
    for pool in context.fleet.pools:
        weights = context.files.weights(pool) if pool.has_provider and context.files is not None else frozenset()
        if weights:
            yield Problem(
                about=pool,
                property_name="WeightedCapacity",
                message=f"the group of {pool.name} gives instance types weights, which ECS does not support for a "
                "capacity provider",
                fix="overrides without WeightedCapacity",
                is_certain=weights != {1},
            )


@error(
    "GPU110",
    question="does something start hosts for the tasks?",
    because="without managed scaling, a task that finds no room fails at once and starts no host, and a group whose "
    "process Launch is suspended starts none for any",
    softer="where other files, or something in these, may start one, and where some hosts are there but too few",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-auto-scaling.html",
    changes="ManagedScaling.Status",
)
def started(context: Context) -> Problems:
    suspended = {each.name for each in context.fleet.pools if _is_suspended(context, each)}
    idle = [
        pool
        for pool in context.fleet.pools
        if pool.has_provider
        and (pool.managed_scaling is False or pool.name in suspended)
        and pool.min_instances == 0
        and pool.group.desired_instances in {None, 0}
    ]
    beyond = unjudged(context.fleet) if idle else frozenset()
    placed = [each for each in context.fleet.workloads if idle and each.has_copies and id(each) not in beyond]
    workloads_of = grouped((pool.name, each.name) for each in placed for pool in pools_of(context.fleet, each))
    for pool in idle:
        waiting = workloads_of.get(pool.name, []) if pool.kind is PoolKind.AUTO_SCALING_GROUP else []
        off, fix = "managed scaling is off", "turn managed scaling on, or raise MinSize above 0"
        unless = " unless you scale the group yourself"
        if pool.name in suspended:
            waiting = [each for each in waiting if sum(each in some for some in workloads_of.values()) == 1]
            off, fix, unless = "the process Launch of the group is suspended", "leave Launch out of these processes", ""
        if waiting:
            yield Problem(
                about=pool,
                message=f"{off} and MinSize is 0, so nothing starts hosts for {and_list(waiting)}{unless}",
                fix=fix,
                changes="SuspendedProcesses" if pool.name in suspended else "",
                is_certain=context.fleet.is_whole and begins_empty(pool),
            )
    yield from _more_than_there_are(context)


def _is_suspended(context: Context, pool: Pool) -> bool:
    """Whether Terraform suspends the process Launch of its group, which starts no host then, whatever scales it."""
    group = context.group(pool)
    told = None if group is None else group.properties.get("SuspendedProcesses")
    return isinstance(told, (list, tuple)) and "Launch" in told


def _more_than_there_are(context: Context) -> Problems:
    """Groups that have hosts, but fewer than their tasks need, where nothing in these files starts the others."""
    fixed = {each.name: there for each in context.fleet.pools if (there := _hosts_for_good(each)) > 0}
    if not fixed:
        return
    proof = context.proof
    spread = {  # tasks without a strategy, which may find their hosts in another group
        each.workload.name
        for each in proof.workloads
        if not each.workload.strategy and sum(there.fits is not False for there in each.tenants) > 1
    }
    for each in proof.pools:
        there = fixed.get(each.pool.name, 0)
        needed, most = known(each.hosts_needed, otherwise=0), known(each.pool.hosts_at_most, otherwise=0)
        if 0 < there < needed <= most and spread.isdisjoint(each.workloads):
            yield Problem(
                about=each.pool,
                message=f"{with_verb(each.workloads, 'needs', 'need')} {needed} hosts of {each.pool.name}, which "
                f"begins with {there}, and nothing in these files starts the others",
                fix="a capacity provider with managed scaling, and a CapacityProviderStrategy with it",
                ways=one_way(f"a MinSize of {needed}", replace(each.pool, min_instances=needed)),
                changes="MinSize",
                is_certain=False,
            )


def _hosts_for_good(pool: Pool) -> int:
    """Hosts of a group that nothing in these files scales; 0 where something may."""
    group, least = pool.group, pool.min_instances
    is_scaled = (
        group.name is None
        or group.may_be_started_by_others
        or (pool.has_provider and pool.managed_scaling is not False)
    )
    if is_scaled or pool.kind is not PoolKind.AUTO_SCALING_GROUP or isinstance(least, Unknown):
        return 0
    desired = group.desired_instances
    return 0 if isinstance(desired, Unknown) else max(least, desired or 0)


def begins_empty(pool: Pool) -> bool:
    """Whether a group has no host until something outside of these files gives it one, or ECS does."""
    group = pool.group
    is_known = (
        pool.kind is PoolKind.AUTO_SCALING_GROUP and group.name is not None and not group.may_be_started_by_others
    )
    return is_known and pool.min_instances == 0 and group.desired_instances in {None, 0}


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
        fitting = (each.pool for each in assignment.destinations if each.fit.answer is not False)
        scaled = (each for each in fitting if each.kind is PoolKind.AUTO_SCALING_GROUP and each.is_scaled_by_ecs)
        # Managed scaling could launch more hosts than there are.
        idle = [each for each in scaled if each.min_instances is UNKNOWN or each.min_instances != each.max_instances]
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
    # Of these it is known that they have no default strategy but the one that was read.
    clusters = {each.cluster for each in context.fleet.provider_lists if each.cluster_is_defined}
    for assignment in suspects:
        workload, pools = assignment.workload, [each.pool for each in _landing(assignment)]
        has_default = workload.launch_type is None and workload.cluster not in clusters
        if has_default and any(each.has_provider for each in pools):
            continue
        if started.isdisjoint(each.name for each in pools):
            yield replace(_without_host(workload, pools), is_certain=not has_default)
    yield from _on_managed_instances(context)


def _on_managed_instances(context: Context) -> Problems:
    """Services with a launch type on a cluster that has only Managed Instances."""
    managed_of = grouped(
        (each.cluster, each) for each in context.fleet.pools if each.kind is PoolKind.MANAGED_INSTANCES
    )
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
    workload, landing = assignment.workload, [each.pool for each in _landing(assignment)]
    runs = workload.daemon is False and workload.has_copies and workload.launch_type in EC2_LAUNCH_TYPES
    return (
        runs
        and not workload.strategy
        and assignment.is_closed
        and any(each.fit.answer is not False for each in assignment.destinations)
        and all(begins_empty(each) and (each.is_scaled_by_ecs or not each.has_provider) for each in landing)
    )


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
    gets_accelerator = workload.task is None or demand_of(workload.task).gets_accelerator
    with_one = {
        each.provider_name: replace(
            workload,
            strategy=(StrategyItem(provider=each.provider_name, pool=each, weight=1),),
            launch_type=None,
        )
        for each in pools
        if gets_accelerator or not any(one.accelerators for one in each.instance_types)
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
