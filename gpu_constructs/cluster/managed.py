"""ECS Managed Instances: hosts that AWS chooses, starts, patches and ends.

What a provider can be asked to be, the requirements by which ECS chooses, and the provider itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.cdk.arguments import flag, number_of, of_kind
from gpu_constructs.cdk.calls import require_construct_id
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cluster.capacity.plan import types_of
from gpu_constructs.cluster.capacity.purchase import Purchase
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.hosts.providers import ProviderCapacity, known_provider_name
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.facts import InstanceType, Vendor
from gpu_constructs.facts.aws_limits import GP3_MAX_GIB, MAX_IDLE_SECONDS, NO_PRICE_THRESHOLD_PERCENT, is_managed_size
from gpu_constructs.facts.declared import metadata_of
from gpu_constructs.facts.names import MANUFACTURERS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    DECLARED_TYPES,
    METADATA_KEY,
    UNKNOWN,
    Bought,
    InstanceRequirements,
    Pool,
    PoolKind,
    PurchaseOption,
    Reservation,
    TypeChoice,
    Unknown,
    values_of,
)
from gpu_constructs.fleet.purchase import selected_types
from gpu_constructs.placement.reasons import listed

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedOperation:
    """How ECS looks after the hosts of Managed Instances.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateManagedInstancesProviderConfiguration.html

    Args:
        automatic_repair: Whether ECS replaces hosts that are impaired, their GPUs included. By default it does.
        scale_in_after_seconds: How long a host may be idle or half empty before ECS ends it, up to 3600; with
            -1 it never does. By default as ECS sees fit.
    """

    automatic_repair: bool = True
    scale_in_after_seconds: int | None = None

    def __post_init__(self) -> None:
        flag("automatic_repair", self.automatic_repair)
        if self.scale_in_after_seconds is not None:
            number_of(
                self,
                "scale_in_after_seconds",
                smallest=-1,
                largest=MAX_IDLE_SECONDS,
                unit="seconds, -1 for never",
                fix="leave it out for ECS's own default",
            )

    def provider_data(self) -> Mapping[str, object]:
        """What it adds to the ``ManagedInstancesProvider``, where aws-cdk-lib 2.275 has no words for it."""
        repair = {"AutoRepairConfiguration": {"ActionsStatus": "ENABLED" if self.automatic_repair else "DISABLED"}}
        if self.scale_in_after_seconds is None:
            return repair
        return {**repair, "InfrastructureOptimization": {"ScaleInAfter": self.scale_in_after_seconds}}


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedStorage:
    """Where hosts of ECS Managed Instances keep container images, logs and scratch data.

    Args:
        volume_gib: Size of the data volume in GiB. By default 100: CUDA images want no less, and ECS's own default is
            80.
        local_disks: Whether the local disks of the host are used instead, joined to one volume; only types that have
            some are launched then. By default not.
    """

    volume_gib: int = 100
    local_disks: bool = False

    def __post_init__(self) -> None:
        number_of(self, "volume_gib", smallest=1, largest=GP3_MAX_GIB, unit="GiB", fix="volume_gib=100")
        flag("local_disks", self.local_disks)

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        if self.local_disks:
            # "EBS volumes are not provisioned for data storage"
            # (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ManagedInstancesLocalStorageConfiguration.html)
            return {"LocalStorageConfiguration": {"UseLocalStorage": True}}
        return {"StorageConfiguration": {"StorageSizeGiB": self.volume_gib}}


_HANDED_OUT = frozenset({Vendor.NVIDIA, Vendor.NEURON})  # accelerators that ECS knows as resources

# Without a threshold EC2 leaves out what costs more than 120 % (spot: 200 %) of the cheapest type that satisfies the
# requirements, larger sizes and all of a second family among them.
_SPOT_THRESHOLD = "SpotMaxPricePercentageOverLowestPrice"
_ON_DEMAND_THRESHOLD = "OnDemandMaxPricePercentageOverLowestPrice"


_LEFT_OUT: Mapping[str, Callable[[InstanceType], bool]] = {
    "BareMetal": lambda each: each.bare_metal,
    "BurstablePerformance": lambda each: each.burstable,
}
"""Kinds of types that the API leaves out by default."""


def requirements_data(choice: TypeChoice, purchase: PurchaseOption | Unknown) -> dict[str, object]:
    """The ``InstanceRequirements`` of the launch template."""
    wanted = choice.requirements or InstanceRequirements()
    threshold = _SPOT_THRESHOLD if purchase is PurchaseOption.SPOT else _ON_DEMAND_THRESHOLD
    least, most = wanted.accelerator_count
    return {
        "VCpuCount": {"Min": 1},
        "MemoryMiB": {"Min": 1},
        **({} if least is None else {"AcceleratorCount": {"Min": least, "Max": most}}),
        **({"AcceleratorManufacturers": list(given)} if (given := wanted.accelerator_manufacturers) else {}),
        "AllowedInstanceTypes": list(wanted.allowed_instance_types),
        **{key: "included" for key, is_one in _LEFT_OUT.items() if any(map(is_one, choice.instance_types))},
        **({"LocalStorage": "required"} if wanted.local_storage else {}),
        threshold: NO_PRICE_THRESHOLD_PERCENT,
    }


def choice_of_types(instance_types: Sequence[str], *, local_disks: bool = False) -> TypeChoice:
    """Requirements that these types satisfy and no others, and the types of the catalogue, in its order.

    Sizes of hosts may differ in GPUs: unlike managed scaling of an Auto Scaling group, ECS chooses the host for the
    tasks that wait. With `local_disks`, all of them have some.
    """
    names, chosen = types_of(instance_types, image_is_given=False)
    if chosen.has_unknown_types:
        raise InvalidValueError(
            "an instance type that is only known at deploy time does not say which accelerators it has",
            argument="instance_types",
            value=list(names),
            fix="take the type from context instead of a parameter",
        )
    types = chosen.instance_types
    _require_alike(types)
    without = [each.name for each in types if not each.local_disks] if local_disks else []
    if without:
        raise IncompatibleError(
            f"{listed(without)} {'has' if len(without) == 1 else 'have'} no local disks",
            argument="storage",
            value=without,
            fix="ManagedStorage(volume_gib=…) without local_disks, or types with instance store",
        )
    vendors = {each.accelerators.vendor for each in types if each.accelerators is not None}
    whole = vendors == {Vendor.NVIDIA} and all(each.gpus for each in types)
    requirements = InstanceRequirements(
        # The API requires both, and the names determine the rest.
        vcpus=(1, None),
        memory_mib=(1, None),
        # No page says which AcceleratorCount a part of a GPU has.
        accelerator_count=(min(each.gpus for each in types), max(each.gpus for each in types))
        if whole
        else (None, None),
        accelerator_manufacturers=tuple(MANUFACTURERS[each] for each in vendors),
        allowed_instance_types=tuple(each.name for each in types),
        local_storage=("required",) if local_disks else (),
    )
    rules = ("included" if any(map(is_one, types)) else "excluded" for is_one in _LEFT_OUT.values())
    return TypeChoice(instance_types=selected_types(requirements, *rules, managed=True), requirements=requirements)


def _require_alike(types: Sequence[InstanceType]) -> None:
    """Refuses types that differ in architecture or accelerator vendor, and those that ECS does not offer here."""
    for each in types:
        if each.accelerators is not None and each.accelerators.vendor not in _HANDED_OUT:
            raise IncompatibleError(
                f"{each} has {each.accelerators.model} devices, and ECS hands out NVIDIA GPUs and Neuron devices only",
                argument="instance_types",
                value=each.name,
                fix=f"{each.replaced_by}, or another type with NVIDIA GPUs" if each.replaced_by else "another type",
            )
        if not is_managed_size(each):
            raise IncompatibleError(
                f"{each} is too small: Managed Instances have more than 1 vCPU and are neither nano nor micro",
                argument="instance_types",
                value=each.name,
                fix="a larger size",
            )
    kinds = {
        (
            str(each.architecture),
            "no accelerators" if each.accelerators is None else str(each.accelerators.vendor),
        ): each
        for each in types
    }
    if len(kinds) > 1:
        said = "; ".join(f"{each}: {architecture}, {vendor}" for (architecture, vendor), each in kinds.items())
        raise IncompatibleError(
            f"a task runs on one architecture and asks for one kind of accelerator, and these types differ ({said})",
            argument="instance_types",
            value=[each.name for each in types],
            fix=f"one add_managed_capacity for each ({len(kinds)} here)",
        )


_PROVIDER = "ManagedInstancesProvider"
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
        resource.add_property_override(_PROVIDER, {"InstanceLaunchTemplate": launch_template, **run.provider_data()})
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
