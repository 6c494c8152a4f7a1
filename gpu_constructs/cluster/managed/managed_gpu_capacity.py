"""One capacity provider of ECS Managed Instances: AWS chooses, starts, patches and ends the hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.cdk.arguments import of_kind
from gpu_constructs.cdk.calls import require_construct_id
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cluster.capacity.purchase import Purchase
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.hosts.providers import ProviderCapacity, known_provider_name
from gpu_constructs.cluster.managed.options import ManagedOperation, ManagedStorage, choice_of_types, requirements_data
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts.declared import metadata_of
from gpu_constructs.fleet import (
    DECLARED_TYPES,
    METADATA_KEY,
    UNKNOWN,
    Bought,
    Pool,
    PoolKind,
    PurchaseOption,
    Reservation,
    Unknown,
    values_of,
)

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

_PROVIDER = "ManagedInstancesProvider"
_LAUNCH_TEMPLATE = "InstanceLaunchTemplate"
_OPTIONS: Mapping[PurchaseOption | Unknown, str] = {
    PurchaseOption.ON_DEMAND: "ON_DEMAND",
    PurchaseOption.SPOT: "SPOT",
    PurchaseOption.RESERVED: "RESERVED",
}


class ManagedGpuCapacity(ProviderCapacity):
    """Defines a capacity provider of ECS Managed Instances.

    There is no Auto Scaling group and no image: for tasks that wait, ECS starts the cheapest host that satisfies the
    requirements and takes them, patches it, replaces it when it is impaired, and ends it when it is idle. Users
    cannot log in to these hosts. The provider belongs to its cluster and stands in no list of providers.

    It depends on its roles and on the hosts' way to the network, so that both outlast the hosts when the stack is
    deleted.

    Made by `GpuCluster.add_managed_capacity`, where the arguments are explained; it has the attributes of
    `ProviderCapacity` too.

    Attributes:
        encryption_key: Of the default log groups of tasks; None for a key of AWS.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        hosts: ClusterHosts,
        instance_types: Sequence[str],
        purchase: Purchase | None,
        storage: ManagedStorage | None,
        operation: ManagedOperation | None,
        vpc_subnets: ec2.SubnetSelection | None,
        capacity_provider_name: str | None,
    ) -> None:
        subnets = hosts.subnets_of(vpc_subnets)
        require_construct_id(construct_id)
        bought, as_written = _bought(of_kind("purchase", purchase, Purchase, example="Purchase.spot()"))
        stored = of_kind("storage", storage, ManagedStorage, example="ManagedStorage(volume_gib=200)")
        run = of_kind("operation", operation, ManagedOperation, example="ManagedOperation(scale_in_after_seconds=600)")
        choice = choice_of_types(instance_types, local_disks=stored.local_disks)
        pool = Pool(
            name=construct_id,
            image=UNKNOWN,
            min_instances=0,
            max_instances=UNKNOWN,
            kind=PoolKind.MANAGED_INSTANCES,
            region=hosts.region,
            bought=bought,
            zones=1 if subnets.in_one_zone else None,
            subnets=subnets.known,
            provider=known_provider_name(capacity_provider_name),
            **values_of(choice),
        )
        require_yes(pool, "GPU046")
        require_allowed(pool)
        hosts.association.require_free_name(capacity_provider_name)
        super().__init__(
            scope,
            construct_id,
            hosts=hosts,
            pool=pool,
            instance_type_names=(each.name for each in pool.instance_types),
        )
        self.encryption_key: kms.IKey | None = hosts.encryption_key
        roles = hosts.managed_roles
        self.provider: ecs.ManagedInstancesCapacityProvider = ecs.ManagedInstancesCapacityProvider(
            self,
            "Provider",
            capacity_provider_name=capacity_provider_name or hosts.provider_name(self),
            ec2_instance_profile=roles.instance_profile,
            infrastructure_role=roles.infrastructure_role,
            subnets=subnets.subnets,
            security_groups=[hosts.security_group],
            propagate_tags=ecs.PropagateManagedInstancesTags.CAPACITY_PROVIDER,
        )
        node = self.provider.node
        resource = cast("ecs.CfnCapacityProvider", node.default_child)
        launch_template = {
            "InstanceRequirements": requirements_data(choice, bought.option),
            **as_written,
            **stored.template_data(),
            # The metadata service does not take keys with a slash, and hosts with such tags would not start
            # (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceLaunchTemplate.html).
            "InstanceMetadataTagsPropagation": False,
        }
        # What aws-cdk-lib 2.275 has no words for: RESERVED, reservations, local storage, repair, scale-in.
        resource.add_property_override(_PROVIDER, {_LAUNCH_TEMPLATE: launch_template, **run.provider_data()})
        if any(each.declared for each in pool.instance_types):
            resource.add_override(f"Metadata.{METADATA_KEY}.{DECLARED_TYPES}", metadata_of(pool.instance_types))
        # Hosts that drain talk to ECS until they have gone, and the provider is only gone after them: their routes
        # and their NAT gateway have to be there as long (CDK issue 36071).
        node.add_dependency(*subnets.way_out)
        hosts.association.attach_managed(self.provider, capacity_provider_name)


def _bought(purchase: Purchase) -> tuple[Bought, dict[str, object]]:
    """How hosts are bought, as every check reads it and as the ``InstanceLaunchTemplate`` says it.

    The API has on demand, Spot, and resource groups of reservations
    (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceLaunchTemplate.html).
    """
    reservation, option = purchase.reservation, purchase.option
    if option not in _OPTIONS or (reservation is not None and reservation.group is None):
        raise IncompatibleError(
            "ECS Managed Instances are bought on demand, as Spot, or in a resource group of reservations",
            argument="purchase",
            value=option,
            fix="Purchase.spot(), Purchase.reservations(resource_group_arn=…), or add_capacity for anything else",
        )
    if reservation is None:
        return Bought(option=option), {"CapacityOptionType": _OPTIONS[option]}
    preference = "RESERVATIONS_ONLY" if option is PurchaseOption.RESERVED else "RESERVATIONS_FIRST"
    return Bought(
        option=PurchaseOption.RESERVED, reservation=Reservation(preference=preference, group=reservation.group)
    ), {
        "CapacityOptionType": _OPTIONS[PurchaseOption.RESERVED],
        "CapacityReservations": {"ReservationGroupArn": purchase.target, "ReservationPreference": preference},
    }
