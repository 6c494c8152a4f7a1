"""A capacity provider of ECS Managed Instances: ECS chooses types and image by what a host must be.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-capacity-providers-concept.html
"""

from __future__ import annotations

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
from gpu_constructs.template.model import Resource
from gpu_constructs.template.resources.clusters import Clusters
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.instance_types import instance_types_of
from gpu_constructs.template.resources.networks import Networks, subnets_of, zones_of
from gpu_constructs.template.resources.section import Section

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
