"""What a capacity of ECS Managed Instances was asked to be, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_constructs.arguments import known_or, of_kind, whole_number
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind
from gpu_constructs.hardware import Architecture
from gpu_constructs.hosts.providers import require_provider_name
from gpu_constructs.hosts.subnets import HostSubnets
from gpu_constructs.managed.need import HostNeed
from gpu_constructs.managed.purchase import ManagedPurchase
from gpu_constructs.managed.requirements import ManagedChoice, choice_of_need, choice_of_types
from gpu_constructs.managed.storage import ManagedStorage
from gpu_constructs.tokens import is_token

__all__ = ["ManagedPlan", "plan_managed"]

MAX_IDLE_SECONDS = 3600
"""``InfrastructureOptimization.scaleInAfter`` of the ECS API, in which -1 is never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPlan:
    """A capacity of Managed Instances that may be made: every argument is either right or a token.

    Attributes:
        pool: What it can launch.
        architecture: Processor architecture of its hosts.
        capacity_provider_name: As given; None lets CloudFormation make one.
        propagates_tags: Whether hosts get the tags of the provider.
        detailed_monitoring: Whether hosts send their metrics every minute.
        launch_template: What ``InstanceLaunchTemplate`` holds beside the network and the instance profile.
        provider: What ``ManagedInstancesProvider`` holds beside that.
        subnets: Where its hosts run.
    """

    pool: Pool
    architecture: Architecture
    capacity_provider_name: str | None
    propagates_tags: bool
    detailed_monitoring: bool
    launch_template: dict[str, object]
    provider: dict[str, object]
    subnets: HostSubnets


def plan_managed(
    name: str,
    *,
    instance_types: Sequence[str] | None,
    need: HostNeed | None,
    purchase: ManagedPurchase | None,
    storage: ManagedStorage | None,
    automatic_repair: bool,
    scale_in_after_seconds: int | None,
    detailed_monitoring: bool,
    fips: bool | None,
    propagate_tags: bool,
    capacity_provider_name: str | None,
    subnets: HostSubnets,
    region: str | None = None,
) -> ManagedPlan:
    """Checks everything that can be seen before a resource exists.

    The arguments are those of `GpuCluster.add_managed_capacity`; `name` is the construct id, `region` where the
    stack goes, or None where that is only known at deploy time.

    Raises:
        UnknownNameError: An instance type does not exist.
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: No host can be all of it.
    """
    choice = _choice(instance_types, need)
    bought = of_kind("purchase", purchase, ManagedPurchase, example="ManagedPurchase.spot()")
    stored = of_kind("storage", storage, ManagedStorage, example="ManagedStorage(volume_gib=200)")
    for argument, value in (
        ("automatic_repair", automatic_repair),
        ("detailed_monitoring", detailed_monitoring),
        ("propagate_tags", propagate_tags),
        *((("fips", fips),) if fips is not None else ()),
    ):
        _require_flag(argument, value)
    idle: dict[str, object] = {}
    if scale_in_after_seconds is not None:
        seconds = whole_number(
            "scale_in_after_seconds",
            scale_in_after_seconds,
            smallest=-1,
            largest=MAX_IDLE_SECONDS,
            unit="seconds, -1 for never",
            fix="leave it out for ECS's own default",
        )
        idle = {"InfrastructureOptimization": {"ScaleInAfter": known_or(scale_in_after_seconds, seconds)}}
    if stored.local_disks:
        choice = choice.with_local_storage()
    require_provider_name(capacity_provider_name)
    return ManagedPlan(
        pool=Pool(
            name=name,
            instance_types=choice.types,
            image=UNKNOWN,
            min_instances=0,
            max_instances=UNKNOWN,
            kind=PoolKind.MANAGED_INSTANCES,
            region=region,
            purchase=bought.option,
            reservation=bought.reservation,
            zones=1 if subnets.zones == 1 else None,
            requirements=choice.requirements,
            provider=UNKNOWN if is_token(capacity_provider_name) else capacity_provider_name,
        ),
        architecture=choice.architecture,
        capacity_provider_name=capacity_provider_name,
        propagates_tags=propagate_tags,
        detailed_monitoring=detailed_monitoring,
        launch_template={
            "InstanceRequirements": choice.template_data(bought.option),
            **bought.template_data(),
            **stored.template_data(),
            # Keys with a slash are no keys of the metadata service, and hosts with such tags would not start
            # (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceLaunchTemplate.html).
            "InstanceMetadataTagsPropagation": False,
            **({} if fips is None else {"FipsEnabled": fips}),
        },
        provider={
            "AutoRepairConfiguration": {"ActionsStatus": "ENABLED" if automatic_repair else "DISABLED"},
            **idle,
        },
        subnets=subnets,
    )


def _choice(instance_types: Sequence[str] | None, need: HostNeed | None) -> ManagedChoice:
    if need is not None and instance_types is None:
        return choice_of_need(need)
    if instance_types is not None and need is None:
        return choice_of_types(instance_types)
    both = "neither was given" if need is None else "both were given"
    raise InvalidValueError(
        f"the types are named, or derived from a need, and {both}",
        argument="instance_types",
        value=instance_types,
        fix="instance_types=['g6.xlarge', 'g6.2xlarge'], or need=HostNeed(gpus=1, gpu_memory_gib=20)",
    )


def _require_flag(argument: str, value: object) -> None:
    if type(value) is not bool:
        raise InvalidValueError(
            f"expects True or False, got {shown(value)}", argument=argument, value=value, fix="leave it out"
        )
