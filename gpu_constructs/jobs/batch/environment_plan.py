"""What a compute environment was asked to be, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from aws_cdk import aws_ec2 as ec2

from gpu_constructs.cdk.arguments import known_number
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cluster.capacity.images import GpuMachineImage
from gpu_constructs.cluster.capacity.part import HostPart
from gpu_constructs.cluster.capacity.passed_on import PASSED_ON
from gpu_constructs.cluster.capacity.plan import (
    CapacityChoice,
    CapacityPlan,
    hosts_told,
    image_of,
    parts_of,
    pool_of,
    types_of,
)
from gpu_constructs.cluster.capacity.purchase import Purchase
from gpu_constructs.cluster.capacity.user_data import agent_lines, what_hosts_are_told
from gpu_constructs.cluster.hosts.network import HostSubnets
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.facts import Architecture, InstanceType, OperatingSystem, Vendor
from gpu_constructs.facts.aws_limits import BATCH_TYPE_WORDS
from gpu_constructs.fleet import (
    RESERVATIONS_ONLY,
    Bought,
    Pool,
    PoolKind,
    PurchaseOption,
    Reservation,
    TypeChoice,
    Unknown,
    UserDataFormat,
)

# What an environment of AWS Batch is asked as well, because everything in it is written by this library.
_ASKED = ("GPU052", "GPU099", "GPU106", "GPU117", "GPU104", "GPU162", "GPU171")

_ARGUMENTS: Mapping[str, str] = {
    "ComputeResources.InstanceTypes": "instance_types",
    "InstanceTypes": "instance_types",
    "ImageType": "image",
    "ImageType ECS_AL2023": "leave image out",
    "ImageType ECS_AL2023_NVIDIA": "leave image out",
    "MaxvCpus": "max_instances",
}

_NOT_OF_BATCH: Mapping[str, str] = {
    "scaling": "AWS Batch starts and ends the hosts of its queues itself",
    "capacity_provider_name": "a compute environment of AWS Batch has no capacity provider",
    **dict.fromkeys(PASSED_ON, "AWS Batch makes the Auto Scaling group and starts the agent of its hosts itself"),
}

# BEST_FIT, the default of the API, never updates its hosts in place:
# https://docs.aws.amazon.com/batch/latest/userguide/infrastructure-updates.html
_ON_DEMAND, _ON_SPOT = "BEST_FIT_PROGRESSIVE", "SPOT_PRICE_CAPACITY_OPTIMIZED"
# https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html
_IMAGE_TYPES: Mapping[Vendor | None, str] = {Vendor.NVIDIA: "ECS_AL2023_NVIDIA"}
_FALL_BACK = "an environment with Purchase.on_demand() after it in the queue"
_BOUNDARY = "==GPU=="
_OF_BATCH = frozenset({"al2023-gpu", "al2023", "al2023-arm64"})
"""Images that AWS Batch takes the newest of by itself."""


def image_type(plan: CapacityPlan) -> str:
    """The kind of image for which AWS Batch prepares hosts."""
    return _IMAGE_TYPES.get(plan.machine_image.host_image.image.accelerator, "ECS_AL2023")


def own_image(plan: CapacityPlan) -> ec2.IMachineImage | None:
    """The image that takes the place of the one of AWS Batch; None where that is the same."""
    found = plan.machine_image.host_image
    is_of_batch = found.is_floating and found.image.name in _OF_BATCH
    return None if is_of_batch else plan.machine_image.to_machine_image()


def plan_environment(choice: CapacityChoice, *, subnets: HostSubnets, region: str | None) -> CapacityPlan:
    """Checks all that can be seen before a resource exists; the region is None where only the deploy knows it."""
    _require_of_batch(choice)
    given, names, chosen = choice.options, *_types(choice)
    types = chosen.instance_types
    purchase, scaling, storage, network, _ = parts = parts_of(choice)
    low = _hosts("min_instances", given.get("min_instances", 0), 0)
    high = _hosts("max_instances", choice.max_instances, 1)
    min_vcpus, max_vcpus = _vcpus(low, high, types)
    pool = replace(
        pool_of(choice, chosen, (low, high), subnets, parts, region=region),
        kind=PoolKind.BATCH,
        has_provider=False,
        min_vcpus=min_vcpus,
        max_vcpus=max_vcpus,
    )
    if len(pool.shapes) > 1:
        raise IncompatibleError(
            f"{pool.name} has hosts of several shapes ({'; '.join(map(str, sorted(pool.shapes, key=str)))}), and "
            "max_instances counts hosts of one",
            argument="instance_types",
            value=[each.name for each in pool.instance_types],
            fix="one environment for each shape",
        )
    image = _image(given.get("image"), types).in_region(region)
    reservation, launch_template = _bought(purchase)
    pool = _with_parts(replace(pool, image=image.host_image), parts)
    pool = replace(
        pool,
        bought=Bought(option=purchase.option, reservation=reservation),
        allocation=_ON_SPOT if purchase.option is PurchaseOption.SPOT else _ON_DEMAND,
        # Of one plain interface, the launch template says nothing.
        interfaces=pool.interfaces if network.has_efa else (),
    )
    adds = hosts_told(pool, image.host_image, given.get("join_within"))
    adds.launch_template |= launch_template
    storage.contribute(adds, pool)
    told = what_hosts_are_told(image.host_image.image.operating_system, "", adds.agent)
    agent = tuple(pair for pair in told.agent if pair[0] != "ECS_CLUSTER")  # which AWS Batch names
    told = replace(told, format=UserDataFormat.MIME, agent=agent, local_disks=pool.user_data.local_disks)
    pool = replace(pool, user_data=told)
    require_yes(pool, *_ASKED, arguments=_ARGUMENTS)
    require_allowed(pool, _ARGUMENTS)
    return CapacityPlan(
        instance_types=names,
        min_instances=low,
        max_instances=high,
        capacity_provider_name=None,
        pool=pool,
        machine_image=image,
        purchase=purchase,
        scaling=scaling,
        storage=storage,
        network=network,
        adds=adds,
        subnets=subnets,
    )


def _require_of_batch(choice: CapacityChoice) -> None:
    given = {**choice.options, "capacity_provider_name": choice.capacity_provider_name}
    for argument, why in _NOT_OF_BATCH.items():
        value = given.get(argument)
        if value not in (None, False):
            raise InvalidValueError(why, argument=argument, value=value, fix="leave it out")
    words = [each for each in choice.instance_types if each in BATCH_TYPE_WORDS]
    if words:
        raise InvalidValueError(
            f"{words[0]} stands for families that AWS Batch prefers, none of which has GPUs",
            argument="instance_types",
            value=words[0],
            fix="types by name, such as ['g6.xlarge', 'g6.2xlarge']",
        )


def _types(choice: CapacityChoice) -> tuple[tuple[str, ...], TypeChoice]:
    names, chosen = types_of(choice.instance_types, image_is_given=choice.options.get("image") is not None)
    if chosen.has_unknown_types or chosen.unknown_type_names:
        raise InvalidValueError(
            "AWS Batch counts in vCPUs, and how many a type has is only known of one in the catalogue, not of a token",
            argument="instance_types",
            value=list(names),
            fix="types of gpu-constructs instances, or declare_instance_types for a newer one",
        )
    return names, chosen


def _vcpus(low: int, high: int, types: Sequence[InstanceType]) -> tuple[int, int]:
    smallest, largest = (of(each.vcpus for each in types) for of in (min, max))
    least, most = low * largest, high * smallest
    if least > most:
        raise IncompatibleError(
            f"AWS Batch counts in vCPUs: {low} hosts that are always there have up to {least}, and {high} of the "
            f"smallest type have {most}",
            argument="min_instances",
            value=low,
            allowed=f"0 to {most // largest}",
            fix="instance types of one size, or more max_instances",
        )
    return least, most


def _with_parts(pool: Pool, parts: Iterable[HostPart]) -> Pool:
    for part in parts:
        pool = part.applied_to(pool)
    for part in parts:
        part.require_possible(pool)
    # For a compute environment of any template, which counts in vCPUs, the rule says nothing.
    require_yes(replace(pool, kind=PoolKind.AUTO_SCALING_GROUP), "GPU164")
    return pool


def _hosts(argument: str, value: int, smallest: int) -> int:
    fix = f"{argument}={smallest}"
    return known_number(argument, value, smallest=smallest, unit="hosts", fix=fix, why="does not become vCPUs")


def _image(given: GpuMachineImage | None, types: Sequence[InstanceType]) -> GpuMachineImage:
    image = image_of(given, types)
    if image.host_image.image.operating_system is OperatingSystem.BOTTLEROCKET:
        is_arm = image.host_image.image.architecture is Architecture.ARM64
        raise IncompatibleError(
            "AWS Batch starts no hosts with Bottlerocket, whose user data it does not merge with its own",
            argument="instance_types" if given is None else "image",
            value=[each.name for each in types] if given is None else image.host_image.image.name,
            fix="types with x86 processors, such as g6.xlarge, or GpuMachineImage.custom(…) with Amazon Linux"
            if is_arm
            else "GpuMachineImage.pinned('al2023-gpu')",
        )
    return image


def _bought(purchase: Purchase) -> tuple[Reservation | None, dict[str, object]]:
    """The reservations that hosts run in, and what the purchase adds to ``LaunchTemplateData``.

    Spot is a type of compute environment, and needs no word there.
    """
    if isinstance(purchase.option, Unknown) or purchase.option is PurchaseOption.MIXED:
        raise IncompatibleError(
            "a compute environment of AWS Batch is either spot or on demand",
            argument="purchase",
            value=purchase.split,
            fix=f"Purchase.spot() here, and {_FALL_BACK}",
        )
    given = purchase.reservation
    if given is None:
        return None, {}
    is_only = purchase.option is not PurchaseOption.ON_DEMAND
    if given.id is not None and not is_only:
        raise IncompatibleError(
            "hosts of AWS Batch start in the reservation that is named or not at all",
            argument="purchase",
            value=purchase.target,
            fix=f"only=True here, and {_FALL_BACK}",
        )
    if not is_only and given.group is None:
        return None, {}  # open reservations that match are used in any case
    # Beyond those of a group, hosts start on demand unless the preference forbids it:
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-groups-launch.html
    preference = RESERVATIONS_ONLY if is_only and given.id is None else None
    specification: dict[str, object] = {} if preference is None else {"CapacityReservationPreference": preference}
    if purchase.target is not None:
        key = "CapacityReservationId" if given.group is None else "CapacityReservationResourceGroupArn"
        specification["CapacityReservationTarget"] = {key: purchase.target}
    data: dict[str, object] = {"CapacityReservationSpecification": specification}
    if purchase.option is PurchaseOption.CAPACITY_BLOCK:
        data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
    return replace(given, preference=preference, instances=None), data


def user_data_of(plan: CapacityPlan) -> str:
    """A script as the MIME multi-part archive that AWS Batch merges with its own user data; it takes no other form.

    https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html
    """
    system = plan.machine_image.host_image.image.operating_system
    lines = (*agent_lines(system, plan.adds.agent), *plan.adds.boot_commands)
    head = ("MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', "")
    part = (f"--{_BOUNDARY}", 'Content-Type: text/x-shellscript; charset="us-ascii"', "")
    return "\n".join((*head, *part, *lines, "", f"--{_BOUNDARY}--", ""))
