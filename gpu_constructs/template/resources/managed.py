"""A capacity provider of ECS Managed Instances: ECS chooses types and image by what a host must be.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-capacity-providers-concept.html
"""

from __future__ import annotations

from gpu_constructs.fleet import UNKNOWN, Bought, Pool, PoolKind, PurchaseOption, Reservation, Unknown
from gpu_constructs.template.model import Resource
from gpu_constructs.template.resources.clusters import Clusters
from gpu_constructs.template.resources.groups import zones_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.instance_types import TypeChoice, instance_types_of
from gpu_constructs.template.resources.managed_roles import passes_host_role
from gpu_constructs.template.resources.section import Section

__all__ = ["managed_pool", "managed_purchase", "managed_types"]

_PREFERENCES = ("RESERVATIONS_ONLY", "RESERVATIONS_FIRST", "RESERVATIONS_EXCLUDED")
_OPTIONS = {"ON_DEMAND": PurchaseOption.ON_DEMAND, "RESERVED": PurchaseOption.RESERVED, "SPOT": PurchaseOption.SPOT}


def managed_pool(properties: Section, resource: Resource, clusters: Clusters, index: Index) -> Pool:
    """Reads a provider of Managed Instances."""
    provider = properties.section("ManagedInstancesProvider")
    launch = provider.section("InstanceLaunchTemplate")
    choice = managed_types(launch)
    cluster = clusters.named(properties.get("ClusterName"))
    if cluster is None and clusters.lists(resource.reference):
        cluster = clusters.of_provider(resource.reference)
    return Pool(
        name=resource.logical_id,
        instance_types=choice.types,
        image=UNKNOWN,
        min_instances=0,
        max_instances=UNKNOWN,
        kind=PoolKind.MANAGED_INSTANCES,
        bought=Bought(option=managed_purchase(launch), reservation=_reservation(launch)),
        managed_scaling=True,
        has_unknown_types=choice.has_unknown,
        zones=zones_of(launch.section("NetworkConfiguration").get("Subnets"), None, index),
        cluster=cluster,
        provider=properties.text("Name"),
        requirements=choice.requirements,
        passes_host_role=passes_host_role(provider, index),
        associated=clusters.lists(resource.reference) or UNKNOWN,
        origin=resource.origin,
    )


def managed_types(launch: Section) -> TypeChoice:
    """The types that Managed Instances may be of; without requirements, AWS chooses by the task."""
    if launch.get("InstanceRequirements") is None:
        return TypeChoice(has_unknown=True)
    return instance_types_of(launch.section("InstanceRequirements"), None, managed=True)


def managed_purchase(launch: Section) -> PurchaseOption | Unknown:
    """How Managed Instances are bought."""
    option = launch.text("CapacityOptionType")
    if option is None or isinstance(option, Unknown):
        return PurchaseOption.ON_DEMAND if option is None else UNKNOWN
    if option not in _OPTIONS:
        launch.note(f"expects {', '.join(_OPTIONS)}", option, "CapacityOptionType")
    return _OPTIONS.get(option, UNKNOWN)


def _reservation(launch: Section) -> Reservation | None:
    """The capacity reservations that Managed Instances run in; None where none are named."""
    if launch.get("CapacityReservations") is None:
        return None
    written = launch.section("CapacityReservations")
    preference = written.text("ReservationPreference")
    if isinstance(preference, str) and preference not in _PREFERENCES:
        written.note(f"expects {', '.join(_PREFERENCES)}", preference, "ReservationPreference")
    return Reservation(preference=preference, group=written.text("ReservationGroupArn"))
