"""What a pool offers to one task: what a host registers, what user data tells its agent, and what the pool launches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gpu_constructs.errors import shown
from gpu_constructs.facts import Architecture, InstanceType, OperatingSystem, Vendor
from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU, MAX_USER_DATA_BYTES, PROMETHEUS_PORT, RESERVED_PORTS
from gpu_constructs.facts.values import Identical, by_identity, dataclass
from gpu_constructs.fleet import (
    INSTANCE_ATTRIBUTES,
    RESERVED_TCP,
    RESERVED_UDP,
    TASK_INTERFACES,
    UNKNOWN,
    Pool,
    PoolKind,
    Subnet,
    Unknown,
    UserData,
    known,
)
from gpu_constructs.placement.demand import LOG_DRIVER, Demand
from gpu_constructs.placement.query.evaluate import SUBNET, ZONE, AttributeValue, Beginning, Host, host_of

if TYPE_CHECKING:
    from fractions import Fraction

ASSUMED_RESERVE_MIB = 256
"""Memory that is taken for kept by the agent, the SSM agent and the driver's daemons where nothing says how much.

The agent subtracts ``ECS_RESERVED_MEMORY`` from the memory it registers
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html).
"""

_SYSTEM_SHARE_PERCENT = 7.5
"""Part of the nominal memory that firmware and kernel may keep.

No API shows it before a host runs. Karpenter's default for the same question is 7.5 %
(``vm-memory-overhead-percent``, https://karpenter.sh/docs/reference/settings/); small types come near it, large ones
keep far less, so it is used for defaults and warnings and never for an error.
"""

_GPU_HOST_SHARE_PERCENT = 6
"""The same of hosts with GPUs of NVIDIA, none of which was measured to keep more than 5.3 %.

https://github.com/pytorch/ci-infra/pull/910 (a fleet, 1.7 to 5.3 %), and pkg/providers/instancetype/
zz_generated.memory_overhead.go of https://github.com/aws/karpenter-provider-aws/tree/15e87699c9922be5431e71225f54e6716fa48428
(g4dn.xlarge 4.3 %, g5.xlarge 3.6 %, g5g.xlarge 5.1 %). A host that is measured registers more, so it is for warnings.
"""

_SHARED_MARGIN_PERCENT = 8
"""Part of a GPU's nominal memory that may not be there to share.

What ECS counts is ``totalMemoryInMiB`` of a running host
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_GpuDevice.html), which no API shows before. The driver
keeps some, and error correction on GDDR memory takes one sixteenth: a T4 of 16384 MiB shows 15360. A heuristic for
doubts, never for a refusal.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """CPU in units of 1024 to a vCPU and memory, such as what belongs to a number of GPUs on the smallest host."""

    cpu: int = 0
    memory_mib: int = 0


NOTHING_KEPT = FairShare()
"""What daemons keep of a host that has none."""


def most_memory_mib(instance_type: InstanceType, reserved_mib: int = ASSUMED_RESERVE_MIB) -> int:
    """The most that a host of this type can register, in MiB: less than nominal, and less what the agent reserves.

    Firmware and the kernel keep some of it on every host
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html).
    """
    return instance_type.memory_mib - 1 - reserved_mib


def planned_memory_mib(instance_type: InstanceType) -> int:
    """Memory of a host, in MiB, that defaults share out; nothing is judged by it, see `least_memory_mib`."""
    return int(instance_type.memory_mib * (100 - _SYSTEM_SHARE_PERCENT) / 100) - ASSUMED_RESERVE_MIB


def least_memory_mib(instance_type: InstanceType, reserved_mib: int = ASSUMED_RESERVE_MIB) -> int:
    """What a host of this type is expected to register at least, in MiB: by this, all that is written is judged."""
    share = _GPU_HOST_SHARE_PERCENT if instance_type.vendor is Vendor.NVIDIA else _SYSTEM_SHARE_PERCENT
    return int(instance_type.memory_mib * (100 - share) / 100) - reserved_mib


def expected_shareable_mib(gpu_memory_mib: int) -> int:
    """What one GPU is expected to have at least for containers that share it through MPS, in MiB."""
    return gpu_memory_mib * (100 - _SHARED_MARGIN_PERCENT) // 100


def cpu_units(instance_type: InstanceType) -> int:
    """CPU units that a host of this type registers."""
    return instance_type.vcpus * CPU_UNITS_PER_VCPU


def share_of(parts: Mapping[InstanceType, Fraction], kept: FairShare = NOTHING_KEPT) -> FairShare:
    """The CPU and memory that go with a part of each type, once daemons have what they keep; the smallest of them.

    Memory is a part of `planned_memory_mib`.
    """
    return FairShare(
        cpu=min(int((cpu_units(each) - kept.cpu) * part) for each, part in parts.items()),
        memory_mib=min(int((planned_memory_mib(each) - kept.memory_mib) * part) for each, part in parts.items()),
    )


