"""What a capacity was asked to be, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2

from gpu_constructs.arguments import known_or, of_kind, whole_number
from gpu_constructs.capacity.boot_check import require_gpus_to_count
from gpu_constructs.capacity.images import GpuMachineImage
from gpu_constructs.capacity.network import HostNetwork
from gpu_constructs.capacity.purchase import Purchase
from gpu_constructs.capacity.scaling import HostScaling
from gpu_constructs.capacity.storage import HostStorage
from gpu_constructs.errors import InvalidValueError, argument_named, shown
from gpu_constructs.fleet import UNKNOWN, Pool, Unknown, require_one_shape
from gpu_constructs.hardware import InstanceType, instance_type
from gpu_constructs.hosts.providers import require_provider_name
from gpu_constructs.hosts.subnets import HostSubnets
from gpu_constructs.tokens import is_list_token, is_token

__all__ = ["CapacityPlan", "of_kind", "plan_capacity", "require_provider_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """A capacity that may be made: every argument is either right or a token.

    Attributes:
        pool: What it can launch.
        machine_image: The image of its hosts.
        instance_types: Names as given, tokens among them, each once.
        min_instances: As given.
        max_instances: As given.
        capacity_provider_name: As given; None lets CloudFormation make one.
        purchase: How its hosts are bought.
        scaling: How they come and leave.
        storage: Where they keep images and scratch data.
        network: How they are connected.
        subnets: Where they run.
        comes_first: Whether services fill it before they use any other capacity.
    """

    pool: Pool
    machine_image: GpuMachineImage
    instance_types: tuple[str, ...]
    min_instances: int
    max_instances: int
    capacity_provider_name: str | None
    purchase: Purchase
    scaling: HostScaling
    storage: HostStorage
    network: HostNetwork
    subnets: HostSubnets
    comes_first: bool = False


def plan_capacity(
    name: str,
    *,
    instance_types: Sequence[str],
    max_instances: int,
    min_instances: int = 0,
    image: GpuMachineImage | None = None,
    purchase: Purchase | None = None,
    scaling: HostScaling | None = None,
    storage: HostStorage | None = None,
    network: HostNetwork | None = None,
    check_gpus_at_boot: bool = False,
    capacity_provider_name: str | None = None,
    subnets: HostSubnets,
    region: str | None = None,
) -> CapacityPlan:
    """Checks everything that can be seen before a resource exists.

    The arguments are those of `GpuCluster.add_capacity`; `name` is the construct id, `region` where the stack goes, or
    None where that is only known at deploy time.

    Raises:
        UnknownNameError: An instance type does not exist.
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: The types cannot be in one pool, or no image drives them.
    """
    names, known = _types(instance_types)
    if len(known) < len(names) and image is None:
        raise InvalidValueError(
            "an instance type that is only known at deploy time does not say which image drives it",
            argument="instance_types",
            value=list(names),
            fix="take the type from context instead of a parameter, or give image=…",
        )
    require_one_shape(known, argument="instance_types")
    with argument_named("instance_types"):
        chosen = image if image is not None else GpuMachineImage.for_types(known)
    if not isinstance(chosen, GpuMachineImage):
        raise InvalidValueError(
            f"expects a GpuMachineImage, got {shown(chosen)}",
            argument="image",
            value=chosen,
            fix="GpuMachineImage.pinned('al2023-gpu'), .newest('al2023-gpu') or .custom(…)",
        )
    chosen.require_drives(known)
    bought = of_kind("purchase", purchase, Purchase, example="Purchase.spot()")
    moved = of_kind("scaling", scaling, HostScaling, example="HostScaling(instance_warmup_seconds=600)")
    stored = of_kind("storage", storage, HostStorage, example="HostStorage(root_volume_gib=200)")
    wired = of_kind("network", network, HostNetwork, example="HostNetwork.efa()")
    if type(check_gpus_at_boot) is not bool:
        raise InvalidValueError(
            f"expects True or False, got {shown(check_gpus_at_boot)}",
            argument="check_gpus_at_boot",
            value=check_gpus_at_boot,
            fix="leave it out",
        )
    require_provider_name(capacity_provider_name)
    low = whole_number("min_instances", min_instances, smallest=0, unit="hosts", fix="min_instances=0")
    high = whole_number("max_instances", max_instances, smallest=1, unit="hosts", fix="max_instances=1")
    pool = Pool(
        name=name,
        instance_types=known,
        image=chosen.host_image,
        min_instances=low,
        max_instances=high,
        region=region,
        managed_termination_protection=moved.managed_termination_protection,
        purchase=bought.option,
        distribution=bought.distribution_of(len(names)),
        reservation=bought.reservation,
        block=bought.block,
        warm_pool=moved.warm_pool,
        checks_gpus=check_gpus_at_boot,
        has_unknown_types=len(known) < len(names),
        zones=subnets.zones if bought.needs_one_zone or wired.needs_one_zone else None,
        provider=UNKNOWN if is_token(capacity_provider_name) else capacity_provider_name,
    )
    if _contradict(pool):
        raise InvalidValueError(
            f"{min_instances} hosts at least and {max_instances} at most contradict each other",
            argument="min_instances",
            value=min_instances,
            allowed=f"0 to {max_instances}",
            fix=f"max_instances={min_instances}, or a smaller min_instances",
        )
    pool = wired.applied_to(pool)
    for part in (bought, moved, stored, wired):
        part.require_possible(pool)
    require_gpus_to_count(pool)
    return CapacityPlan(
        pool=pool,
        machine_image=chosen,
        instance_types=names,
        min_instances=known_or(min_instances, low),
        max_instances=known_or(max_instances, high),
        capacity_provider_name=capacity_provider_name,
        purchase=bought,
        scaling=moved,
        storage=stored,
        network=wired,
        subnets=subnets,
    )


def _types(instance_types: Sequence[str]) -> tuple[tuple[str, ...], tuple[InstanceType, ...]]:
    if isinstance(instance_types, str) or not isinstance(instance_types, Sequence) or not instance_types:
        split = [each.strip() for each in instance_types.split(",")] if isinstance(instance_types, str) else None
        raise InvalidValueError(
            f"expects a list with at least one instance type, got {shown(instance_types)}",
            argument="instance_types",
            value=instance_types,
            fix=f"{split!r}" if split and all(split) else "a list in the order of preference, such as ['g6.xlarge']",
        )
    if any(is_list_token(each) for each in instance_types):
        raise InvalidValueError(
            "a list that is only known at deploy time cannot become the overrides of an Auto Scaling group",
            argument="instance_types",
            fix="take the types from context instead of a parameter",
        )
    for each in instance_types:
        if isinstance(each, ec2.InstanceType):
            raise InvalidValueError(
                "expects names, got an ec2.InstanceType",
                argument="instance_types",
                value=each,
                fix=f"{each.to_string()!r}",
            )
    with argument_named("instance_types"):
        known = tuple(instance_type(each) for each in instance_types if not is_token(each))
    return tuple(dict.fromkeys(instance_types)), tuple(dict.fromkeys(known))


def _contradict(pool: Pool) -> bool:
    low, high = pool.min_instances, pool.max_instances
    return not isinstance(low, Unknown) and not isinstance(high, Unknown) and low > high
