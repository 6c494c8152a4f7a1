"""Scaling: does anything start hosts, can they leave again, and do the settings of the group agree?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpu_constructs.facts.aws_limits import MAX_CLUSTER_PROVIDERS
from gpu_constructs.fleet import Fleet, Pool, PoolKind, Unknown, known
from gpu_constructs.placement.reach import pools_of, unjudged
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import one_way
from gpu_constructs.rules.rule import Problem, Problems, error, info, warning
from gpu_constructs.rules.words import and_list, with_verb


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
    counts = Counter(
        pool.cluster for pool in context.fleet.pools if pool.has_provider and isinstance(pool.cluster, str)
    )
    for cluster, count in counts.items():
        if count > MAX_CLUSTER_PROVIDERS:
            last = [pool for pool in context.fleet.pools if pool.cluster == cluster and pool.has_provider][
                MAX_CLUSTER_PROVIDERS
            ]
            yield Problem(
                about=last,
                message=f"the cluster has {count} capacity providers, and the service quota is {MAX_CLUSTER_PROVIDERS}",
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
    because="without managed scaling, a task that finds no room fails at once and starts no host",
    softer="where other files, or something in these, may start one, and where some hosts are there but too few",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-auto-scaling.html",
    changes="ManagedScaling.Status",
)
def started(context: Context) -> Problems:
    idle = [
        pool
        for pool in context.fleet.pools
        if pool.has_provider
        and pool.managed_scaling is False
        and pool.min_instances == 0
        and pool.group.desired_instances in {None, 0}
    ]
    workloads_of = _workloads_by_pool(context.fleet) if idle else {}
    for pool in idle:
        waiting = workloads_of.get(pool.name) if pool.kind is PoolKind.AUTO_SCALING_GROUP else None
        if waiting:
            yield Problem(
                about=pool,
                message=f"managed scaling is off and MinSize is 0, so nothing starts hosts for {and_list(waiting)} "
                "unless you scale the group yourself",
                fix="turn managed scaling on, or raise MinSize above 0",
                is_certain=context.fleet.is_whole and begins_empty(pool),
            )
    yield from _more_than_there_are(context)


def _more_than_there_are(context: Context) -> Problems:
    """Groups that have hosts, but fewer than their tasks need, where nothing in these files starts the others."""
    fixed = {each.name: there for each in context.fleet.pools if (there := _hosts_for_good(each)) > 0}
    if not fixed:
        return
    proof = context.proof
    spread = {  # tasks without a strategy, which may find their hosts in another group
        each.workload.name
        for each in proof.workloads
        if not each.workload.strategy and sum(place.fits is not False for place in each.places) > 1
    }
    for each in proof.pools:
        there = fixed.get(each.pool.name, 0)
        needed, most = known(each.hosts_needed, otherwise=0), known(each.hosts_at_most, otherwise=0)
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


def _workloads_by_pool(fleet: Fleet) -> dict[str, list[str]]:
    """Workloads with copies that may be placed on a pool, by its name."""
    found: dict[str, list[str]] = {}
    beyond = unjudged(fleet)
    for workload in fleet.workloads:
        if workload.has_copies and id(workload) not in beyond:
            for pool in pools_of(fleet, workload):
                found.setdefault(pool.name, []).append(workload.name)
    return found
