"""Scaling: does anything start hosts, can they leave again, and do the settings of the group agree?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpu_constructs.fleet import Fleet, Pool, PoolKind, Unknown, known
from gpu_constructs.hardware.aws_limits import MANAGED_SCALING, MAX_CLUSTER_PROVIDERS
from gpu_constructs.placement.reach import pools_of, unjudged
from gpu_constructs.rules.change import Way, one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.fixes import larger
from gpu_constructs.rules.evidence.lists import and_list, with_verb
from gpu_constructs.rules.rule import Problem, Problems, error, info, warning
from gpu_constructs.rules.words import Text, Word


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


@warning(
    "GPU269",
    question="do all instance types of a group count the same?",
    because="ECS counts hosts, and does not support groups that give instance types weights",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/asg-capacity-providers.html",
)
def without_weights(pool: Pool) -> Problems:
    if pool.has_provider and pool.group.has_weights:
        yield Problem(
            property_name="WeightedCapacity",
            message=f"the group of {pool.name} gives instance types weights, which ECS does not support for a capacity "
            "provider",
            fix="overrides without WeightedCapacity",
        )


@warning(
    "GPU270",
    question="does ECS alone decide how many hosts there are?",
    because="a deployment sets the group back to DesiredCapacity, which starts hosts that nothing asked for or ends "
    "hosts with tasks",
    source="https://github.com/aws/aws-cdk/issues/5215",
    unless=("GPU129",),
)
def size_is_left_to_ecs(pool: Pool) -> Problems:
    desired = pool.group.desired_instances
    if pool.is_scaled_by_ecs and isinstance(desired, int) and desired != pool.min_instances:
        yield Problem(
            property_name="DesiredCapacity",
            value=desired,
            message=f"managed scaling moves the size of {pool.name}, and each deployment that changes the group sets "
            f"it to {desired} again",
            fix="leave DesiredCapacity out; MinSize keeps hosts that should always run",
        )


@error(
    "GPU297",
    question="are the numbers of managed scaling within the limits of ECS?",
    because="ECS takes a target capacity of 1 to 100 percent, steps of 1 to 10000 hosts and a warm-up of 0 to 10000 "
    "seconds, and refuses the capacity provider otherwise",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ManagedScaling.html",
)
def numbers_within_limits(pool: Pool) -> Problems:
    for key, number in pool.scaling_numbers:
        low, high = MANAGED_SCALING[key]
        allowed = low if number < low and key != "TargetCapacity" else high
        if not low <= number <= high:
            numbers = tuple((each, allowed if each == key else old) for each, old in pool.scaling_numbers)
            yield Problem(
                property_name=f"ManagedScaling.{key}",
                value=number,
                message=f"{key} of {pool.name} is {number}, and ECS takes {low} to {high}",
                allowed=f"{low} to {high}",
                one_value=True,
                fix=f"a {key} that ECS takes",
                ways=one_way(
                    f"a {key} of {allowed}"
                    if key != "TargetCapacity"
                    else "a TargetCapacity of 1 to 100; 100 keeps no spare hosts",
                    replace(pool, scaling_numbers=numbers),
                ),
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
        if workload.desired_count != 0 and id(workload) not in beyond:
            for pool in pools_of(fleet, workload):
                found.setdefault(pool.name, []).append(workload.name)
    return found


@error(
    "GPU111",
    question="is MinSize at most MaxSize, and MinvCpus at most MaxvCpus?",
    because="EC2 Auto Scaling and AWS Batch refuse a minimum above the maximum",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html",
)
def sizes_in_order(pool: Pool) -> Problems:
    low, high = pool.min_instances, pool.max_instances
    if isinstance(low, Unknown) or isinstance(high, Unknown) or low <= high or high < 0:
        return
    if pool.kind is PoolKind.BATCH:  # which says it in vCPUs
        yield Problem(message="MinvCpus is larger than MaxvCpus", fix="raise MaxvCpus, or lower MinvCpus")
        return
    yield Problem(
        property_name="MinSize",
        value=low,
        message=Text(Word("MinSize"), f" is {low} and ", Word("MaxSize"), f" is {high}"),
        one_value=True,
        allowed=f"0 to {high}",
        fix=Text("raise ", Word("MaxSize"), ", or lower ", Word("MinSize")),
        ways=(
            larger(pool, low),
            (Way(text=Text("a ", Word("MinSize"), f" of {high}"), things=(replace(pool, min_instances=high),)),),
        ),
    )


@warning(
    "GPU123",
    question="can ECS manage termination protection as it is asked to?",
    because="managed termination protection does not work without managed scaling; ECS has refused capacity providers "
    "with the first alone, and protects new hosts from scale-in itself",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AutoScalingGroupProvider.html",
)
def protection_works(pool: Pool) -> Problems:
    # The API page also asks for a group that protects new hosts. A maintainer wrote in 2024 that ECS turns this on by
    # itself (https://github.com/aws/containers-roadmap/issues/860).
    is_protected = pool.managed_termination_protection is True and pool.kind is PoolKind.AUTO_SCALING_GROUP
    if is_protected and pool.managed_scaling is False:
        yield Problem(
            property_name="ManagedTerminationProtection",
            message="managed termination protection is on and managed scaling is off, and the first needs the second",
            fix="ManagedScaling with Status ENABLED, or turn managed termination protection off",
        )


@error(
    "GPU129",
    question="is DesiredCapacity within MinSize and MaxSize?",
    because="EC2 Auto Scaling refuses a desired capacity outside MinSize and MaxSize",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html",
    changes="MaxSize",
    unless=("GPU111",),
)
def desired_within_sizes(pool: Pool) -> Problems:
    desired = pool.group.desired_instances
    if desired is None or isinstance(desired, Unknown):
        return
    low, high = pool.min_instances, pool.max_instances
    if not isinstance(high, Unknown) and desired > high:
        yield Problem(
            message=f"DesiredCapacity is {desired} and MaxSize is {high}",
            fix="remove DesiredCapacity",
            ways=(larger(pool, desired), _without_desired(pool)),
        )
    elif not isinstance(low, Unknown) and desired < low:
        yield Problem(
            message=f"DesiredCapacity is {desired} and MinSize is {low}",
            fix="remove DesiredCapacity",
            ways=(
                (Way(text=f"a MinSize of {desired}", things=(replace(pool, min_instances=desired),)),),
                _without_desired(pool),
            ),
        )


def _without_desired(pool: Pool) -> tuple[Way, ...]:
    text = "remove DesiredCapacity, which managed scaling sets anyway"
    return (Way(text=text, things=(replace(pool, group=replace(pool.group, desired_instances=None)),)),)
