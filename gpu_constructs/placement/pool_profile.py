"""What a pool offers to one task, taken together once so that many tasks can be held against it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from gpu_constructs.fleet import (
    TASK_INTERFACES,
    UNKNOWN,
    Pool,
    PoolKind,
    Subnet,
    Unknown,
)
from gpu_constructs.hardware import Architecture, InstanceType
from gpu_constructs.hardware.aws_limits import RESERVED_PORTS
from gpu_constructs.placement.agent import attributes_of, capability_settings, reserved_ports_of
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.host import ASSUMED_RESERVE_MIB
from gpu_constructs.placement.memo import Identical, by_identity
from gpu_constructs.placement.query import SUBNET, ZONE, AttributeValue, Beginning, Host, host_of
from gpu_constructs.values import dataclass

HostPlace: TypeAlias = tuple[tuple[str, AttributeValue], ...]
"""The attributes of ECS that say where a host is: its zone and its subnet, as far as they are known."""

_MOST_PLACES = 100
"""Subnets of different zones and ids that are told apart: each is held against every expression that asks for them."""
_NO_TYPE_TAKES = 1 << 20
_EVERY_TYPE_TAKES = 2
"""Network interfaces that even the smallest instance types take.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/AvailableIpPerENI.html
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon of the hosts of a pool, which comes before every other task.

    Attributes:
        name: How the user calls it.
        demand: What it asks for; None where its task is not known.
        is_certain: Whether it certainly is a daemon of these hosts.
        absent: Custom attributes that user data gives hosts of other pools, and the whole user data of these does not.
        runs_on: Names of the types on which it certainly runs.
        hardly_on: Names of those on which it does not, unless somebody gives their hosts an attribute by hand.
        never_on: Names of those on which it certainly does not.
    """

    name: str
    demand: Demand | None
    is_certain: bool
    absent: frozenset[str] = frozenset()
    runs_on: frozenset[str] = frozenset()
    hardly_on: frozenset[str] = frozenset()
    never_on: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolProfile:
    """What a pool offers to one task; equal to itself only.

    Attributes:
        instance_types: What it may launch.
        kind: What launches its hosts.
        reserved_mib: Memory in MiB that its agents keep for certain; unknown where they are given a number that only
            exists at deploy time.
        may_reserve_mib: Memory in MiB that they are expected to keep where no number is given.
        attributes: Custom attributes of its hosts, as far as its user data shows them.
        absent: Custom attributes that they do not have.
        places: Where a host may be.
        occupied: Network interfaces that a host has before any task.
        gives_interfaces: Whether its agents give tasks network interfaces, unless user data says that they do not.
        capability_settings: Settings with which its agents may leave out what they can do.
        reserved_ports: Ports of a host that its agent certainly keeps from tasks; unknown where only the deploy says.
        may_reserve_ports: Ports that it is expected to keep where nothing says which.
        is_linux: Whether its hosts certainly run Linux.
        smallest_decides: Whether managed scaling looks at the smallest type only.
        may_have_hosts: Whether hosts may run though managed scaling never launches one.
        unknown_types: Why its types are not all known; empty if they are.
        architecture: Processor architecture of its types; None if they differ or are not known.
        apart: Why no host takes a network interface of the tasks that it is offered to; empty if one may.
        daemons: What runs on each host before any other task; none as long as no fleet was asked for them.
    """

    instance_types: tuple[InstanceType, ...] = ()
    kind: PoolKind = PoolKind.AUTO_SCALING_GROUP
    reserved_mib: int | Unknown = ASSUMED_RESERVE_MIB
    may_reserve_mib: int = ASSUMED_RESERVE_MIB
    attributes: tuple[tuple[str, str], ...] = ()
    absent: frozenset[str] = frozenset()
    places: tuple[HostPlace, ...] = ((),)
    occupied: int = 1
    gives_interfaces: bool = True
    capability_settings: tuple[tuple[str, str], ...] = ()
    reserved_ports: frozenset[tuple[int, str]] | Unknown = frozenset()
    may_reserve_ports: frozenset[tuple[int, str]] = RESERVED_PORTS
    is_linux: bool = False
    smallest_decides: bool | Unknown = False
    may_have_hosts: bool = False
    unknown_types: str = ""
    architecture: Architecture | None = None
    apart: str = ""
    daemons: tuple[Daemon, ...] = ()

    def free_interfaces(self, instance_type: InstanceType, *, certain: bool = True) -> int:
        """Network interfaces of a host for tasks in network mode ``awsvpc``, without ENI trunking.

        https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-eni.html

        Args:
            instance_type: What the host is.
            certain: Whether only those count that it certainly has, where nothing says how many it takes.
        """
        if not self.gives_interfaces:
            return 0
        unknown = _EVERY_TYPE_TAKES if certain else _NO_TYPE_TAKES
        return max(0, (instance_type.network.max_interfaces or unknown) - self.occupied)

    def host(self, instance_type: InstanceType, place: HostPlace = ()) -> Host:
        """A host as a placement constraint sees it.

        Args:
            instance_type: What the host is.
            place: One of `places`.
        """
        linux = (("ecs.os-type", "linux"),) if self.is_linux else ()
        return host_of(instance_type, attributes=dict((*linux, *self.attributes, *place)), absent=self.absent)


@by_identity(maxsize=1 << 16)
def profile_of(pool: Pool) -> PoolProfile:
    """What a pool offers to one task."""
    reserved = pool.reserved_memory_mib
    ports, expected_ports = reserved_ports_of(pool.user_data)
    told = pool.user_data.get("ECS_RESERVED_MEMORY") is not None
    return _of_settings(
        Identical(*pool.instance_types),
        kind=pool.kind,
        reserved_mib=reserved if told else 0,
        # A text that is not known whole seldom hides this setting. It is a doubt only where it is written with a value
        # of the deploy; else what most hosts reserve is taken off what they are expected to register.
        may_reserve_mib=ASSUMED_RESERVE_MIB if isinstance(reserved, Unknown) else reserved,
        attributes=attributes_of(pool.user_data),
        places=_places(pool.region, pool.subnets),
        occupied=max(1, len(pool.interfaces)),
        # What user data says goes before what ecs-init sets, which is that they do: getContainerConfig in
        # ecs-init/docker/docker.go of github.com/aws/amazon-ecs-agent.
        gives_interfaces=not pool.user_data.turns_off(TASK_INTERFACES),
        capability_settings=capability_settings(pool.user_data),
        reserved_ports=ports,
        may_reserve_ports=expected_ports,
        is_linux=not isinstance(pool.image, Unknown),  # every image that is known runs Linux
        smallest_decides=_smallest_decides(pool),
        may_have_hosts=isinstance(pool.min_instances, Unknown) or pool.min_instances > 0,
        unknown_types=_unknown_types(pool),
    )


@lru_cache(maxsize=1024)
def _of_settings(types: Identical[InstanceType], **settings: Any) -> PoolProfile:  # noqa: ANN401 - the fields of an offer
    """One offer for all pools that are alike, so that what was found for one holds for the others."""
    architectures = {each.architecture for each in types.values}
    architecture = architectures.pop() if len(architectures) == 1 else None
    return PoolProfile(instance_types=types.values, architecture=architecture, **settings)


def _smallest_decides(pool: Pool) -> bool | Unknown:
    if pool.kind is not PoolKind.AUTO_SCALING_GROUP or not pool.has_provider:
        return False
    return pool.managed_scaling


def _unknown_types(pool: Pool) -> str:
    if pool.unknown_type_names:
        names = ", ".join(each[:40] for each in pool.unknown_type_names[:3])
        return f"{names} is not in the catalogue, so it is not known what such a host has"
    if pool.has_unknown_types or not pool.instance_types:
        return "instance types are only known at deploy time, so it is not known what a host has"
    return ""


@lru_cache(maxsize=1024)
def _places(region: str | None, subnets: tuple[Subnet, ...]) -> tuple[HostPlace, ...]:
    """Zones begin with their region: https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html."""
    somewhere: AttributeValue = UNKNOWN if region is None else Beginning(region)
    found = dict.fromkeys(((ZONE, each.zone or somewhere), (SUBNET, each.id or UNKNOWN)) for each in subnets)
    return tuple(found) if 0 < len(found) <= _MOST_PLACES else (((ZONE, somewhere),),)
