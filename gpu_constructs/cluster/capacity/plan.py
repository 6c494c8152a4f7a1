"""What a capacity is asked to be, as its user says it, and checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import known_or, of_kind, require_kind, whole_number
from gpu_constructs.cdk.calls import naming, require_construct_id
from gpu_constructs.cdk.kinds import names_checked
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cdk.tokens import is_list_token, is_text_token
from gpu_constructs.cluster.capacity.images import MACHINE_IMAGES, GpuMachineImage, image_for
from gpu_constructs.cluster.capacity.join_deadline import deadline_lines
from gpu_constructs.cluster.capacity.network import HostNetwork
from gpu_constructs.cluster.capacity.part import Contribution, HostPart
from gpu_constructs.cluster.capacity.passed_on import PASSED_ON, HostOptions, PassedOn
from gpu_constructs.cluster.capacity.purchase import Purchase
from gpu_constructs.cluster.capacity.scaling import HostScaling
from gpu_constructs.cluster.capacity.storage import HostStorage
from gpu_constructs.cluster.capacity.user_data import (
    attributes_set,
    host_attributes,
    kernel_lines,
    settings_of_image,
    what_hosts_are_told,
)
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.hosts.network import HostSubnets
from gpu_constructs.cluster.hosts.providers import known_provider_name
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, shown, unexpected
from gpu_constructs.facts import InstanceType, instance_type, may_exist
from gpu_constructs.facts.declared import metadata_of
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    DECLARED_TYPES,
    UNKNOWN,
    Bought,
    Distribution,
    HostImage,
    NetworkInterface,
    Pool,
    TypeChoice,
    Unknown,
    UserData,
    WayOut,
)

_WITH_ADDRESS = WayOut(lacks_public_address=False)
# Other hosts of a template may serve other tasks; this library lets every task run on every host of a capacity.
_OF_THE_TYPES = "GPU053"
_OF_THE_IMAGE = ("GPU052", "GPU099", "GPU117")


class CapacityOptions(HostOptions, total=False):
    """Arguments that `GpuCluster.add_capacity`, `GpuCluster.add_family` and `CapacityChoice` share.

    The others are explained at `HostOptions`.

    Attributes:
        min_instances: Hosts that are always there. By default none.
        image: The machine image. By default the ECS image that drives the types, pinned to the newest release that
            this version of the library knows.
        purchase: How the hosts are bought. By default on demand.
        scaling: How hosts come and leave. By default as the tasks want them, none kept prepared, none protected.
        storage: Where hosts keep images and scratch data. By default on an encrypted gp3 volume of 100 GiB.
        network: How the hosts are connected. By default by one plain interface; with EFA for work over many.
        vpc_subnets: Subnets of these hosts. By default those of the cluster.
        join_within: How long a host may take until its agent has joined the cluster, 5 minutes to a day; one that has
            not ends itself then, and is replaced. By default 30 minutes; hosts with Bottlerocket never do.
    """

    min_instances: int
    image: GpuMachineImage | None
    purchase: Purchase | None
    scaling: HostScaling | None
    storage: HostStorage | None
    network: HostNetwork | None
    vpc_subnets: ec2.SubnetSelection | None
    join_within: cdk.Duration | None


naming_options = naming(CapacityOptions, min_instances=0)
"""Makes ``help`` and editors show each of them, with its default."""


class CapacityChoice:
    """One capacity of `GpuCluster.add_fallback`, or hosts of a `GpuBatchQueue`.

    Args:
        construct_id: Its id after that of the order: ``H100-Reserved`` for ``Reserved`` in ``H100``. Ids, not places in
            the order, name the resources, so that an order can change without replacing anything.
        instance_types: As in `GpuCluster.add_capacity`, like the arguments after it.
        max_instances: Hosts at most. 0 pauses the capacity: no task starts on it.
        capacity_provider_name: Name of the provider. By default CloudFormation makes one.
        **options: The other arguments, explained at `CapacityOptions`.
    """

    __slots__ = ("capacity_provider_name", "construct_id", "instance_types", "max_instances", "options")

    @naming_options
    @names_checked
    def __init__(
        self,
        construct_id: str,
        *,
        instance_types: Sequence[str],
        max_instances: int,
        capacity_provider_name: str | None = None,
        **options: Unpack[CapacityOptions],
    ) -> None:
        require_construct_id(construct_id)
        self.construct_id = construct_id
        self.instance_types = instance_types
        self.max_instances = max_instances
        self.capacity_provider_name = capacity_provider_name
        self.options = options


def another(choice: CapacityChoice, construct_id: str, instance_types: Sequence[str]) -> CapacityChoice:
    """A choice like one that was made, under its own id and of its own types."""
    return CapacityChoice(
        construct_id,
        instance_types=instance_types,
        max_instances=choice.max_instances,
        capacity_provider_name=choice.capacity_provider_name,
        **choice.options,
    )


def parts_of(choice: CapacityChoice) -> tuple[Purchase, HostScaling, HostStorage, HostNetwork, PassedOn]:
    """Its parts, defaults for those that were left out; what one needs to know of others comes before."""
    given = choice.options
    return (
        of_kind("purchase", given.get("purchase"), Purchase, example="Purchase.spot()"),
        of_kind("scaling", given.get("scaling"), HostScaling, example="HostScaling(instance_warmup_seconds=600)"),
        of_kind("storage", given.get("storage"), HostStorage, example="HostStorage(root_volume_gib=200)"),
        of_kind("network", given.get("network"), HostNetwork, example="HostNetwork.efa()"),
        PassedOn({name: value for name in PASSED_ON if (value := given.get(name)) is not None}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """A capacity that may be made: every argument is either right or a token."""

    instance_types: tuple[str, ...]
    min_instances: int
    max_instances: int
    capacity_provider_name: str | None
    pool: Pool
    machine_image: GpuMachineImage
    purchase: Purchase
    scaling: HostScaling
    storage: HostStorage
    network: HostNetwork
    adds: Contribution
    subnets: HostSubnets
    comes_first: bool = False


def plan_capacity(choice: CapacityChoice, hosts: ClusterHosts) -> CapacityPlan:
    """Checks everything that can be seen before a resource exists."""
    given = choice.options
    image, fewest, most = given.get("image"), given.get("min_instances", 0), choice.max_instances
    subnets = hosts.subnets_of(given.get("vpc_subnets"))
    names, chosen = types_of(choice.instance_types, image_is_given=image is not None)
    known = chosen.instance_types
    if chosen.has_unknown_types and image is None:
        raise InvalidValueError(
            "an instance type that is only known at deploy time does not say which image drives it",
            argument="instance_types",
            value=list(names),
            fix="take the type from context instead of a parameter, or give image=…",
        )
    purchase, scaling, storage, network, _ = parts = parts_of(choice)
    for mount in storage.mounts:
        mount.require_near(hosts)
    low = whole_number("min_instances", fewest, smallest=0, unit="hosts", fix="min_instances=0")
    high = whole_number("max_instances", most, smallest=0, unit="hosts", fix="max_instances=1")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise InvalidValueError(
            f"min_instances is {low} and max_instances is {high}",
            argument="min_instances",
            value=low,
            allowed=f"0 to {high}",
            fix=f"raise max_instances of {choice.construct_id} to {low}, or min_instances={high}",
        )
    pool = replace(
        pool_of(choice, chosen, (low, high), subnets, parts, region=hosts.region),
        provider=known_provider_name(choice.capacity_provider_name),
    )
    try:
        machine_image = image_of(image, known).in_region(hosts.region)
    except IncompatibleError:
        require_yes(pool, _OF_THE_TYPES)
        raise
    pool = replace(pool, image=machine_image.host_image)
    for part in parts:
        pool = part.applied_to(pool)
    if hosts.associate_public_ip_address and subnets.has_public and len(pool.interfaces) == 1:
        pool = replace(pool, interfaces=(NetworkInterface(public_address=True),), way_out=_WITH_ADDRESS)
    adds = _added(pool, machine_image.host_image, parts, given.get("join_within"))
    own = adds.told_by_user
    settings = {**adds.agent, **dict(own.agent)}
    told = what_hosts_are_told(machine_image.host_image.image.operating_system, hosts.known_name, settings)
    before = pool
    pool = replace(pool, user_data=replace(told, complete=own.complete, local_disks=pool.user_data.local_disks))
    # The types decide before the image, and both before the parts. The image that drives the types by default, if its
    # release is the newest that is known anywhere, one type alone, and a name that CloudFormation makes are right by
    # themselves.
    is_newest = machine_image.host_image.release == machine_image.host_image.image.known_release
    asked = (
        *((_OF_THE_TYPES,) if len(names) > 1 else ()),
        *(() if image is None and is_newest else _OF_THE_IMAGE),
        *(() if choice.capacity_provider_name is None else ("GPU046",)),
        *(each for part in parts for each in part.rules),
    )
    if asked:
        _require_allowed(pool, before.user_data, asked)
    for part in parts:
        part.require_possible(pool)
    return CapacityPlan(
        instance_types=names,
        min_instances=known_or(fewest, low),
        max_instances=known_or(most, high),
        capacity_provider_name=choice.capacity_provider_name,
        pool=pool,
        machine_image=machine_image,
        purchase=purchase,
        scaling=scaling,
        storage=storage,
        network=network,
        adds=adds,
        subnets=subnets,
    )


def pool_of(
    choice: CapacityChoice,
    types: TypeChoice,
    size: tuple[int | Unknown, int | Unknown],
    subnets: HostSubnets,
    parts: Iterable[HostPart],
    *,
    region: str | None,
) -> Pool:
    """The hosts that are asked for, before image and parts have their say; the size is the least and the most."""
    needs_one_zone = any(each.needs_one_zone for each in parts)
    return Pool(
        name=choice.construct_id,
        instance_types=types.instance_types,
        image=UNKNOWN,
        min_instances=size[0],
        max_instances=size[1],
        region=region,
        bought=Bought(distribution=Distribution() if len(set(choice.instance_types)) > 1 else None),
        has_unknown_types=types.has_unknown_types,
        unknown_type_names=types.unknown_type_names,
        zones=subnets.zones if needs_one_zone else None,
        zones_are_open=needs_one_zone and subnets.zones_are_open,
        subnets=subnets.known,
        way_out=WayOut(lacks_public_address=subnets.has_public),
    )


def hosts_told(pool: Pool, image: HostImage, join_within: cdk.Duration | None) -> Contribution:
    """What the image and the instance types of hosts add to how they start."""
    system = image.image.operating_system
    deadline = deadline_lines(system, join_within, may_be_warm=pool.group.warm_pool is not None)
    lines = (*deadline, *kernel_lines(system, pool.instance_types))
    return Contribution(agent=dict(settings_of_image(image)), boot_commands=list(lines))


def _added(pool: Pool, image: HostImage, parts: Iterable[HostPart], join_within: cdk.Duration | None) -> Contribution:
    adds = hosts_told(pool, image, join_within)
    for part in parts:
        part.contribute(adds, pool)
    if pool.types_are_known:
        adds.attributes |= host_attributes(pool.instance_types)
    if adds.attributes:
        adds.agent |= attributes_set(adds.attributes)
    if any(each.declared for each in pool.instance_types):
        adds.metadata[DECLARED_TYPES] = metadata_of(pool.instance_types)
    return adds


def _require_allowed(pool: Pool, before: UserData, asked: Sequence[str]) -> None:
    """Asks rules about the finished pool, whose user data was `before` until it was written for its image."""
    try:
        require_allowed(pool, first=asked)
    except IncompatibleError:
        # The fix is another image, whose hosts would get user data of their own.
        require_yes(replace(pool, user_data=before), *_OF_THE_IMAGE)
        raise


def image_of(given: GpuMachineImage | None, types: Sequence[InstanceType]) -> GpuMachineImage:
    """The machine image of hosts: as given, or the one that drives their types."""
    if given is None:
        with argument_named("instance_types"):
            return image_for(types)
    require_kind("image", given, GpuMachineImage, example=MACHINE_IMAGES)
    return given


def types_of(instance_types: Sequence[str], *, image_is_given: bool) -> tuple[tuple[str, ...], TypeChoice]:
    """The instance types as given, each once, and what is known of them."""
    if isinstance(instance_types, str) or not isinstance(instance_types, Sequence) or not instance_types:
        # A list in the context of CDK may have been written as JSON.
        split = [each.strip('[]" ') for each in instance_types.split(",")] if isinstance(instance_types, str) else None
        raise unexpected(
            "instance_types",
            instance_types,
            "a list with at least one instance type",
            fix=shown(split) if split and all(split) else "a list in the order of preference, such as ['g6.xlarge']",
        )
    if any(is_list_token(each) for each in instance_types):
        raise InvalidValueError(
            "a list that is only known at deploy time does not say which types it has",
            argument="instance_types",
            fix="take the types from context instead of a parameter",
        )
    for each in instance_types:
        if not isinstance(each, str):
            of_cdk = isinstance(each, ec2.InstanceType)
            raise InvalidValueError(
                f"expects names, got {'an ec2.InstanceType' if of_cdk else shown(each)}",
                argument="instance_types",
                value=each,
                fix=repr(each.to_string()) if of_cdk else "['g6.xlarge']",
            )
    names = tuple(dict.fromkeys(instance_types))
    known_names = [each for each in names if not is_text_token(each)]
    # With a given image, a type may be newer than the catalogue; a name that no type can have is refused.
    unknown = [each for each in known_names if image_is_given and may_exist(each)]
    with argument_named("instance_types"):
        known = tuple(instance_type(each) for each in known_names if each not in unknown)
    return names, TypeChoice(
        instance_types=tuple(dict.fromkeys(known)),
        unknown_type_names=tuple(unknown),
        has_unknown_types=len(known_names) < len(names),
    )
