"""What was asked for? Pools of hosts, tasks, and the workloads that run them, in AWS's own words.

The constructs build these values and keep them, and `gpu_constructs.template` reads the same values out of
CloudFormation; everything that decides whether something fits reads them. Nothing in this room knows CDK, and importing
it starts no Node process.

Where things are: `pool`, `host` and `subnet` say what can be launched and where, `task` and `requirement` what is to
run, `workload` how many of it and where, `origin` where each was written, `unknown` what is only known at deploy time.
`purchase` and `group` say how hosts are bought and scaled, and `naming` finds a pool or a task by the name that a user
gives.
"""

from gpu_constructs.fleet.calls import (
    Gang,
    GangMember,
    JobQueue,
    Starter,
    Step,
    Submission,
)
from gpu_constructs.fleet.group import GroupSettings, HostUpdate, UpdateMethod, WarmPool
from gpu_constructs.fleet.host import (
    GPU_SUPPORT,
    INSTANCE_ATTRIBUTES,
    NAME_OF_DEPLOY,
    NO_USER_DATA,
    PIECE,
    RESERVED_TCP,
    RESERVED_UDP,
    TASK_INTERFACES,
    HostAction,
    LocalDiskUse,
    NetworkInterface,
    UserData,
    UserDataFormat,
)
from gpu_constructs.fleet.instance_requirements import InstanceRequirements, satisfies
from gpu_constructs.fleet.keys import (
    CHECKS_GPUS,
    DECLARED_IMAGE,
    DECLARED_TYPES,
    KEEPS_PROVIDERS,
    KEEPS_STRATEGY,
    METADATA_KEY,
    RESERVED_INSTANCES,
)
from gpu_constructs.fleet.launch_details import NOTHING_SAID, LaunchDetails, Volume
from gpu_constructs.fleet.origin import Origin, Place, SourceLine
from gpu_constructs.fleet.pool import HostImage, HostSetup, Pool, PoolKind, Shape, TypeChoice, values_of
from gpu_constructs.fleet.purchase import (
    BOUGHT_IN_ADVANCE,
    PARTLY_SPOT,
    RESERVATIONS_FIRST,
    RESERVATIONS_ONLY,
    Block,
    Bought,
    Distribution,
    PurchaseOption,
    Reservation,
)
from gpu_constructs.fleet.requirement import GPU, NEURON_DEVICE, GpuNeeds, NvidiaMps, ResourceRequirement
from gpu_constructs.fleet.role import SecretRead, TaskRole
from gpu_constructs.fleet.subnet import Subnet, written_subnet_id, written_zone
from gpu_constructs.fleet.task import (
    Container,
    Dependency,
    DockerVolume,
    EfsVolume,
    PlacementConstraint,
    Relations,
    Scheduler,
    Task,
)
from gpu_constructs.fleet.unknown import RESOLVED_LATER, UNKNOWN, Unknown, is_resolved_later, known, total
from gpu_constructs.fleet.workload import (
    STEPS_IN_PERCENT,
    ComputeEnvironment,
    Fleet,
    ProviderList,
    Remark,
    RemarkKind,
    ServiceScaling,
    StrategyItem,
    Workload,
)

__all__ = [
    "BOUGHT_IN_ADVANCE",
    "CHECKS_GPUS",
    "DECLARED_IMAGE",
    "DECLARED_TYPES",
    "GPU",
    "GPU_SUPPORT",
    "INSTANCE_ATTRIBUTES",
    "KEEPS_PROVIDERS",
    "KEEPS_STRATEGY",
    "METADATA_KEY",
    "NAME_OF_DEPLOY",
    "NEURON_DEVICE",
    "NOTHING_SAID",
    "NO_USER_DATA",
    "PARTLY_SPOT",
    "PIECE",
    "RESERVATIONS_FIRST",
    "RESERVATIONS_ONLY",
    "RESERVED_INSTANCES",
    "RESERVED_TCP",
    "RESERVED_UDP",
    "RESOLVED_LATER",
    "STEPS_IN_PERCENT",
    "TASK_INTERFACES",
    "UNKNOWN",
    "Block",
    "Bought",
    "ComputeEnvironment",
    "Container",
    "Dependency",
    "Distribution",
    "DockerVolume",
    "EfsVolume",
    "Fleet",
    "Gang",
    "GangMember",
    "GpuNeeds",
    "GroupSettings",
    "HostAction",
    "HostImage",
    "HostSetup",
    "HostUpdate",
    "InstanceRequirements",
    "JobQueue",
    "LaunchDetails",
    "LocalDiskUse",
    "NetworkInterface",
    "NvidiaMps",
    "Origin",
    "Place",
    "PlacementConstraint",
    "Pool",
    "PoolKind",
    "ProviderList",
    "PurchaseOption",
    "Relations",
    "Remark",
    "RemarkKind",
    "Reservation",
    "ResourceRequirement",
    "Scheduler",
    "SecretRead",
    "ServiceScaling",
    "Shape",
    "SourceLine",
    "Starter",
    "Step",
    "StrategyItem",
    "Submission",
    "Subnet",
    "Task",
    "TaskRole",
    "TypeChoice",
    "Unknown",
    "UpdateMethod",
    "UserData",
    "UserDataFormat",
    "Volume",
    "WarmPool",
    "Workload",
    "is_resolved_later",
    "known",
    "satisfies",
    "total",
    "values_of",
    "written_subnet_id",
    "written_zone",
]