_LOG_DRIVERS: Final = "ECS_AVAILABLE_LOGGING_DRIVERS"
# What ecs-init sets where user data does not (getContainerConfig in ecs-init/docker/docker.go), and what the agent
# takes where it reads no list (DefaultConfig in agent/config/config_unix.go).
_OF_INIT: Final = '["json-file","syslog","awslogs","fluentd","none"]'
_OF_AGENT = ["json-file", "none"]
# Which value of which variable leaves out what an agent can do: `capabilities` in agent/app/agent_capability.go of
# github.com/aws/amazon-ecs-agent. What user data says goes before what ecs-init sets.
_SWITCHES = {
    "privileged-container": ("ECS_DISABLE_PRIVILEGED", frozenset({"true", "1", "t"})),
    "task-iam-role": ("ECS_ENABLE_TASK_IAM_ROLE", frozenset({"false", "0", "f"})),
    "task-iam-role-network-host": ("ECS_ENABLE_TASK_IAM_ROLE_NETWORK_HOST", frozenset({"false", "0", "f"})),
}


def capability_settings(pool: Pool) -> tuple[tuple[str, str | Unknown], ...]:
    """What decides what agents leave out; the log drivers are unknown where something else may set them."""
    variables = {_LOG_DRIVERS, *(variable for variable, _ in _SWITCHES.values())}
    told: dict[str, str | Unknown] = {
        name: value for name, value in pool.user_data.agent if name in variables and isinstance(value, str)
    }
    if not pool.runs_launch_type_ec2:  # AWS Batch sets them itself, and a list may go before its own
        told = {name: value for name, value in told.items() if name != _LOG_DRIVERS or _listed(value)}
    elif _LOG_DRIVERS not in told:
        is_default = pool.never_sets(_LOG_DRIVERS) and pool.operating_system is not OperatingSystem.BOTTLEROCKET
        told[_LOG_DRIVERS] = _OF_INIT if is_default else UNKNOWN
    return tuple(sorted(told.items()))


@lru_cache(maxsize=4096)
def left_out(
    capabilities: tuple[str, ...], settings: tuple[tuple[str, str | Unknown], ...]
) -> tuple[tuple[str, str, bool], ...]:
    """Those capabilities that agents with these settings lack, or may lack, each with why and whether it is certain."""
    told, found = dict(settings), []
    written = told.get(_LOG_DRIVERS)
    is_known, listed = isinstance(written, str), _listed(_OF_INIT if isinstance(written, Unknown) else written)
    why = "does not list it" if listed else f"is {shown(written)}, which is no list in JSON"
    for each in capabilities:
        variable, values = _SWITCHES.get(each, ("", frozenset[str]()))
        if str(told.get(variable, "")).strip().lower() in values:
            found.append((each, variable, True))
        driver = each.removeprefix(LOG_DRIVER)
        if driver != each and written is not None and driver not in (listed or _OF_AGENT):
            found.append((each, f"{_LOG_DRIVERS} {why if is_known else 'may not list it'}", is_known))
    return tuple(found)


def _listed(written: str | Unknown | None) -> list[object]:
    """The first value of a text where it is a list in JSON, as the agent reads it; an empty list counts as none."""
    with suppress(ValueError, RecursionError):
        read = json.JSONDecoder().raw_decode(written.lstrip())[0] if isinstance(written, str) else None
        return read if isinstance(read, list) else []
    return []


def is_object_of_texts(written: str) -> bool:
    """Whether the agent can read a setting that is an object of texts; it does not start with another one."""
    read = {} if written in {"", "null"} else _json(written)
    return isinstance(read, dict) and all(value is None or isinstance(value, str) for value in read.values())


def attributes_of(user_data: UserData) -> tuple[tuple[str, str], ...]:
    """``ECS_INSTANCE_ATTRIBUTES``, a JSON object of names and values; nothing where it is something else.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html
    """
    read = _json(user_data.get(INSTANCE_ATTRIBUTES))
    if not isinstance(read, dict):
        return ()
    # Names that begin with "ecs." are ECS's own.
    return tuple((name, value) for name, value in read.items() if isinstance(value, str) and name[:4] != "ecs.")


def reserved_ports_of(user_data: UserData) -> tuple[frozenset[tuple[int, str]] | Unknown, frozenset[tuple[int, str]]]:
    """Ports that agents certainly keep, and those that they are expected to: of TCP what is written, or the usual ones.

    An empty list counts as none: ``ZeroOrNil`` in agent/utils of github.com/aws/amazon-ecs-agent.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html
    """
    certain: set[tuple[int, str]] = set()
    expected: set[tuple[int, str]] = set()
    for variable, protocol in ((RESERVED_TCP, "tcp"), (RESERVED_UDP, "udp")):
        written = user_data.get(variable)
        ports = _json(written)
        if written is not None and not (isinstance(ports, list) and all(type(each) is int for each in ports)):
            return UNKNOWN, RESERVED_PORTS
        if isinstance(ports, list) and ports:
            certain |= {(each, protocol) for each in ports}
        else:
            expected |= {each for each in RESERVED_PORTS if each[1] == protocol}
    return frozenset(certain), frozenset(certain | expected)


