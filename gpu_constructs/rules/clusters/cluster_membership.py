"""Membership of clusters: do services, providers and hosts name the same one, in names that ECS takes?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from gpu_constructs.errors import brief, shown
from gpu_constructs.facts.aws_limits import ECS_NAME, ECS_NAME_FORM, MAX_CLUSTER_PROVIDERS, reserved_prefix
from gpu_constructs.facts.budget import LABEL, NAME
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Pool, PoolKind, ProviderList, Unknown, Workload
from gpu_constructs.rules.finding import and_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning


@error(
    "GPU217",
    question="does the cluster of a service or a run have every capacity provider of its strategy?",
    because="a strategy can use capacity providers that are associated with the cluster; ECS refuses a service or a "
    "run whose strategy names another",
    softer="where only the deploy knows whether two names of clusters mean one",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html",
)
def of_the_cluster(context: Context) -> Problems:
    for workload in context.fleet.workloads:
        missing = () if context.files is None else context.files.missing_providers(workload)
        found = tuple(_not_listed(workload)) or tuple(_missing(context, workload, missing))
        yield from found or _of_another_cluster(workload)


def _not_listed(workload: Workload) -> Problems:
    names = [
        pool.name
        for pool in _pools_with_known_cluster(workload)
        if pool.associated is False and pool.cluster == workload.cluster
    ]
    if names:
        yield Problem(
            about=workload,
            property_name="CapacityProviderStrategy",
            value=names if len(names) > 1 else names[0],
            message=f"the strategy of {workload.name} names {and_list(names)}, which "
            f"{'is' if len(names) == 1 else 'are'} not among the capacity providers of the cluster "
            f"{_named(workload.cluster)}",
            fix=f"add {and_list(names)} to CapacityProviders of AWS::ECS::ClusterCapacityProviderAssociations",
        )


def _missing(context: Context, workload: Workload, missing: Iterable[str]) -> Problems:
    cluster = _named(workload.cluster)
    for fix, names in grouped((_meant(context, workload, name), name) for name in missing).items():
        listed = and_list(map(brief, names))
        yield Problem(
            about=workload,
            property_name="CapacityProviderStrategy",
            value=names if len(names) > 1 else names[0],
            message=f"the strategy of {workload.name} names {listed}, which no list of capacity providers "
            f"associates with the cluster {cluster}",
            fix=fix
            or f"add {listed} to CapacityProviders of AWS::ECS::ClusterCapacityProviderAssociations of {cluster}",
            involves=tuple(item.pool for item in workload.strategy if item.pool is not None),
        )


def _of_another_cluster(workload: Workload) -> Problems:
    for pool in _pools_with_known_cluster(workload):
        if pool.cluster != workload.cluster and (pool.associated is True or pool.kind is PoolKind.MANAGED_INSTANCES):
            here, there = _named(workload.cluster), _named(pool.cluster)
            yield Problem(
                about=workload,
                property_name="CapacityProviderStrategy",
                value=pool.name,
                message=f"the strategy of {workload.name} names {pool.name}, a capacity provider of the cluster "
                f"{there}, and {workload.name} runs in {here}",
                fix=f"run {workload.name} in {there}, or use a capacity provider of {here}",
                is_certain=False,
            )


def _meant(context: Context, workload: Workload, name: str) -> str:
    """What gives a strategy another provider: the name that was meant, or the other cluster; empty without either."""
    cluster = _named(workload.cluster)
    there = context.once(_clusters_of_providers)
    if name in there:
        other = _named(there[name])
        return f"run {workload.name} in the cluster {other}, or use a capacity provider of {cluster}"
    own = context.once(_providers_of_clusters).get(workload.cluster, ())[:MAX_CLUSTER_PROVIDERS]
    meant = get_close_matches(name[:NAME], own, n=1, cutoff=0.7)
    return meant[0] if meant else ""


def _clusters_of_providers(context: Context) -> dict[str, str | Unknown | None]:
    return {
        each.provider_name: each.cluster
        for each in context.fleet.pools
        if each.has_provider and each.associated is True
    }


def _providers_of_clusters(context: Context) -> dict[str | Unknown | None, list[str]]:
    return grouped((cluster, provider) for provider, cluster in context.once(_clusters_of_providers).items())


@error(
    "GPU122",
    question="does the user data name the cluster of the capacity provider?",
    because="a host registers with the cluster that ECS_CLUSTER names, and a capacity provider uses hosts of its "
    "cluster only, so its tasks are never placed",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html",
    changes="UserData",
)
def joins_cluster_of_provider(pool: Pool) -> Problems:
    told = pool.told_cluster
    if pool.has_provider and isinstance(told, str) and not isinstance(pool.cluster, Unknown):
        here = _named(pool.cluster)
        if told != here and pool.user_data.complete:
            yield Problem(
                property_name="ECS_CLUSTER",
                message=f"the user data makes the hosts join the cluster {told}, and their capacity provider belongs "
                f"to {here}",
                fix=f"a reference to {here} in ECS_CLUSTER",
            )


@error(
    "GPU124",
    question="does each Auto Scaling group have one capacity provider?",
    because="ECS refuses a capacity provider for an Auto Scaling group that another one already uses",
    source="https://github.com/aws/containers-roadmap/issues/632",
)
def one_provider(context: Context) -> Problems:
    first: dict[str, Pool] = {}
    for pool in context.fleet.pools:
        # Of two that no cluster lists, a condition may make one or the other.
        group, written = pool.group.name, context.resource(pool)
        is_made = pool.associated is True or (written is not None and written.exists is True and pool.has_provider)
        if group is None or not is_made:
            continue
        other = first.setdefault(group, pool)
        if other is not pool:
            yield Problem(
                about=pool,
                property_name="AutoScalingGroupArn",
                message=f"{pool.name} and {other.name} are capacity providers of the same Auto Scaling group, {group}, "
                "which can have one",
                fix="a group for each, or one capacity provider that every strategy names",
                involves=(other,),
            )


@warning(
    "GPU195",
    question="is a list of capacity providers the only one of its cluster?",
    because="a list replaces the whole list of the cluster, and its default strategy, so the list that is deployed "
    "last wins; ECS disassociates a provider that is left out, Fargate included, and the deployment fails while tasks "
    "use it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PutClusterCapacityProviders.html",
)
def the_only_list(context: Context) -> Problems:
    yield from _second_lists(context)
    for each in context.fleet.provider_lists:
        if each.cluster_is_defined or (each.keeps_providers and each.keeps_strategy):
            continue
        cluster, what, fixes = _of_list(each), [], []
        if not each.keeps_providers:
            what.append("the whole list of capacity providers")
            fixes.append(
                "write every provider that the cluster has into this list (keep_capacity_providers=[…] of a GpuCluster)"
            )
        if not each.keeps_strategy:
            what.append("the default strategy")
            fixes.append("write the default strategy that it has into it (default_strategy=[…] of a GpuCluster)")
        lost = "the one that it has" if each.keeps_providers else "every other provider"
        yield Problem(
            about=cluster,
            message=f"a deployment replaces {' and '.join(what)} of {cluster}, and the files that were read do not "
            f"define it: it loses {lost}",
            fix=f"{', and '.join(fixes)}; or put the list into the stack that defines the cluster",
            property_name="CapacityProviders",
            origin=each.origin,
        )


def _second_lists(context: Context) -> Problems:
    first: dict[tuple[str | None, str], ProviderList] = {}
    for each in context.fleet.provider_lists:
        if not (each.is_certain and isinstance(each.cluster, str)):
            continue
        # Another file may be deployed into another account or region, where the name is that of another cluster.
        file = None if each.cluster_is_defined or each.origin is None else each.origin.file
        before = first.setdefault((file, each.cluster), each)
        if before is not each and not each.keeps(before) and not before.keeps(each):
            yield Problem(
                about=each.cluster,
                message=f"{_of_list(each)} has a second list of capacity providers, and the list that is deployed last "
                "wins",
                fix="write one list with all of them",
                property_name="CapacityProviders",
                origin=each.origin,
            )


def _pools_with_known_cluster(workload: Workload) -> list[Pool]:
    """Each pool of its strategy once, if both its cluster and that of the workload are known."""
    if isinstance(workload.cluster, Unknown):
        return []
    pools = {item.pool.name: item.pool for item in workload.strategy if item.pool is not None}
    return [each for each in pools.values() if not isinstance(each.cluster, Unknown)]


def _named(cluster: str | Unknown | None) -> str:
    return "default" if cluster is None else str(cluster)


def _of_list(written: ProviderList) -> str:
    if isinstance(written.cluster, Unknown):
        return "a cluster"
    return "the default cluster" if written.cluster is None else f"the cluster {written.cluster}"


@error(
    "GPU046",
    question="does ECS accept the name of the capacity provider?",
    because="a name has up to 255 letters, digits, hyphens and underscores, and does not begin with aws, ecs or "
    "fargate; ECS refuses any other",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html",
)
def accepted(pool: Pool) -> Problems:
    name = pool.provider if pool.has_provider else None
    if not isinstance(name, str) or (re.fullmatch(ECS_NAME, name) and not reserved_prefix(name)):
        return
    prefix = reserved_prefix(name)
    better = re.sub(r"[^A-Za-z0-9_-]+", "-", f"gpu-{name}" if prefix else name[:LABEL]).strip("-")
    yield Problem(
        property_name="CapacityProvider.Name",
        value=name,
        message=f"the capacity provider is called {shown(name)}; "
        f"{'its name does not begin with aws, ecs or fargate' if prefix else f'a name has {ECS_NAME_FORM}'}",
        fix=f"such as {better}" if better else "no name, and CloudFormation makes one",
        one_value=True,
    )
