"""A pool: the hosts that one capacity provider, Auto Scaling group or compute environment can launch.

What only an Auto Scaling group says of its hosts stands first: those that it keeps prepared, and how it replaces them.
"""

from __future__ import annotations

from dataclasses import field, fields
from enum import Enum
from typing import Any

from gpu_constructs.facts import Architecture, Image, InstanceType, OperatingSystem, Vendor, system_of_parameter
from gpu_constructs.facts.values import Named, dataclass
from gpu_constructs.fleet.host import NO_USER_DATA, NetworkInterface, UserData
from gpu_constructs.fleet.origin import Origin, Subnet, WayOut
from gpu_constructs.fleet.purchase import Bought, InstanceRequirements
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPool:
    """Hosts that have booted once and wait, so that the next ones come sooner.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html

    Attributes:
        state: How they wait: ``Stopped``, ``Running``, ``Hibernated``, or whatever else was written.
        min_size: Hosts that are always prepared.
        max_prepared: Hosts in service and prepared together up to which more are prepared; None is the group's own
            maximum.
        reuse_on_scale_in: Whether a host goes back to the pool when the group shrinks.
    """

    state: str | Unknown = "Stopped"
    min_size: int | Unknown = 0
    max_prepared: int | Unknown | None = None
    reuse_on_scale_in: bool | Unknown = False


class UpdateMethod(Named):
    """How CloudFormation brings a change of an Auto Scaling group to the hosts that run."""

    INSTANCE_REFRESH = "AutoScalingInstanceRefresh"
    ROLLING = "AutoScalingRollingUpdate"
    REPLACING = "AutoScalingReplacingUpdate"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUpdate:
    """What a deploy does with the hosts that run when it changes what the next ones are.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html

    Attributes:
        min_healthy_percent: Of an instance refresh: hosts that stay in service, in percent of those that run.
        max_healthy_percent: Of an instance refresh: hosts in service and on their way at most, likewise.
        replaces_protected: Of an instance refresh: whether it replaces hosts that are protected from scale-in.
        min_in_service: Of a rolling update: hosts that stay in service.
        suspended: Of a rolling update: processes of Auto Scaling that are suspended meanwhile.
    """

    method: UpdateMethod
    min_healthy_percent: int | Unknown = 100
    max_healthy_percent: int | Unknown = 110
    replaces_protected: bool | Unknown = False
    min_in_service: int | Unknown = 0
    suspended: tuple[str | Unknown, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """What only an Auto Scaling group says about its hosts.

    Attributes:
        warm_pool: The hosts that it keeps prepared; None without.
        update: How a deploy replaces hosts that run; None where they stay as they are.
        name: Its unique name, by which two providers of one group are found: the logical id, after the name of its
            stack where two stacks have the same one. None where the files that were read do not define a group.
        desired_instances: Hosts that it is set to; None if nothing was written.
        subnets: Subnets that it lists, as far as they are known; only templates say so.
        capacity_of_a_host: What one host counts in its sizes as they are written: 1; unknown where hosts have weights,
            or the sizes are vCPUs or MiB, as only templates have them.
        scale_in_protection: Whether it protects new hosts from scale-in, which managed termination protection needs;
            only templates say so.
        may_be_started_by_others: Whether something else than ECS may start hosts in it, as far as the files say: a
            scheduled action, a scaling policy, or whoever may call Auto Scaling.
        max_may_rise: Whether something else than ECS may set a higher MaxSize: a scheduled action, a schedule, a
            function, or whoever reads an output that names the group.
    """

    warm_pool: WarmPool | None = None
    update: HostUpdate | None = None
    name: str | None = field(default=None, compare=False)
    desired_instances: int | Unknown | None = None
    subnets: int = field(default=0, compare=False)
    capacity_of_a_host: int | Unknown = 1
    scale_in_protection: bool | Unknown = field(default=UNKNOWN, compare=False)
    may_be_started_by_others: bool = False
    max_may_rise: bool = False


_OWN = "custom"  # instead of a release
_DIGITS = 9  # of a memory size in MiB; no host has a million GiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What every type of one pool must have in common.

    ECS managed scaling looks at the smallest type of an Auto Scaling group only; a task that needs more than that never
    makes the group grow
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html).

    Attributes:
        architecture: Processor architecture, which decides the AMI and the container images that run.
        vendor: Vendor of the accelerators, None on a CPU pool.
        count: Whole accelerators of one host.
        partition: The part of a whole GPU that one device is; below 1 on G6f and Gr6f.
    """

    architecture: Architecture
    vendor: Vendor | None
    count: int
    partition: float

    @classmethod
    def of(cls, instance_type: InstanceType) -> Shape:
        """The shape of one instance type."""
        devices = instance_type.accelerators
        vendor, count, partition = (
            (None, 0, 1.0) if devices is None else (devices.vendor, devices.count, devices.partition)
        )
        return cls(architecture=instance_type.architecture, vendor=vendor, count=count, partition=partition)

    def __str__(self) -> str:
        if self.vendor is None:
            return f"no accelerator, {self.architecture}"
        name = {Vendor.NVIDIA: "NVIDIA GPU", Vendor.AMD: "AMD GPU"}.get(self.vendor, f"{self.vendor} device")
        if self.partition < 1:
            return f"{self.partition:g} of an {name}, {self.architecture}"
        return f"{self.count} {name}{'s' if self.count != 1 else ''}, {self.architecture}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostImage:
    """The machine image of a pool's hosts, and how its AMI id is found.

    Attributes:
        image: What the image can do. For a custom AMI these are the capabilities that its owner declares.
        release: The pinned release, ``custom`` for an AMI of the user's own; None follows the newest at every deploy.
    """

    image: Image
    release: str | None = None

    @classmethod
    def own(cls, image: Image) -> HostImage:
        """An AMI of the user's own, with what its owner declares."""
        return cls(image=image, release=_OWN)

    @property
    def is_own(self) -> bool:
        """Whether it is an AMI of the user's own, so that its facts are what its owner declares."""
        return self.release == _OWN

    @property
    def is_floating(self) -> bool:
        """Whether a deploy may change the AMI of hosts that start after it, without a change in the app."""
        return self.release is None

    @property
    def ssm_parameter(self) -> str:
        """The public SSM parameter that holds the AMI id."""
        if self.release is None:
            return self.image.ssm_parameter
        return self.image.pinned_ssm_parameter.format(release=self.release)


