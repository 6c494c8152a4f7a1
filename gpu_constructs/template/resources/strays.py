"""Hosts that the files mention and do not describe.

They may be in a cluster too, and take what its pools do not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, Unknown, Workload
from gpu_constructs.template.resources.clusters import Clusters, ProviderKey
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.pools import FoundPool
from gpu_constructs.template.resources.submissions import ENVIRONMENT, QUEUE, environments_of, is_managed

_FLEETS = ("AWS::EC2::SpotFleet", "AWS::EC2::EC2Fleet")
_OTHER = ""
"""What the cluster of an import or a parameter is called here: it is none of those that the files define."""


def strays_of(
    index: Index,
    clusters: Clusters,
    *,
    found: Iterable[FoundPool],
    pools: Iterable[Pool],
    providers: Container[ProviderKey],
    workloads: Sequence[Workload],
) -> tuple[Pool, ...]:
    """Hosts of other files, and hosts of these that may join any cluster."""
    strays = [replace(each.pool, name=each.resource.logical_id, cluster=UNKNOWN) for each in found]
    strays += [_hosts(each.logical_id, UNKNOWN) for each in index.all(*_FLEETS)]
    strays += _of_environments(index)
    strays += (
        _hosts(f"hosts of {f'cluster {each}' if isinstance(each, str) else 'another cluster'}", _named(each))
        for each in _imported(clusters, pools, workloads)
    )
    listed: list[tuple[str | Unknown | None, object]] = [
        each for each in clusters.providers() if each[1] not in providers
    ]
    # Services without a strategy of their own share that of their cluster.
    strategies = {(each.cluster, id(each.strategy)): each.strategy for each in workloads}
    listed += [
        (cluster, item.provider) for (cluster, _), items in strategies.items() for item in items if not item.pool
    ]
    strays += (
        _hosts(_provider(key), _named(cluster))
        for cluster, key in dict.fromkeys(listed)
        if key not in FARGATE_PROVIDERS
    )
    return tuple({(each.name, each.cluster, each.kind): each for each in strays}.values())


def _imported(
    clusters: Clusters, pools: Iterable[Pool], workloads: Iterable[Workload]
) -> Iterable[str | Unknown | None]:
    """Clusters that something belongs to and these files do not define; the default cluster is never among them."""
    named = dict.fromkeys((*(each.cluster for each in pools), *(each.cluster for each in workloads)))
    return (each for each in named if each is not None and not clusters.defines(each))


def _of_environments(index: Index) -> Iterator[Pool]:
    """Compute environments whose hosts other files define, or that something else launches."""
    for queue in index.all(QUEUE):
        for each in environments_of(queue, index):
            if each is None:
                yield _hosts("a compute environment", UNKNOWN, PoolKind.BATCH)
    for environment in index.all(ENVIRONMENT):
        if not is_managed(environment):
            yield _hosts(environment.logical_id, UNKNOWN, PoolKind.BATCH)


def _named(cluster: str | Unknown | None) -> str | None:
    return _OTHER if isinstance(cluster, Unknown) else cluster


def _provider(key: object) -> str:
    return f"capacity provider {key}" if isinstance(key, str) else "a capacity provider"


def _hosts(name: str, cluster: str | Unknown | None, kind: PoolKind = PoolKind.AUTO_SCALING_GROUP) -> Pool:
    return Pool(
        name=name,
        min_instances=UNKNOWN,
        max_instances=UNKNOWN,
        kind=kind,
        cluster=cluster,
        has_provider=False,
        has_unknown_types=True,
    )
