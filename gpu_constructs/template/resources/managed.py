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
from gpu_constructs.template.model import Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.clusters import Clusters
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.instance_types import instance_types_of
from gpu_constructs.template.resources.networks import Networks
from gpu_constructs.template.resources.roles import Roles, trusts
from gpu_constructs.template.resources.section import Section, is_list
from gpu_constructs.template.resources.subnets import subnets_of, zones_of

_PREFERENCES = ("RESERVATIONS_ONLY", "RESERVATIONS_FIRST", "RESERVATIONS_EXCLUDED")
_OPTIONS = {"ON_DEMAND": PurchaseOption.ON_DEMAND, "RESERVED": PurchaseOption.RESERVED, "SPOT": PurchaseOption.SPOT}

_ECS = "ecs.amazonaws.com"
_AWS_POLICY = "policy/AmazonECSInfrastructureRolePolicyForManagedInstances"
_PASSED_NAMES = "ecsInstanceRole"
"""What the names of the roles begin with that AWS's policy passes."""


def managed_pool(
    properties: Section,
    resource: Resource,
    clusters: Clusters,
    networks: Networks,
    index: Index,
    *,
    with_policies: frozenset[Reference | None],
) -> Pool:
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
        listed_at=clusters.association_of(resource.reference),
        trusts_ecs=_trusts_ecs(provider, index),
        passes_host_role=_passes_host_role(provider, index, with_policies),
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


def _trusts_ecs(provider: Section, index: Index) -> bool | Unknown:
    role = Roles(index).named(provider.get("InfrastructureRoleArn"))
    return UNKNOWN if role is None else trusts(role, _ECS)


def _passes_host_role(provider: Section, index: Index, with_policies: frozenset[Reference | None]) -> bool | Unknown:
    """Whether the infrastructure role may pass the hosts' role; unknown where the files do not say all about it.

    AWS's own policy passes roles of one beginning only; any other policy may pass others
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-profile.html).
    """
    roles = Roles(index)
    role = roles.of_profile(provider.section("InstanceLaunchTemplate").get("Ec2InstanceProfileArn"))
    infrastructure = roles.named(provider.get("InfrastructureRoleArn"))
    if infrastructure is None or role is None or not _has_no_other_policy(infrastructure, with_policies):
        return UNKNOWN
    # Without a name CloudFormation begins one with the stack's.
    return _is_passed(role.properties.get("RoleName") or role.stack)


def _is_passed(name: Value) -> bool | Unknown:
    """Whether a role's name begins as it has to, as far as its beginning is known."""
    if isinstance(name, str):
        return name.startswith(_PASSED_NAMES)
    start = name.pieces[0] if isinstance(name, Text) and name.pieces else UNKNOWN
    if not isinstance(start, str):
        return UNKNOWN
    is_passed = start.startswith(_PASSED_NAMES)
    return UNKNOWN if not is_passed and _PASSED_NAMES.startswith(start) else is_passed


def _has_no_other_policy(role: Resource, with_policies: frozenset[Reference | None]) -> bool:
    """Whether AWS's policy is certainly all that a role has."""
    managed = role.properties.get("ManagedPolicyArns")
    arn = managed[0] if is_list(managed) and len(managed) == 1 else None
    return (
        end_of(arn).endswith(_AWS_POLICY)
        and role.properties.get("Policies") is None
        and with_policies.isdisjoint({None, role.reference})
    )