class PoolKind(Enum):
    """What launches the hosts of a pool."""

    AUTO_SCALING_GROUP = "Auto Scaling group"
    MANAGED_INSTANCES = "ECS Managed Instances"
    BATCH = "AWS Batch compute environment"
    INSTANCE = "EC2 instance"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChoice:
    """The instance types that may be launched.

    Attributes:
        instance_types: Types of the catalogue, in the user's order of preference; empty where every type is a token.
        has_unknown_types: Whether a type is a token, so that nothing can be said about the smallest host.
        unknown_type_names: Types as written that are not in the catalogue.
        batch_words: Words with which AWS Batch chooses further types, all without accelerators, such as ``optimal``.
        requirements: Instance requirements as written, where the types were derived from them.
    """

    instance_types: tuple[InstanceType, ...] = ()
    has_unknown_types: bool = False
    unknown_type_names: tuple[str, ...] = ()
    batch_words: tuple[str, ...] = ()
    requirements: InstanceRequirements | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSetup(TypeChoice):
    """What hosts are made from: what a launch template says.

    Attributes:
        image: The machine image; unknown where an AMI id says nothing about it.
        image_written: The image as written, where `image` is unknown and a text was written.
        interfaces: Network interfaces, where the launch template lists them.
        placement_group: Whether the hosts are in a cluster placement group.
        names_image: Whether a machine image is named, whichever that is; only templates say so.
        tenancy: Whose hosts may run on the same machine as written, such as ``dedicated``; None if nothing was.
            Only templates say so.
        launch_configuration: Whether this is a launch configuration instead of a launch template.
        vcpus: vCPUs that ``CpuOptions`` leave a host; None where it has all of its type. Only templates say so.
    """

    image: HostImage | Unknown = UNKNOWN
    image_written: str | None = field(default=None, compare=False)
    bought: Bought = field(default_factory=Bought)
    user_data: UserData = NO_USER_DATA
    interfaces: tuple[NetworkInterface, ...] = ()
    placement_group: bool | Unknown = False
    names_image: bool | Unknown = field(default=UNKNOWN, compare=False)
    tenancy: str | Unknown | None = field(default=None, compare=False)
    launch_configuration: bool = False
    vcpus: int | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool(HostSetup):
    """Hosts that one capacity provider, Auto Scaling group or compute environment can launch.

    Attributes:
        min_instances: Hosts that are always there.
        max_instances: Hosts at most.
        region: Where it launches them; None if that is only known at deploy time.
        managed_scaling: Whether ECS moves the number of hosts with the tasks.
        zones: Availability Zones of its subnets; None where they are not known.
        subnets: Where it launches them, one entry for each subnet or zone that it names; empty where the list itself is
            not known.
        cluster: The cluster its hosts join; None where nothing says so.
        provider: Name of its capacity provider as given; None where CloudFormation makes one or there is none.
        has_provider: Whether a capacity provider stands before it, so that strategies can name it.
        zones_are_open: Whether the zones of its subnets are only known at deploy time; only the constructs know.
        associated: Whether a cluster's list of capacity providers names its provider; unknown where the files have no
            list of its cluster, or not all of it.
        told_cluster: The cluster that its user data names where that is not `cluster`, the default one by its name;
            unknown where that is not known, or where user data names none and the deploy names `cluster`, which may be
            the default one. None where it is the same, or user data names none.
        max_vcpus: vCPUs at most, of a compute environment of AWS Batch; None for other pools.
        min_vcpus: vCPUs that are always there, likewise.
        allocation: Its allocation strategy, likewise.
        has_emptied_group: Whether it names no security groups for the interfaces of containers, and the default one of
            its VPC lets nothing in, of a compute environment; only templates say so.
    """

    name: str
    min_instances: int | Unknown
    max_instances: int | Unknown
    kind: PoolKind = PoolKind.AUTO_SCALING_GROUP
    region: str | None = None
    group: GroupSettings = field(default_factory=GroupSettings)
    managed_scaling: bool | Unknown = True
    managed_termination_protection: bool | Unknown = False
    zones: int | None = None
    subnets: tuple[Subnet, ...] = ()
    way_out: WayOut = WayOut()
    cluster: str | Unknown | None = None
    provider: str | Unknown | None = None
    has_provider: bool = True
    zones_are_open: bool = False
    associated: bool | Unknown = field(default=UNKNOWN, compare=False)
    told_cluster: str | Unknown | None = None
    max_vcpus: int | Unknown | None = None
    min_vcpus: int | Unknown | None = None
    allocation: str | Unknown = UNKNOWN
    has_emptied_group: bool = False
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        # Names are unique in a fleet, and hashing every type of a pool is slow.
        return hash(self.name)

    @property
    def provider_name(self) -> str:
        """What its capacity provider is called: its name, or that of the pool where CloudFormation makes one."""
        return self.provider if isinstance(self.provider, str) else self.name

    @property
    def shape(self) -> Shape | None:
        """The shape of its first type, which the types of a good pool share; None for tokens."""
        return Shape.of(self.instance_types[0]) if self.instance_types else None

    @property
    def shapes(self) -> frozenset[Shape]:
        """The shapes of all its types."""
        return frozenset(map(Shape.of, self.instance_types))

    @property
    def types_are_known(self) -> bool:
        """Whether every type it may launch is in the catalogue, so that nothing else can come."""
        return bool(self.instance_types) and not self.has_unknown_types and not self.unknown_type_names

    @property
    def operating_system(self) -> OperatingSystem | Unknown:
        """The operating system of its hosts, as far as their image or its name says."""
        if isinstance(self.image, Unknown):
            return system_of_parameter(self.image_written or "") or UNKNOWN
        return self.image.image.operating_system

    @property
    def has_image_of_aws(self) -> bool:
        """Whether its hosts certainly have an image of AWS, which runs what user data says and nothing of its owner."""
        return not isinstance(self.image, Unknown) and not self.image.is_own

    def never_sets(self, variable: str) -> bool:
        """Whether certainly neither its user data nor an image of the user's own sets a variable of the agent."""
        data = self.user_data
        is_known = data.complete and not isinstance(data.format, Unknown)
        return is_known and self.has_image_of_aws and data.get(variable) is None

    @property
    def is_scaled_by_ecs(self) -> bool:
        """Whether ECS certainly moves its number of hosts with the tasks."""
        return self.has_provider and self.managed_scaling is True

    @property
    def is_of_unknown_group(self) -> bool:
        """Whether it is a capacity provider of whose Auto Scaling group the files say nothing."""
        says = self.instance_types or self.unknown_type_names or self.group.name or isinstance(self.max_instances, int)
        return self.kind is PoolKind.AUTO_SCALING_GROUP and self.has_provider and self.has_unknown_types and not says

    @property
    def runs_launch_type_ec2(self) -> bool:
        """Whether tasks of launch type EC2 can be placed on its hosts."""
        return self.kind in {PoolKind.AUTO_SCALING_GROUP, PoolKind.INSTANCE}

    @property
    def hosts_at_most(self) -> int | Unknown:
        """Hosts that it may have: `max_instances`, or as many as are reserved where they start in nothing else."""
        reserved, most = self.bought.reserved_alone, self.max_instances
        return most if reserved is None or isinstance(most, Unknown) else min(most, reserved)

    @property
    def limit(self) -> str:
        """What limits its number of hosts, in words."""
        if self.kind is PoolKind.INSTANCE:
            return "the number of instances"
        return "MaxSize" if self.hosts_at_most == self.max_instances else "the InstanceCount of its reservation"

    @property
    def reserved_memory_mib(self) -> int | Unknown:
        """Memory in MiB that its agents keep from tasks: ``ECS_RESERVED_MEMORY``, 0 if it is not set."""
        written = self.user_data.get("ECS_RESERVED_MEMORY")
        if written is None:
            return 0 if self.user_data.complete else UNKNOWN
        if isinstance(written, Unknown):
            return UNKNOWN
        return int(written) if written.isdecimal() and len(written) < _DIGITS else 0  # as the agent reads it


def values_of(choice: TypeChoice, kind: type[TypeChoice] | None = None) -> dict[str, Any]:
    """Fields by name, all or those of a class, for what has more of them: ``Pool(name="gpu", **values_of(setup))``."""
    return {each.name: getattr(choice, each.name) for each in fields(kind or choice)}