def _json(text: str | Unknown | None) -> object:
    """What a setting in JSON says; None where that cannot be read."""
    if not isinstance(text, str) or len(text) > MAX_USER_DATA_BYTES:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
        demand: What it asks for; None where its task is not known.
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
        vcpus: vCPUs that are left of those of its types; None if all are.
        reserved_mib: Memory in MiB that its agents keep for certain; unknown where they are given a number that only
            exists at deploy time.
        may_reserve_mib: Memory in MiB that they are expected to keep where no number is given.
        attributes: Custom attributes of its hosts, as far as its user data shows them.
        absent: Custom attributes that they do not have.
        occupied: Network interfaces that a host has before any task.
        gives_interfaces: Whether its agents give tasks network interfaces, unless user data says that they do not.
        capability_settings: Settings with which its agents leave out, or may leave out, what they can do.
        reserved_ports: Ports of a host that its agent certainly keeps from tasks; unknown where only the deploy says.
        may_reserve_ports: Ports that it is expected to keep where nothing says which.
        smallest_decides: Whether managed scaling looks at the smallest type only.
        may_have_hosts: Whether hosts may run though managed scaling never launches one.
        unknown_types: Why its types are not all known; empty if they are.
        architecture: Processor architecture of its types; None if they differ or are not known.
        apart: Why no host takes a network interface of the tasks that it is offered to; empty if one may.
        daemons: What runs on each host before any other task; none as long as no fleet was asked for them.
    """

    instance_types: tuple[InstanceType, ...] = ()
    kind: PoolKind = PoolKind.AUTO_SCALING_GROUP
    vcpus: int | Unknown | None = None
    reserved_mib: int | Unknown = ASSUMED_RESERVE_MIB
    may_reserve_mib: int = ASSUMED_RESERVE_MIB
    attributes: tuple[tuple[str, str], ...] = ()
    absent: frozenset[str] = frozenset()
    places: tuple[HostPlace, ...] = ((),)
    occupied: int = 1
    gives_interfaces: bool = True
    capability_settings: tuple[tuple[str, str | Unknown], ...] = ()
    reserved_ports: frozenset[tuple[int, str]] | Unknown = frozenset()
    may_reserve_ports: frozenset[tuple[int, str]] = RESERVED_PORTS
    is_linux: bool = False
    smallest_decides: bool | Unknown = False
    may_have_hosts: bool = False
    unknown_types: str = ""
    architecture: Architecture | None = None
    apart: str = ""
    daemons: tuple[Daemon, ...] = ()

    def cpu(self, instance_type: InstanceType, *, certain: bool = True) -> int:
        """CPU units that an agent registers: of the processors that its host has (``runtime.NumCPU``, agent/api)."""
        most = instance_type.vcpus if self.vcpus is None else known(self.vcpus, 1 if certain else instance_type.vcpus)
        return min(cpu_units(instance_type), most * CPU_UNITS_PER_VCPU)

    def free_interfaces(self, instance_type: InstanceType, *, certain: bool = True) -> int:
        """Network interfaces of a host for tasks in network mode ``awsvpc``, without ENI trunking: certain, or at most.

        https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-eni.html
        """
        if not self.gives_interfaces:
            return 0
        unknown = _EVERY_TYPE_TAKES if certain else _NO_TYPE_TAKES
        return max(0, (instance_type.network.max_interfaces or unknown) - self.occupied)

    def host(self, instance_type: InstanceType, place: HostPlace = ()) -> Host:
        """A host as a placement constraint sees it, in one of `places`."""
        linux = (("ecs.os-type", "linux"),) if self.is_linux else ()
        return host_of(instance_type, attributes=dict((*linux, *self.attributes, *place)), absent=self.absent)


@by_identity(maxsize=1 << 16)
def profile_of(pool: Pool) -> PoolProfile:
    """What a pool offers to one task."""
    reserved = pool.reserved_memory_mib
    ports, expected_ports = reserved_ports_of(pool.user_data)
    told = pool.user_data.get("ECS_RESERVED_MEMORY") is not None
    may_scale = pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.has_provider
    return _of_settings(
        Identical(*pool.instance_types),
        kind=pool.kind,
        vcpus=pool.vcpus,
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
        capability_settings=capability_settings(pool),
        reserved_ports=expected_ports - {PROMETHEUS_PORT} if pool.never_sets(RESERVED_TCP) else ports,
        may_reserve_ports=expected_ports,
        is_linux=not isinstance(pool.image, Unknown),  # every image that is known runs Linux
        smallest_decides=may_scale and pool.managed_scaling,
        may_have_hosts=isinstance(pool.min_instances, Unknown) or pool.min_instances > 0,
        unknown_types=_unknown_types(pool),
    )


@lru_cache(maxsize=1024)
def _of_settings(types: Identical[InstanceType], **settings: Any) -> PoolProfile:  # noqa: ANN401 - the fields of an offer
    """One offer for all pools that are alike, so that what was found for one holds for the others."""
    architectures = {each.architecture for each in types.values}
    architecture = architectures.pop() if len(architectures) == 1 else None
    return PoolProfile(instance_types=types.values, architecture=architecture, **settings)


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
