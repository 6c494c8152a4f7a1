"""How hosts come and go: managed scaling, its protection, and the limits of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_constructs.fleet import Pool, PoolKind, Unknown
from gpu_constructs.hardware.aws_limits import MAX_CLUSTER_PROVIDERS
from gpu_constructs.placement.destinations import pools_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule


@rule(
    "GPU007",
    Severity.INFO,
    about=Pool,
    question="can the hosts leave when the stack does?",
    because="managed termination protection outlives its capacity provider, so a stack that is deleted while hosts run "
    "waits until somebody terminates them",
    source="https://github.com/aws/containers-roadmap/issues/2862",
)
def unprotected(pool: Pool) -> Iterator[Problem]:
    if pool.managed_termination_protection is True:
        yield Problem(
            about=pool,
            message="managed termination protection stays on the hosts when their capacity provider is gone: a "
            "stack that is deleted while hosts run waits until somebody terminates them (containers-roadmap issue "
            "2862)",
            fix="managed draining lets tasks end without it",
        )


@rule(
    "GPU013",
    Severity.WARNING,
    about=Context,
    question="has the cluster no more capacity providers than the quota allows?",
    because=f"the service quota is {MAX_CLUSTER_PROVIDERS} capacity providers for a cluster",
    source="https://docs.aws.amazon.com/general/latest/gr/ecs-service.html",
)
def few_providers(context: Context) -> Iterator[Problem]:
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
                fix="give the rest a cluster of their own",
            )


@rule(
    "GPU110",
    Severity.WARNING,
    about=Context,
    question="does somebody start hosts for the tasks?",
    because="without managed scaling a task that finds no room starts no host; it fails at once",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-auto-scaling.html",
)
def started(context: Context) -> Iterator[Problem]:
    for pool in context.fleet.pools:
        idle = pool.has_provider and pool.managed_scaling is False and pool.min_instances == 0
        if not idle or pool.kind is not PoolKind.AUTO_SCALING_GROUP:
            continue
        waiting = [
            each.name
            for each in context.fleet.workloads
            if pool in pools_of(context.fleet, each) and each.desired_count != 0
        ]
        if waiting:
            yield Problem(
                about=pool,
                message=f"managed scaling is off and MinSize is 0, so nothing starts hosts for {and_list(waiting)} "
                "unless you scale the group yourself",
                fix="managed scaling, or a MinSize above 0",
            )


@rule(
    "GPU111",
    Severity.ERROR,
    about=Pool,
    question="is MinSize no larger than MaxSize, or MinvCpus than MaxvCpus?",
    because="EC2 Auto Scaling and AWS Batch refuse a smallest size above the largest",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html",
)
def sizes_in_order(pool: Pool) -> Iterator[Problem]:
    low, high = pool.min_instances, pool.max_instances
    if isinstance(low, Unknown) or isinstance(high, Unknown) or low <= high or high < 0:
        return
    if pool.kind is PoolKind.BATCH:  # which says it in vCPUs
        message, fix = "MinvCpus is larger than MaxvCpus", "a MaxvCpus of no less than MinvCpus"
    else:
        message = f"{low} hosts at least and {high} at most contradict each other"
        fix = f"a MaxSize of {low}, or a smaller MinSize"
    yield Problem(about=pool, message=message, fix=fix)
