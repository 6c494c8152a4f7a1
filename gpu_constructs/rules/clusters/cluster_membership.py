"""Who belongs to which cluster: services, capacity providers, and hosts."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool, PoolKind, Unknown, Workload
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_STRATEGY = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html"


@rule(
    "GPU121",
    Severity.ERROR,
    about=Context,
    question="does the cluster have the capacity providers of each strategy?",
    because="only capacity providers that are associated with the cluster can be used in a strategy; ECS refuses a "
    "service whose strategy has another",
    source=_STRATEGY,
)
def associated(context: Context) -> Iterator[Problem]:
    for workload, pool in _named_in_strategies(context):
        if pool.associated is False and pool.cluster == workload.cluster:
            yield Problem(
                about=workload,
                message=f"the strategy of {workload.name} names {pool.name}, which the cluster "
                f"{_named(workload.cluster)} does not have among its capacity providers",
                fix=f"{pool.name} in CapacityProviders of AWS::ECS::ClusterCapacityProviderAssociations",
            )


@rule(
    "GPU143",
    Severity.WARNING,
    about=Context,
    question="are the capacity providers of each strategy those of the service's own cluster?",
    because="a capacity provider belongs to one cluster, and ECS refuses a service of another one whose strategy has "
    "it; whether two names mean one cluster may only be known at deploy time",
    source=_STRATEGY,
)
def of_its_cluster(context: Context) -> Iterator[Problem]:
    for workload, pool in _named_in_strategies(context):
        if pool.cluster != workload.cluster and (pool.associated is True or pool.kind is PoolKind.MANAGED_INSTANCES):
            here, there = _named(workload.cluster), _named(pool.cluster)
            yield Problem(
                about=workload,
                message=f"the strategy of {workload.name} names {pool.name}, which is a capacity provider of the "
                f"cluster {there}, and the service runs in {here}",
                fix=f"the service in {there}, or a capacity provider of {here}",
            )


@rule(
    "GPU122",
    Severity.ERROR,
    about=Pool,
    question="are the hosts told to join the cluster of their capacity provider?",
    because="a host registers with the cluster that ECS_CLUSTER names, and a capacity provider only has hosts of its "
    "own cluster, so its tasks wait for ever",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html",
)
def told_its_cluster(pool: Pool) -> Iterator[Problem]:
    told = pool.told_cluster
    if pool.has_provider and isinstance(told, str) and not isinstance(pool.cluster, Unknown):
        here = _named(pool.cluster)
        if told != here and pool.user_data.complete:
            yield Problem(
                about=pool,
                message=f"the user data has its hosts join the cluster {told}, and their capacity provider belongs "
                f"to {here}",
                fix=f"a reference to {here} in ECS_CLUSTER",
            )


@rule(
    "GPU124",
    Severity.ERROR,
    about=Context,
    question="has each Auto Scaling group one capacity provider?",
    because="ECS refuses a capacity provider for an Auto Scaling group that another one already uses",
    source="https://github.com/aws/containers-roadmap/issues/632",
)
def one_provider(context: Context) -> Iterator[Problem]:
    first: dict[str, Pool] = {}
    for pool in context.fleet.pools:
        # Of two that no cluster lists, a condition may make one or the other.
        group = pool.group.name
        if group is None or pool.associated is not True:
            continue
        other = first.setdefault(group, pool)
        if other is not pool:
            yield Problem(
                about=pool,
                message=f"{pool.name} and {other.name} are capacity providers of one Auto Scaling group, {group}, "
                "which can have one",
                fix="a group for each, or one capacity provider that both strategies name",
            )


def _named_in_strategies(context: Context) -> Iterator[tuple[Workload, Pool]]:
    """Workloads with each pool of their strategy once, where it is known to which cluster both belong."""
    for workload in context.fleet.workloads:
        pools = {item.pool.name: item.pool for item in workload.strategy if item.pool is not None}
        for pool in pools.values():
            if not isinstance(workload.cluster, Unknown) and not isinstance(pool.cluster, Unknown):
                yield workload, pool


def _named(cluster: str | Unknown | None) -> str:
    return "default" if cluster is None else str(cluster)
