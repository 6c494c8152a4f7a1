"""What a capacity of ECS Managed Instances was asked to be, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_constructs.cdk.arguments import of_kind
from gpu_constructs.cdk.calls import require_construct_id
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import UNKNOWN, Bought, Pool, PoolKind
from gpu_constructs.hardware import Architecture
from gpu_constructs.hosts.providers import known_provider_name
from gpu_constructs.hosts.subnets import HostSubnets
from gpu_constructs.managed.need import HostNeed
from gpu_constructs.managed.operation import ManagedOperation
from gpu_constructs.managed.purchase import ManagedPurchase
from gpu_constructs.managed.requirements import ManagedChoice, choice_of_need, choice_of_types
from gpu_constructs.managed.storage import ManagedStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPlan:
    """A capacity of Managed Instances that may be made: every argument is either right or a token.

    Attributes:
        pool: What it can launch.
        architecture: Processor architecture of its hosts.
        capacity_provider_name: As given; None lets CloudFormation make one.
        operation: How ECS looks after its hosts.
        launch_template: What ``InstanceLaunchTemplate`` holds besides the network and the instance profile.
        subnets: Where its hosts run.
    """

    pool: Pool
    architecture: Architecture
    capacity_provider_name: str | None
    operation: ManagedOperation
    launch_template: dict[str, object]
    subnets: HostSubnets


def plan_managed(
    name: str,
    *,
    instance_types: Sequence[str] | None,
    need: HostNeed | None,
    purchase: ManagedPurchase | None,
    storage: ManagedStorage | None,
    operation: ManagedOperation | None,
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
    require_construct_id(name)
    choice = _choice(instance_types, need)
    bought = of_kind("purchase", purchase, ManagedPurchase, example="ManagedPurchase.spot()")
    stored = of_kind("storage", storage, ManagedStorage, example="ManagedStorage(volume_gib=200)")
    run = of_kind("operation", operation, ManagedOperation, example="ManagedOperation(scale_in_after_seconds=600)")
    if stored.local_disks:
        choice = choice.with_local_storage()
    pool = Pool(
        name=name,
        instance_types=choice.types,
        image=UNKNOWN,
        min_instances=0,
        max_instances=UNKNOWN,
        kind=PoolKind.MANAGED_INSTANCES,
        region=region,
        bought=Bought(option=bought.option, reservation=bought.reservation),
        zones=1 if subnets.in_one_zone else None,
        subnets=subnets.known,
        requirements=choice.requirements,
        provider=known_provider_name(capacity_provider_name),
    )
    require_yes(pool, "GPU046")
    require_allowed(pool)
    return ManagedPlan(
        pool=pool,
        architecture=choice.architecture,
        capacity_provider_name=capacity_provider_name,
        operation=run,
        launch_template={
            "InstanceRequirements": choice.template_data(bought.option),
            **bought.template_data(),
            **stored.template_data(),
            # The metadata service does not take keys with a slash, and hosts with such tags would not start
            # (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceLaunchTemplate.html).
            "InstanceMetadataTagsPropagation": False,
            **run.template_data(),
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
