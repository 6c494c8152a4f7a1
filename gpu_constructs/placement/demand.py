"""What one copy of a task asks of its host, taken together once so that many hosts can be asked about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from gpu_constructs.facts import Architecture, known_type
from gpu_constructs.facts.values import by_identity, dataclass
from gpu_constructs.fleet import GPU, NEURON_DEVICE, UNKNOWN, PlacementConstraint, Scheduler, Task, Unknown, known

MEMBER_OF = "memberOf"
A_CONSTRAINT = "a placement constraint"
LOG_DRIVER = "logging-driver."
"""How the attribute of a log driver begins that the agent of a host can write to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one copy of a task asks of its host; of what is unknown only what is certain.

    Attributes:
        gpus: Whole GPUs at least: those that are known, and one for ``ALL``, for a number that is not, and for MPS.
        summed_gpus: Whole GPUs on top of those, if ECS adds up several entries of one container, which no page says.
        part: The part of a GPU that its containers ask for; 0 if none, and for AWS Batch, which knows whole GPUs only.
        may_be_part: Whether no number of GPUs is known, so that each may be a part of one.
        shared_memory_mib: Memory of one GPU that its containers share through MPS; None if none does.
        neuron: Whether it asks for Neuron devices as a resource.
        neuron_devices: Neuron devices that it is given by path, up to the highest.
        host_ports: Ports of the host that it takes, with their protocol; in network mode ``awsvpc`` it has all ports to
            itself.
        is_network_unknown: Whether its network mode is only known at deploy time, so that it may have an interface and
            its own ports.
        architecture: What its image is built for, where it says so.
        capabilities: What the agent of its host must be able to do, of that which user data can leave out.
        expressions: Cluster queries that its host must satisfy, all of them.
        node_type: The one instance type that its hosts must have, which the nodes of a job name; None for any.
        unknown: What of it is only known at deploy time, in the words of CloudFormation.
    """

    gpus: int = 0
    summed_gpus: int = 0
    part: float = 0
    all_gpus: bool = False
    may_be_part: bool = False
    shared_memory_mib: int | None = None
    neuron: bool = False
    neuron_devices: int = 0
    cpu: int = 0
    memory_mib: int = 0
    interfaces: int = 0
    host_ports: frozenset[tuple[int, str]] = frozenset()
    is_network_unknown: bool = False
    architecture: Architecture | None = None
    windows: bool = False
    capabilities: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    node_type: str | None = None
    unknown: tuple[str, ...] = ()

    @property
    def certain_ports(self) -> frozenset[tuple[int, str]]:
        """Ports of the host that it certainly takes."""
        return frozenset() if self.is_network_unknown else self.host_ports

    @property
    def gets_accelerator(self) -> bool:
        """Whether it gets a GPU, a part of one, or Neuron devices; a number of 0, or a mistaken one, gets none."""
        return bool(self.gpus or self.part or self.neuron or self.neuron_devices)

    @property
    def has_numbers_only(self) -> bool:
        """Whether GPUs, CPU, memory and interfaces decide where it fits, besides architecture and queries."""
        special = (
            self.summed_gpus
            or self.part
            or self.all_gpus
            or self.shared_memory_mib is not None
            or self.neuron
            or self.neuron_devices
            or self.node_type
        )
        return not (special or self.windows or self.unknown)


@by_identity(maxsize=1 << 16)
def _of_task(task: Task) -> Demand:
    containers = task.containers
    entries = [each for container in containers for each in container.requirements]
    gpus = [each for each in entries if each.type == GPU]
    counts = [[known(each.devices, otherwise=1) for each in container.gpu_requirements] for container in containers]
    certain = [
        sum(each) if container.takes_all_gpus else max(each, default=0)
        for container, each in zip(containers, counts, strict=True)
    ]
    shares = [each.nvidia_mps for each in gpus if each.nvidia_mps is not None]
    cpu = [each.cpu for each in containers] if task.cpu_limit is None else [task.cpu_limit]
    memory = [each.memory_mib for each in containers] if task.memory_limit_mib is None else [task.memory_limit_mib]
    shared = [each.memory_mib for each in shares if each.memory_mib is not None]
    doubtful = {
        "ResourceRequirements": any(isinstance(each.value, Unknown) for each in gpus)
        or any(isinstance(each.type, Unknown) for each in entries),
        "the GPU memory of nvidiaMps": UNKNOWN in shared,
        "Cpu": UNKNOWN in cpu,
        "Memory": UNKNOWN in memory,
        "the architecture": isinstance(task.architecture, Unknown),
        A_CONSTRAINT: _has_unknown(task.constraints),
    }
    demand = Demand(
        gpus=sum(certain) + bool(shares),
        summed_gpus=sum(map(sum, counts)) - sum(certain),
        part=0 if task.scheduler is Scheduler.BATCH else sum(each.part or 0 for each in gpus),
        all_gpus=any(each.is_all for each in gpus),
        may_be_part=task.scheduler is not Scheduler.BATCH and all(isinstance(each.value, Unknown) for each in gpus),
        shared_memory_mib=sum(map(known, shared)) if shares else None,
        neuron=any(each.type == NEURON_DEVICE for each in entries),
        neuron_devices=max((each.neuron_devices for each in containers), default=0),
        cpu=sum(map(known, cpu)),
        memory_mib=sum(map(known, memory)),
        interfaces=task.interfaces,
        host_ports=frozenset() if task.network_mode == "awsvpc" else task.host_ports,
        is_network_unknown=isinstance(task.network_mode, Unknown),
        architecture=None if isinstance(task.architecture, Unknown) else task.architecture,
        windows=isinstance(task.operating_system, str) and task.operating_system.upper().startswith("WINDOWS"),
        capabilities=_capabilities_of(task),
        expressions=tuple(_expressions(task.constraints)),
        node_type=node_type_of(task),
        unknown=tuple(label for label, is_unknown in doubtful.items() if is_unknown),
    )
    return _the_same(demand)


@lru_cache(maxsize=1 << 16)
def _the_same(demand: Demand) -> Demand:
    """One object for all tasks that ask for the same, so that what was found for one holds for the others."""
    return demand


def demand_of(task: Task, constraints: Sequence[PlacementConstraint] = ()) -> Demand:
    """What one copy of a task asks of its host."""
    demand = _of_task(task)
    if not constraints:
        return demand
    more = tuple(_expressions(constraints))
    doubtful = _has_unknown(constraints)
    if not more and not doubtful:
        return demand
    unknown = dict.fromkeys((*demand.unknown, *((A_CONSTRAINT,) if doubtful else ())))
    expressions = tuple(dict.fromkeys((*demand.expressions, *more)))
    return _the_same(replace(demand, expressions=expressions, unknown=tuple(unknown)))


def node_type_of(task: Task) -> str | None:
    """The one instance type that all hosts of a multi-node job with accelerators must have.

    None where it names none, and for a bare metal type, which a family in InstanceTypes may or may not have. All nodes
    of a job have one type: https://docs.aws.amazon.com/batch/latest/userguide/mnp-node-groups.html.
    """
    name = task.node_types[0] if len(task.node_types) == 1 and task.wants_accelerator else None
    listed = known_type(name) if isinstance(name, str) else None
    return name if isinstance(name, str) and not (listed is not None and listed.bare_metal) else None


def _expressions(constraints: Iterable[PlacementConstraint]) -> Iterator[str]:
    return (each.expression for each in constraints if each.type == MEMBER_OF and isinstance(each.expression, str))


def _has_unknown(constraints: Iterable[PlacementConstraint]) -> bool:
    return any(isinstance(each.type, Unknown) or isinstance(each.expression, Unknown) for each in constraints)


def _capabilities_of(task: Task) -> tuple[str, ...]:
    """What the agent of its host must be able to do of that which user data can leave out.

    ECS places a task where an agent registered all of it: ``requiresAttributes`` of
    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_TaskDefinition.html
    """
    # Every agent registers awsfirelens, whatever is listed.
    drivers = {each.relations.log_driver for each in task.containers} - {None, "awsfirelens"}
    role = {"host": "task-iam-role-network-host", "bridge": "task-iam-role", "awsvpc": "task-iam-role"}
    mode = task.network_mode if isinstance(task.network_mode, str) else ""
    return (
        *sorted(f"{LOG_DRIVER}{each}" for each in drivers if isinstance(each, str)),
        *(["privileged-container"] if any(each.privileged is True for each in task.containers) else []),
        *([role[mode]] if task.has_task_role is True and mode in role else []),
    )
