"""Pools: Auto Scaling groups, ECS Managed Instances, single instances, and hosts that the files only mention.

Hosts that the files mention and do not describe may be in a cluster too, and take what its pools do not.
With a capacity provider of ECS Managed Instances, ECS chooses types and image by what a host must be.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-capacity-providers-concept.html
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.fleet import (
    UNKNOWN,
    Bought,
    HostSetup,
    Pool,
    PoolKind,
    PurchaseOption,
    Reservation,
    TypeChoice,
    Unknown,
    Workload,
    values_of,
)
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.clusters import CAPACITY_PROVIDER, DEFAULT_CLUSTER, Clusters, ProviderKey
from gpu_constructs.template.resources.groups import AUTO_SCALING_GROUP, Groups, names_cluster, pool_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.launch import UNKNOWN_LAUNCH, Launches
from gpu_constructs.template.resources.networks import Networks, subnets_of
from gpu_constructs.template.resources.purchases import instance_types_of
from gpu_constructs.template.resources.section import Notes, Section
from gpu_constructs.template.resources.submissions import ENVIRONMENT, QUEUE, environments_of, is_managed

_PREFERENCES = ("RESERVATIONS_ONLY", "RESERVATIONS_FIRST", "RESERVATIONS_EXCLUDED")
_OPTIONS = {"ON_DEMAND": PurchaseOption.ON_DEMAND, "RESERVED": PurchaseOption.RESERVED, "SPOT": PurchaseOption.SPOT}


def managed_pool(properties: Section, resource: Resource, clusters: Clusters, networks: Networks) -> Pool:
    """Reads a provider of Managed Instances."""
    provider = properties.section("ManagedInstancesProvider")
    launch = provider.section("InstanceLaunchTemplate")
    named = clusters.named(properties.get("ClusterName"), resource.origin.place)
    return Pool(
        name=resource.logical_id,
        min_instances=0,
        max_instances=UNKNOWN,
        kind=PoolKind.MANAGED_INSTANCES,
        bought=Bought(option=managed_purchase(launch), reservation=_reservation(launch)),
        managed_scaling=True,
        cluster=clusters.of_provider(resource.reference) if named is None else named,
        provider=properties.text("Name"),
        associated=clusters.lists(resource.reference) or UNKNOWN,
        origin=resource.origin,
        **values_of(managed_types(launch)),
        **networks.of_hosts(launch.section("NetworkConfiguration").get("Subnets")),
    )


def managed_types(launch: Section, *, of_batch: bool = False) -> TypeChoice:
    """The types that Managed Instances may be of; without requirements, AWS chooses by the task."""
    if launch.get("InstanceRequirements") is None:
        return TypeChoice(has_unknown_types=True)
    return instance_types_of(launch.section("InstanceRequirements"), None, managed=True, of_batch=of_batch)


def managed_purchase(launch: Section) -> PurchaseOption | Unknown:
    """How Managed Instances are bought."""
    return launch.looked_up("CapacityOptionType", _OPTIONS) or PurchaseOption.ON_DEMAND


def _reservation(launch: Section) -> Reservation | None:
    if launch.get("CapacityReservations") is None:
        return None
    written = launch.section("CapacityReservations")
    preference = written.one_of("ReservationPreference", _PREFERENCES)
    return Reservation(preference=preference, group=written.text("ReservationGroupArn"))


# https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-public-parameters-ami.html
_WITHOUT_AGENT = ("/aws/service/ami-", "/aws/service/canonical/", "/aws/service/debian/")
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AutoScalingGroupProvider.html
_STATUS = {"DISABLED": False, "ENABLED": True}


class FoundPool(NamedTuple):
    """A pool, called by its logical id as yet, the resource that it is called after, its group and its provider.

    Nothing ties a stray one to ECS, but its image or a script that is not understood may.
    """

    pool: Pool
    resource: Resource
    group: Resource | None = None
    provider: ProviderKey | None = None
    is_stray: bool = False


def ecs_pools(index: Index, clusters: Clusters, launches: Launches, notes: Notes) -> Iterator[FoundPool]:
    """Reads every pool of hosts but those of AWS Batch, stray ones among them.

    An Auto Scaling group is a pool if a capacity provider, its user data or an image of ECS ties it to ECS.
    """
    networks = Networks(index)
    groups = Groups(index, launches, networks, notes)
    provided: set[Reference] = set()
    for resource in index.all(CAPACITY_PROVIDER):
        properties, group = Section.of(resource, notes), None
        if properties.get("ManagedInstancesProvider") is not None:
            pool = managed_pool(properties, resource, clusters, networks)
        else:
            arn = properties.section("AutoScalingGroupProvider").get("AutoScalingGroupArn")
            group = index.looked_up(arn, AUTO_SCALING_GROUP, resource.origin.place)
            if group is None:  # another file defines it
                hosts = pool_of(resource, UNKNOWN_LAUNCH, min_instances=UNKNOWN, max_instances=UNKNOWN)
            else:
                provided.add(group.reference)
                hosts = groups.of(group)
            pool = _provided_pool(properties, resource, hosts, clusters)
        yield FoundPool(pool, resource, group=group, provider=resource.reference)
    for resource in index.all(AUTO_SCALING_GROUP):
        if resource.reference not in provided:
            pool = groups.of(resource)
            is_tied = names_cluster(pool) or not isinstance(pool.image, Unknown)
            if is_tied or _may_join(pool):
                told = UNKNOWN if clusters.has_open_names and not names_cluster(pool) else None
                yield FoundPool(replace(pool, told_cluster=told), resource, group=resource, is_stray=not is_tied)
    for resource in index.all("AWS::EC2::Instance"):
        launch = launches.instance(resource)
        is_tied = names_cluster(launch.setup)
        if is_tied or _may_join(launch.setup):
            subnet = resource.properties.get("SubnetId")
            subnets = () if subnet is None else subnets_of([subnet], index)
            one = {"min_instances": 1, "max_instances": 1, "zones": 1}
            pool = pool_of(resource, launch, kind=PoolKind.INSTANCE, subnets=subnets, **one)
            yield FoundPool(pool, resource, is_stray=not is_tied)


def _provided_pool(properties: Section, resource: Resource, hosts: Pool, clusters: Clusters) -> Pool:
    provider = properties.section("AutoScalingGroupProvider")
    # Without ManagedScaling there is none: so say the acceptance tests of the Terraform provider for AWS
    # (TestAccECSCapacityProvider_basic), and no page says otherwise.
    scaling = provider.section("ManagedScaling")
    status = scaling.text("Status") if provider.get("ManagedScaling") is not None else "DISABLED"
    listed = clusters.of_provider(resource.reference)
    cluster = listed if clusters.lists(resource.reference) and not isinstance(listed, Unknown) else hosts.cluster
    return replace(
        hosts,
        name=resource.logical_id,
        origin=resource.origin,
        managed_scaling=UNKNOWN if status is None or isinstance(status, Unknown) else _STATUS.get(status, UNKNOWN),
        managed_termination_protection=provider.looked_up("ManagedTerminationProtection", _STATUS) or False,
        cluster=cluster,
        associated=clusters.associates(resource.reference, cluster),
        told_cluster=_told_cluster(hosts, cluster, clusters),
        provider=properties.text("Name"),
        has_provider=True,
    )


def _may_join(setup: HostSetup) -> bool:
    """Whether an image that the files do not show may know a cluster: all but those of an operating system alone."""
    return setup.image_written is None or not setup.image_written.startswith(_WITHOUT_AGENT)


def _told_cluster(hosts: Pool, cluster: str | Unknown | None, clusters: Clusters) -> str | Unknown | None:
    told = hosts.cluster
    if isinstance(cluster, Unknown) or (names_cluster(hosts) and told == cluster):
        return None
    if not names_cluster(hosts):
        return UNKNOWN if clusters.has_open_name(cluster) else None
    # Whatever name a template leaves open may be the one that is written here.
    return UNKNOWN if clusters.has_open_name(cluster) or clusters.has_open_name(told) else told or DEFAULT_CLUSTER


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
    strays += [_hosts(each.logical_id, UNKNOWN) for each in index.all("AWS::EC2::SpotFleet", "AWS::EC2::EC2Fleet")]
    strays += _of_environments(index)
    # Clusters that something belongs to and these files do not define; the default cluster is never among them.
    named = dict.fromkeys((*(each.cluster for each in pools), *(each.cluster for each in workloads)))
    strays += (
        _hosts(f"hosts of {f'cluster {each}' if isinstance(each, str) else 'another cluster'}", _named(each))
        for each in named
        if each is not None and not clusters.defines(each)
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
        _hosts(f"capacity provider {key}" if isinstance(key, str) else "a capacity provider", _named(cluster))
        for cluster, key in dict.fromkeys(listed)
        if key not in FARGATE_PROVIDERS
    )
    return tuple({(each.name, each.cluster, each.kind): each for each in strays}.values())


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
