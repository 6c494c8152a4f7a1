"""What was asked for? Pools of hosts, tasks, and the workloads that run them, in AWS's own words.

The constructs build these values and keep them, and `gpu_constructs.template` reads the same values out of
CloudFormation; everything that decides whether something fits reads them. Nothing in this room knows CDK, and importing
it starts no Node process.

Where things are: `pool` and `host` say what can be launched, `purchase` how hosts are bought, `task` and `requirement`
what is to run, `workload` how many of it and where, and which pool or task a name means, `calls` what starts work that
ends, `origin` where each was written, `keys` which keys of templates are this library's own, `unknown`
what is only known at deploy time. Each thing has the name that its user calls it by, which nothing else of its kind
in a fleet has, and its `origin`, where it was written. A text is as it was written, and None where nothing was.
"""

from gpu_constructs.fleet.calls import JobQueue as JobQueue
from gpu_constructs.fleet.calls import Starter as Starter
from gpu_constructs.fleet.calls import Step as Step
from gpu_constructs.fleet.calls import Submission as Submission
from gpu_constructs.fleet.host import GPU_SUPPORT as GPU_SUPPORT
from gpu_constructs.fleet.host import INSTANCE_ATTRIBUTES as INSTANCE_ATTRIBUTES
from gpu_constructs.fleet.host import NAME_OF_DEPLOY as NAME_OF_DEPLOY
from gpu_constructs.fleet.host import NO_USER_DATA as NO_USER_DATA
from gpu_constructs.fleet.host import PIECE as PIECE
from gpu_constructs.fleet.host import RESERVED_TCP as RESERVED_TCP
from gpu_constructs.fleet.host import RESERVED_UDP as RESERVED_UDP
from gpu_constructs.fleet.host import TASK_INTERFACES as TASK_INTERFACES
from gpu_constructs.fleet.host import HostAction as HostAction
from gpu_constructs.fleet.host import LocalDiskUse as LocalDiskUse
from gpu_constructs.fleet.host import NetworkInterface as NetworkInterface
from gpu_constructs.fleet.host import UserData as UserData
from gpu_constructs.fleet.host import UserDataFormat as UserDataFormat
from gpu_constructs.fleet.host import without_comments as without_comments
from gpu_constructs.fleet.keys import DECLARED_IMAGE as DECLARED_IMAGE
from gpu_constructs.fleet.keys import DECLARED_TYPES as DECLARED_TYPES
from gpu_constructs.fleet.keys import EXISTS as EXISTS
from gpu_constructs.fleet.keys import KEEPS_PROVIDERS as KEEPS_PROVIDERS
from gpu_constructs.fleet.keys import KEEPS_STRATEGY as KEEPS_STRATEGY
from gpu_constructs.fleet.keys import METADATA_KEY as METADATA_KEY
from gpu_constructs.fleet.keys import RESERVED_INSTANCES as RESERVED_INSTANCES
from gpu_constructs.fleet.keys import STAYS as STAYS
from gpu_constructs.fleet.origin import Blocked as Blocked
from gpu_constructs.fleet.origin import Origin as Origin
from gpu_constructs.fleet.origin import Place as Place
from gpu_constructs.fleet.origin import SourceLine as SourceLine
from gpu_constructs.fleet.origin import Subnet as Subnet
from gpu_constructs.fleet.origin import WayOut as WayOut
from gpu_constructs.fleet.origin import written_subnet_id as written_subnet_id
from gpu_constructs.fleet.origin import written_zone as written_zone
from gpu_constructs.fleet.pool import GroupSettings as GroupSettings
from gpu_constructs.fleet.pool import HostImage as HostImage
from gpu_constructs.fleet.pool import HostSetup as HostSetup
from gpu_constructs.fleet.pool import HostUpdate as HostUpdate
from gpu_constructs.fleet.pool import Pool as Pool
from gpu_constructs.fleet.pool import PoolKind as PoolKind
from gpu_constructs.fleet.pool import Shape as Shape
from gpu_constructs.fleet.pool import TypeChoice as TypeChoice
from gpu_constructs.fleet.pool import UpdateMethod as UpdateMethod
from gpu_constructs.fleet.pool import WarmPool as WarmPool
from gpu_constructs.fleet.pool import values_of as values_of
from gpu_constructs.fleet.purchase import BOUGHT_IN_ADVANCE as BOUGHT_IN_ADVANCE
from gpu_constructs.fleet.purchase import PARTLY_SPOT as PARTLY_SPOT
from gpu_constructs.fleet.purchase import RESERVATIONS_FIRST as RESERVATIONS_FIRST
from gpu_constructs.fleet.purchase import RESERVATIONS_ONLY as RESERVATIONS_ONLY
from gpu_constructs.fleet.purchase import Block as Block
from gpu_constructs.fleet.purchase import Bought as Bought
from gpu_constructs.fleet.purchase import Distribution as Distribution
from gpu_constructs.fleet.purchase import InstanceRequirements as InstanceRequirements
from gpu_constructs.fleet.purchase import PurchaseOption as PurchaseOption
from gpu_constructs.fleet.purchase import Reservation as Reservation
from gpu_constructs.fleet.purchase import satisfies as satisfies
from gpu_constructs.fleet.requirement import GPU as GPU
from gpu_constructs.fleet.requirement import NEURON_DEVICE as NEURON_DEVICE
from gpu_constructs.fleet.requirement import GpuNeeds as GpuNeeds
from gpu_constructs.fleet.requirement import NvidiaMps as NvidiaMps
from gpu_constructs.fleet.requirement import ResourceRequirement as ResourceRequirement
from gpu_constructs.fleet.task import Container as Container
from gpu_constructs.fleet.task import Dependency as Dependency
from gpu_constructs.fleet.task import PlacementConstraint as PlacementConstraint
from gpu_constructs.fleet.task import Relations as Relations
from gpu_constructs.fleet.task import Scheduler as Scheduler
from gpu_constructs.fleet.task import Task as Task
from gpu_constructs.fleet.unknown import RESOLVED_LATER as RESOLVED_LATER
from gpu_constructs.fleet.unknown import UNKNOWN as UNKNOWN
from gpu_constructs.fleet.unknown import Unknown as Unknown
from gpu_constructs.fleet.unknown import all_of as all_of
from gpu_constructs.fleet.unknown import is_resolved_later as is_resolved_later
from gpu_constructs.fleet.unknown import known as known
from gpu_constructs.fleet.unknown import total as total
from gpu_constructs.fleet.workload import STEPS_IN_PERCENT as STEPS_IN_PERCENT
from gpu_constructs.fleet.workload import ComputeEnvironment as ComputeEnvironment
from gpu_constructs.fleet.workload import Fleet as Fleet
from gpu_constructs.fleet.workload import ProviderList as ProviderList
from gpu_constructs.fleet.workload import Remark as Remark
from gpu_constructs.fleet.workload import ServiceScaling as ServiceScaling
from gpu_constructs.fleet.workload import StrategyItem as StrategyItem
from gpu_constructs.fleet.workload import Workload as Workload
