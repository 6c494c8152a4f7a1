"""Pools: Auto Scaling groups with or without a capacity provider, Managed Instances, and single instances.

A capacity provider of ECS Managed Instances: ECS chooses types and image by what a host must be.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-capacity-providers-concept.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gpu_constructs.fleet import (
    UNKNOWN,
    Bought,
    Pool,
    PoolKind,
    PurchaseOption,
    Reservation,
    TypeChoice,
    Unknown,
    values_of,
)
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.clusters import CAPACITY_PROVIDER, DEFAULT_CLUSTER, Clusters, ProviderKey
from gpu_constructs.template.resources.groups import AUTO_SCALING_GROUP, Group, Groups
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.instance_types import instance_types_of
from gpu_constructs.template.resources.launch import Launch, Launches
from gpu_constructs.template.resources.networks import Networks, subnets_of, zones_of
from gpu_constructs.template.resources.section import Notes, Section
from gpu_constructs.template.resources.user_data import CLUSTER

_PREFERENCES = ("RESERVATIONS_ONLY", "RESERVATIONS_FIRST", "RESERVATIONS_EXCLUDED")
_OPTIONS = {"ON_DEMAND": PurchaseOption.ON_DEMAND, "RESERVED": PurchaseOption.RESERVED, "SPOT": PurchaseOption.SPOT}


def managed_pool(properties: Section, resource: Resource, clusters: Clusters, networks: Networks, index: Index) -> Pool:
    """Reads a provider of Managed Instances."""
    provider = properties.section("ManagedInstancesProvider")
    launch = provider.section("InstanceLaunchTemplate")
    subnets = launch.section("NetworkConfiguration").get("Subnets")
    cluster = clusters.named(properties.get("ClusterName"), resource.origin.place)
    if cluster is None:
        cluster = clusters.of_provider(resource.reference)
    return Pool(
        name=resource.logical_id,
        min_instances=0,
        max_instances=UNKNOWN,
        kind=PoolKind.MANAGED_INSTANCES,
        bought=Bought(option=managed_purchase(launch), reservation=_reservation(launch)),
        managed_scaling=True,
        zones=zones_of(subnets, None, index),
        subnets=subnets_of(subnets, None, index),
        has_no_route_out=networks.have_no_route_out(subnets),
        missing_endpoints=networks.missing_endpoints(subnets),
        cluster=cluster,
        provider=properties.text("Name"),
        associated=clusters.lists(resource.reference) or UNKNOWN,
        origin=resource.origin,
        **values_of(managed_types(launch)),
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
    """The capacity reservations that Managed Instances run in; None where none are named."""
    if launch.get("CapacityReservations") is None:
        return None
    written = launch.section("CapacityReservations")
    preference = written.one_of("ReservationPreference", _PREFERENCES)
    return Reservation(preference=preference, group=written.text("ReservationGroupArn"))


_INSTANCE = "AWS::EC2::Instance"
# https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-public-parameters-ami.html
_WITHOUT_AGENT = ("/aws/service/ami-", "/aws/service/canonical/", "/aws/service/debian/")
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AutoScalingGroupProvider.html
_STATUS = {"DISABLED": False, "ENABLED": True}


class FoundPool(NamedTuple):
    """A pool, called by its logical id as yet, the resource that it is called after, and its capacity provider.

    Nothing ties a stray one to ECS, but its image or a script that is not understood may.
    """

    pool: Pool
    resource: Resource
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
        properties = Section.of(resource, notes)
        if properties.get("ManagedInstancesProvider") is not None:
            pool = managed_pool(properties, resource, clusters, networks, index)
        else:
            arn = properties.section("AutoScalingGroupProvider").get("AutoScalingGroupArn")
            group = index.find(arn, AUTO_SCALING_GROUP, resource.origin.place)
            if group is not None:
                provided.add(group.reference)
            pool = _provided_pool(properties, resource, groups.of(group), clusters)
        yield FoundPool(pool, resource, resource.reference)
    for resource in index.all(AUTO_SCALING_GROUP):
        if resource.reference not in provided:
            bare = groups.of(resource)
            is_tied = _names_cluster(bare.launch) or not isinstance(bare.launch.setup.image, Unknown)
            if is_tied or _may_join(bare.launch):
                told = UNKNOWN if clusters.has_open_names and not _names_cluster(bare.launch) else None
                pool = replace(_pool(resource, bare), told_cluster=told)
                yield FoundPool(pool, resource, is_stray=not is_tied)
    for resource in index.all(_INSTANCE):
        launch = launches.instance(resource)
        is_tied = _names_cluster(launch)
        if is_tied or _may_join(launch):
            subnet = resource.properties.get("SubnetId")
            subnets = () if subnet is None else subnets_of([subnet], None, index)
            group_of_one = Group(launch=launch, min_instances=1, max_instances=1, zones=1, subnets=subnets)
            pool = replace(_pool(resource, group_of_one), kind=PoolKind.INSTANCE)
            yield FoundPool(pool, resource, is_stray=not is_tied)


def _provided_pool(properties: Section, resource: Resource, group: Group, clusters: Clusters) -> Pool:
    provider = properties.section("AutoScalingGroupProvider")
    # Without ManagedScaling there is none: so say the acceptance tests of the Terraform provider for AWS
    # (TestAccECSCapacityProvider_basic), and no page says otherwise.
    scaling = provider.section("ManagedScaling")
    status = scaling.text("Status") if provider.get("ManagedScaling") is not None else "DISABLED"
    protection = provider.looked_up("ManagedTerminationProtection", _STATUS)
    draining = provider.looked_up("ManagedDraining", _STATUS)
    listed = clusters.of_provider(resource.reference)
    pool = _pool(resource, group)
    cluster = listed if clusters.lists(resource.reference) and not isinstance(listed, Unknown) else pool.cluster
    return replace(
        pool,
        managed_scaling=UNKNOWN if status is None or isinstance(status, Unknown) else _STATUS.get(status, UNKNOWN),
        managed_termination_protection=protection or False,
        managed_draining=True if draining is None else draining,
        cluster=cluster,
        associated=clusters.associates(resource.reference, cluster),
        told_cluster=_told_cluster(group.launch, cluster, clusters),
        provider=properties.text("Name"),
        has_provider=True,
    )


def _pool(resource: Resource, group: Group) -> Pool:
    otherwise = None if group.launch.setup.user_data.complete else UNKNOWN
    return Pool(
        name=resource.logical_id,
        min_instances=group.min_instances,
        max_instances=group.max_instances,
        managed_scaling=False,
        zones=group.zones,
        subnets=group.subnets,
        has_no_route_out=group.has_no_route_out,
        missing_endpoints=group.missing_endpoints,
        group=group.settings,
        cluster=group.launch.cluster if _names_cluster(group.launch) else otherwise,
        has_provider=False,
        origin=resource.origin,
        **values_of(group.launch.setup),
    )


def _names_cluster(launch: Launch) -> bool:
    return launch.setup.user_data.get(CLUSTER) is not None


def _may_join(launch: Launch) -> bool:
    """Whether an image that the files do not show may know a cluster: all but those of an operating system alone."""
    written = launch.setup.image_written
    return written is None or not written.startswith(_WITHOUT_AGENT)


def _told_cluster(launch: Launch, cluster: str | Unknown | None, clusters: Clusters) -> str | Unknown | None:
    """The cluster of the user data where it is another one."""
    told = launch.cluster
    if isinstance(cluster, Unknown) or (_names_cluster(launch) and told == cluster):
        return None
    if not _names_cluster(launch):
        return UNKNOWN if clusters.has_open_name(cluster) else None
    # Whatever name a template leaves open may be the one that is written here.
    return UNKNOWN if clusters.has_open_name(cluster) or clusters.has_open_name(told) else told or DEFAULT_CLUSTER
