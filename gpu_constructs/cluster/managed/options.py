"""What ECS Managed Instances can be asked to be: one of a list of types, what a host stores, and who looks after it.

Plain values; what CloudFormation gets is `requirements_data`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpu_constructs.cdk.arguments import flag, number_of, texts
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cdk.tokens import is_list_token, is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named
from gpu_constructs.facts import InstanceType, Vendor, instance_type
from gpu_constructs.facts.aws_limits import GP3_MAX_GIB, MAX_IDLE_SECONDS, NO_PRICE_THRESHOLD_PERCENT, is_managed_size
from gpu_constructs.facts.names import MANUFACTURERS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import InstanceRequirements, PurchaseOption, TypeChoice, Unknown
from gpu_constructs.fleet.purchase import selected_types
from gpu_constructs.placement.reasons import listed


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
    types = _types(instance_types)
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


def _types(instance_types: Sequence[str]) -> tuple[InstanceType, ...]:
    example = "instance_types=['g6.xlarge', 'g6.2xlarge']"
    names = texts("instance_types", instance_types, example=example)
    if not names:
        raise InvalidValueError(
            "expects at least one instance type", argument="instance_types", value=names, fix=example
        )
    if any(is_token(each) or is_list_token(each) for each in names):
        raise InvalidValueError(
            "an instance type that is only known at deploy time does not say which accelerators it has",
            argument="instance_types",
            value=names,
            fix="take the type from context instead of a parameter",
        )
    with argument_named("instance_types"):
        return tuple(dict.fromkeys(map(instance_type, names)))


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
