"""A task: what its containers ask of a host."""

from __future__ import annotations

import re
from dataclasses import field
from enum import Enum
from posixpath import commonpath, normpath

from gpu_constructs.facts import Architecture
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet.origin import Origin
from gpu_constructs.fleet.requirement import GPU, NEURON_DEVICE, GpuNeeds, NvidiaMps, ResourceRequirement
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown, known, total

_NEURON_PATH = re.compile(r"/dev/neuron([0-9]{1,3})")


class Scheduler(Enum):
    """Who places a task."""

    ECS = "Amazon ECS"
    BATCH = "AWS Batch"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementConstraint:
    """One placement constraint of a task definition or a service.

    Attributes:
        type: ``memberOf``, ``distinctInstance``, or whatever else was written.
        expression: The cluster query, as written; None if there is none.
    """

    type: str | Unknown
    expression: str | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """What a container waits for before it starts.

    Attributes:
        condition: ``START``, ``COMPLETE``, ``SUCCESS`` or ``HEALTHY`` as written; empty if nothing was.
    """

    container: str
    condition: str | Unknown = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """What a container refers to in its task, and what it does for the other containers; only templates say so.

    Attributes:
        depends_on: The containers that it waits for, as far as their names are known.
        mounts: Names of the volumes that it mounts, as far as they are known.
        has_volumes_of_others: Whether it mounts volumes of another container, or may.
    """

    depends_on: tuple[Dependency, ...] = ()
    mounts: tuple[str, ...] = ()
    mount_paths: tuple[str | Unknown, ...] = ()
    has_volumes_of_others: bool = False
    log_driver: str | Unknown | None = None

    def may_mount(self, path: str) -> bool:
        """Whether a volume may be at a path of the container, above it or in it."""
        # As Linux reads them; of two slashes at its begin, normpath would keep both.
        wanted, *there = (normpath(f"///{each}") for each in (path, *self.mount_paths))
        is_open = self.has_volumes_of_others or UNKNOWN in self.mount_paths
        return is_open or any(commonpath([wanted, each]) in {wanted, each} for each in there)


_NO_RELATIONS = Relations()


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of a task definition.

    Attributes:
        name: Its name; empty if none was written.
        requirements: What ECS reserves of the host's accelerators, as written.
        cpu: CPU units, 1024 to a vCPU; 0 asks for nothing.
        memory_limit_mib: Memory in MiB above which it is stopped; None sets no limit.
        memory_reservation_mib: Memory in MiB that is kept for it; None keeps the limit.
        shared_memory_mib: Size of ``/dev/shm`` in MiB; None is Docker's 64.
        host_ports: Ports of the host that it takes for itself, with their protocol: ``(8080, "tcp")``; one that is
            written twice is here twice.
        port_mappings: Ports of the container, each with the port of the host that it has, 0 for a dynamic one; unknown
            where one of them is, or a range. Only templates say so.
        stop_timeout_seconds: Seconds that it has to stop before it is killed; None is the agent's default of 30.
        devices: Paths of host devices that it is given, such as ``/dev/neuron0``.
        may_have_other_devices: Whether it may have more than these: it is privileged, or they are not all known. Only
            templates say so.
        privileged: Whether it has the privileges of its host; only templates say so.
        environment: Names and values of its variables, in order of name; a value may be unknown.
        built_for: The processor that its image is built for; None where nothing says. Only files say so.
        entry_point: Words in place of the entry point of its image; empty for that.
        command: Words in place of the command of its image; empty for that.
        unknown_keys: Keys that ask for GPUs and that the API does not have, such as ``gpuCount``.
        used_keys: Settings that some launch types refuse, such as ``LinuxParameters.SharedMemorySize``.
        has_health_check: Whether it has a health check of its own; that of its image does not count.
        has_open_name: Whether its name is only known at deploy time; it is then called something else here.
    """

    name: str
    requirements: tuple[ResourceRequirement, ...] = ()
    needs: GpuNeeds | None = None
    cpu: int | Unknown = 0
    memory_limit_mib: int | Unknown | None = None
    memory_reservation_mib: int | Unknown | None = None
    shared_memory_mib: int | Unknown | None = None
    host_ports: tuple[tuple[int, str], ...] = ()
    port_mappings: tuple[tuple[int, int], ...] | Unknown = field(default=UNKNOWN, compare=False)
    stop_timeout_seconds: int | Unknown | None = None
    devices: tuple[str, ...] = ()
    may_have_other_devices: bool = field(default=True, compare=False)
    privileged: bool | Unknown = field(default=UNKNOWN, compare=False)
    environment: tuple[tuple[str, str | Unknown], ...] = ()
    image: str | Unknown | None = field(default=None, compare=False)
    built_for: Architecture | None = field(default=None, compare=False)
    entry_point: tuple[str | Unknown, ...] = ()
    command: tuple[str | Unknown, ...] = field(default=(), compare=False)
    unknown_keys: tuple[str, ...] = ()
    used_keys: tuple[str, ...] = field(default=(), compare=False)
    relations: Relations = field(default=_NO_RELATIONS, compare=False)
    has_health_check: bool | Unknown = field(default=UNKNOWN, compare=False)
    has_open_name: bool = False
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def gpu_requirements(self) -> tuple[ResourceRequirement, ...]:
        """Its entries of type ``GPU``."""
        return tuple([each for each in self.requirements if each.type == GPU])  # a list is faster than a generator

    @property
    def gpus(self) -> int | Unknown:
        """Whole GPUs that ECS reserves for it alone; unknown where it takes all, or a number that is a token."""
        return total(each.devices for each in self.gpu_requirements)

    @property
    def gpu_part(self) -> float:
        """The part of a GPU that it asks for on a host that has only that; 0 if none."""
        return sum(each.part or 0 for each in self.gpu_requirements)

    @property
    def takes_all_gpus(self) -> bool:
        """Whether it asks for every GPU of its host."""
        return any(each.is_all for each in self.gpu_requirements)

    @property
    def mps(self) -> tuple[NvidiaMps, ...]:
        """Its shares of a GPU through MPS."""
        return tuple(each.nvidia_mps for each in self.gpu_requirements if each.nvidia_mps is not None)

    @property
    def wants_gpu(self) -> bool:
        """Whether it asks for a GPU or a part of one in any form, a mistaken one among them."""
        return bool(self.gpu_requirements)

    @property
    def wants_accelerator(self) -> bool:
        """Whether it asks for a GPU in any form, whatever the number, or for Neuron devices, by name or by path."""
        return self.wants_gpu or self.wants_neuron

    @property
    def wants_neuron(self) -> bool:
        """Whether it asks for Neuron devices, by name or by path."""
        return self.neuron_devices > 0 or any(each.type == NEURON_DEVICE for each in self.requirements)

    @property
    def neuron_devices(self) -> int:
        """Neuron devices that it is given by path, up to the highest."""
        return max((int(each[1]) + 1 for each in map(_NEURON_PATH.fullmatch, self.devices) if each), default=0)

    @property
    def gpu_memory_mib(self) -> int | None:
        """Memory that each of its GPUs must have in MiB; None asks for nothing."""
        return None if self.needs is None else self.needs.memory_mib

    @property
    def memory_mib(self) -> int | Unknown:
        """Memory in MiB that ECS reserves on the host: the reservation, or the limit where there is none."""
        asked = self.memory_limit_mib if self.memory_reservation_mib is None else self.memory_reservation_mib
        return 0 if asked is None else asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task definition: containers that run together on one host.

    Attributes:
        containers: In the order in which they were added.
        network_mode: As written; ``bridge`` is ECS's own default on Linux.
        names_network_mode: Whether that is written.
        cpu_limit: CPU units of the whole task, a hard limit for all containers together; None sets none.
        memory_limit_mib: Memory of the whole task in MiB, likewise.
        compatibilities: Launch types it must be valid for, as written: ``EC2``, ``FARGATE``, ``MANAGED_INSTANCES``.
        architecture: Processor architecture of its ``runtimePlatform``; None if nothing was written.
        operating_system: Operating system family of its ``runtimePlatform``; None if nothing was written.
        unknown_keys: Keys that ask for GPUs and that the API does not have.
        used_keys: Settings that some launch types refuse, such as ``IpcMode``.
        volumes: Names of its volumes; unknown where one of them is, or they are written elsewhere.
        has_task_role: Whether it names a task role; unknown where that is written elsewhere.
        is_part: Whether its containers are known alone, and its own settings are written elsewhere.
        attempt_seconds: Seconds after which AWS Batch ends an attempt; None for no limit.
        attempts: How often AWS Batch tries it at most; only templates say so.
        environments: Names of the compute environments that AWS Batch may place it on; none of a queue of other files,
            None where any may be meant.
        submissions: The jobs that states of state machines and events submit from it, each with its sizes and queue;
            they run instead of it; only templates say so.
        nodes: Hosts that a multi-node parallel job of AWS Batch has at once, each with one copy; None for other tasks.
        node_types: Instance types that the nodes of such a job name, all its ranges together; empty where they name
            none, and on ranges that do not stand for all.
        scheduler: Who places it; an AWS Batch job definition is a task as well.
    """

    name: str
    containers: tuple[Container, ...] = ()
    network_mode: str | Unknown = "bridge"
    names_network_mode: bool = field(default=False, compare=False)
    family: str | Unknown | None = field(default=None, compare=False)
    cpu_limit: int | Unknown | None = None
    memory_limit_mib: int | Unknown | None = None
    compatibilities: tuple[str, ...] = ()
    architecture: Architecture | Unknown | None = None
    operating_system: str | Unknown | None = None
    ipc_mode: str | Unknown | None = None
    constraints: tuple[PlacementConstraint, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    used_keys: tuple[str, ...] = ()
    volumes: tuple[str, ...] | Unknown = field(default=UNKNOWN, compare=False)
    has_task_role: bool | Unknown = field(default=UNKNOWN, compare=False)
    is_part: bool = False
    attempt_seconds: int | Unknown | None = None
    attempts: int | Unknown = field(default=1, compare=False)
    environments: frozenset[str] | None = None
    submissions: tuple[Task, ...] = ()
    nodes: int | Unknown | None = None
    node_types: tuple[str | Unknown, ...] = ()
    scheduler: Scheduler = Scheduler.ECS
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        # Names are unique in a fleet, and hashing every container is slow.
        return hash(self.name)

    @property
    def has_open_name(self) -> bool:
        """Whether a container has a name that is only known at deploy time, so that any name may mean it."""
        return any(each.has_open_name for each in self.containers)

    @property
    def is_multi_node(self) -> bool:
        """Whether it is a multi-node parallel job of AWS Batch."""
        return self.nodes is not None

    @property
    def interfaces(self) -> int:
        """Network interfaces of the host that it takes for itself."""
        return int(self.network_mode == "awsvpc")

    @property
    def gpus(self) -> int | Unknown:
        """Whole GPUs of all containers; one GPU serves one container."""
        return total(container.gpus for container in self.containers)

    @property
    def cpu(self) -> int | Unknown:
        """CPU units that it reserves: those of the task where it sets them, else those of all containers."""
        return total(container.cpu for container in self.containers) if self.cpu_limit is None else self.cpu_limit

    @property
    def memory_mib(self) -> int | Unknown:
        """Memory in MiB that it reserves: that of the task where it sets it, else that of all containers."""
        if self.memory_limit_mib is not None:
            return self.memory_limit_mib
        return total(container.memory_mib for container in self.containers)

    @property
    def least_gpus(self) -> int:
        """Whole GPUs that it certainly asks for: those that are known, and one for each number that is not."""
        return sum(known(container.gpus, otherwise=1) for container in self.containers)

    @property
    def gpu_memory_mib(self) -> int | None:
        """The largest need of memory per GPU in MiB; None if no container has one."""
        return max((c.gpu_memory_mib for c in self.containers if c.gpu_memory_mib is not None), default=None)

    @property
    def gpu_part(self) -> float:
        """The part of a GPU that its containers ask for on a fractional host; 0 if none."""
        return sum(container.gpu_part for container in self.containers)

    @property
    def takes_all_gpus(self) -> bool:
        """Whether a container asks for every GPU of its host."""
        return any(container.takes_all_gpus for container in self.containers)

    @property
    def shares_gpu(self) -> bool:
        """Whether a container takes a share of a GPU through MPS."""
        return any(container.mps for container in self.containers)

    @property
    def wants_gpu(self) -> bool:
        """Whether a container asks for a GPU or a part of one in any form."""
        return any(container.wants_gpu for container in self.containers)

    @property
    def wants_accelerator(self) -> bool:
        """Whether a container asks for a GPU in any form, or for Neuron devices, by name or by path."""
        return any(container.wants_accelerator for container in self.containers)

    @property
    def host_ports(self) -> frozenset[tuple[int, str]]:
        """Ports of the host that its containers take."""
        return frozenset(port for container in self.containers for port in container.host_ports)
