"""A task definition that counts what its containers take of a host, including those that CDK adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs

from gpu_constructs.cdk.calls import require_construct_id, taken, written_if_refused
from gpu_constructs.cdk.kinds import require_kinds
from gpu_constructs.cdk.overrides import called_like
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import Container, Pool, Task, Unknown
from gpu_constructs.tasks.log_router import Containers
from gpu_constructs.tasks.named_volumes import NamedVolumes
from gpu_constructs.tasks.proxy_room import require_known_size, with_proxy, write_size
from gpu_constructs.tasks.rehearsal import rehearse
from gpu_constructs.tasks.room_for_daemons import SharedSize
from gpu_constructs.tasks.sidecar import plan_sidecar, require_no_gpus

_Container = TypeVar("_Container", bound=ecs.ContainerDefinition)

_DEFAULT_RESERVATION_MIB = 128


class Ports(NamedTuple):
    """The ports that a container maps, and its name."""

    name: str
    mappings: list[ecs.PortMapping]


class CountedContainers(NamedVolumes):
    """An `ecs.Ec2TaskDefinition` whose containers are counted on the hosts that they may get.

    Attributes:
        log_group: Where the containers' logs go.
    """

    log_group: logs.ILogGroup
    _pools: Sequence[Pool]
    _so_far: Containers
    _shared_sizes: Mapping[str | Unknown, SharedSize] = MappingProxyType({})

    @property
    def task(self) -> Task:
        """What it asks of a host so far, as the value that every check reads."""
        return self._so_far.before(None)

    def task_with_ports(self) -> Task:
        """The same, with the host ports of `ecs.ContainerDefinition.add_port_mappings`, which only CDK knows."""
        if self.task.network_mode in {"bridge", "host"}:
            self._so_far.map_ports(self._containers)
        return self.task

    def ports_of(self, container: ecs.ContainerDefinition) -> Ports:
        """The ports that one of its containers maps by now; CDK's own constructs add some too.

        Args:
            container: One of its containers.
        """
        return Ports(container.container_name, container.port_mappings)

    def keep_room_for_proxy(self) -> None:
        """Gives it a size with room for its containers and the proxy of Service Connect."""
        self._so_far.task = with_proxy(self._so_far.task)
        write_size(self._resource, self.task)

    def resize(self, task: Task) -> None:
        """Writes other sizes into its containers."""
        for index, (before, after) in enumerate(zip(self._so_far.task.containers, task.containers, strict=True)):
            sizes = {
                "Cpu": (before.cpu, after.cpu),
                "Memory": (before.memory_limit_mib, after.memory_limit_mib),
                "LinuxParameters.SharedMemorySize": (before.shared_memory_mib, after.shared_memory_mib),
            }
            for name, (then, now) in sizes.items():
                if now != then:
                    self._resource.add_property_override(f"ContainerDefinitions.{index}.{name}", now)
        self._so_far.task = task
        if task.memory_limit_mib is not None:
            write_size(self._resource, self.task)

    def _count(
        self, construct_id: str, container: Container, logging: ecs.LogDriver | None, *, is_router: bool = False
    ) -> None:
        self._so_far.add(construct_id, container, logging, is_router=is_router)
        if self.task.memory_limit_mib is not None:
            # Only then, because asking for the resource takes two requests to Node.
            write_size(self._resource, self.task)

    def _require_new(self, name: str) -> None:
        require_construct_id(name)
        if name in self._so_far.ids:
            raise taken(name, self.node.path)

    @cached_property
    def _resource(self) -> ecs.CfnTaskDefinition:
        return cast("ecs.CfnTaskDefinition", self.node.default_child)

    @called_like(ecs.TaskDefinition.add_container)
    @written_if_refused
    def add_container(
        self,
        id: str,  # noqa: A002 - CDK's own name for it
        *,
        cpu: float | None = None,
        gpu_count: float | None = None,
        memory_limit_mib: float | None = None,
        memory_reservation_mib: float | None = None,
        logging: ecs.LogDriver | None = None,
        **options: Any,  # noqa: ANN401 - the other 40 arguments are CDK's and stay as they are
    ) -> ecs.ContainerDefinition:
        """Adds a container without GPUs, such as a sidecar, and counts what it takes of the host.

        What is added before `add_gpu_container` is taken off the share that the GPU container gets by default.

        Args:
            id: The container's name.
            cpu: CPU units, 1024 to a vCPU.
            gpu_count: Not here: GPUs are asked for with `add_gpu_container`.
            memory_limit_mib: Memory in MiB; the container is stopped if it takes more.
            memory_reservation_mib: Memory in MiB that is kept for it; it may take more. By default 128 without a limit.
            logging: Where its logs go. By default where those of the GPU containers go.
            **options: Every other argument of `ecs.TaskDefinition.add_container`.

        Raises:
            InvalidValueError: `gpu_count` was given, or an argument is wrong by itself.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        require_construct_id(id)
        require_no_gpus(id, gpu_count)
        if memory_limit_mib is None and memory_reservation_mib is None:
            memory_reservation_mib = _DEFAULT_RESERVATION_MIB
        sizes = {"cpu": cpu, "memory_limit_mib": memory_limit_mib, "memory_reservation_mib": memory_reservation_mib}
        driver = logging or ecs.LogDrivers.aws_logs(stream_prefix=id, log_group=self.log_group)
        return self._add_sidecar(ecs.TaskDefinition.add_container, id, sizes, {**options, "logging": driver})

    @called_like(ecs.TaskDefinition.add_firelens_log_router)
    @written_if_refused
    def add_firelens_log_router(
        self,
        id: str,  # noqa: A002 - CDK's own name for it
        *,
        cpu: float | None = None,
        memory_limit_mib: float | None = None,
        memory_reservation_mib: float | None = None,
        **options: Any,  # noqa: ANN401 - the other arguments are CDK's and stay as they are
    ) -> ecs.FirelensLogRouter:
        """Adds a container that routes the logs of the others, and counts what it takes of the host.

        Added before `add_gpu_container`, it is taken off the share that the GPU container gets by default. Where a
        container logs with FireLens and there is no log router, CDK adds one of 50 MiB at synth, which is taken off the
        share of that container and of those after it.

        Args:
            id: The container's name.
            cpu: CPU units, 1024 to a vCPU.
            memory_limit_mib: Memory in MiB; the container is stopped if it takes more.
            memory_reservation_mib: Memory in MiB that is kept for it; it may take more.
            **options: Every other argument of `ecs.TaskDefinition.add_firelens_log_router`.

        Raises:
            InvalidValueError: There is a log router already, or an argument is wrong by itself.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        if self._so_far.have_router:
            raise InvalidValueError("the task has a log router already", argument="id", value=id, fix="leave it out")
        sizes = {"cpu": cpu, "memory_limit_mib": memory_limit_mib, "memory_reservation_mib": memory_reservation_mib}
        return self._add_sidecar(ecs.TaskDefinition.add_firelens_log_router, id, sizes, options, is_router=True)

    def _add_sidecar(
        self,
        add: Callable[..., _Container],
        name: str,
        sizes: Mapping[str, float | None],
        options: Mapping[str, Any],
        *,
        is_router: bool = False,
    ) -> _Container:
        require_kinds(add, options)
        self._require_new(name)
        logging = options.get("logging")
        task = plan_sidecar(
            options.get("container_name") or name,
            # A log router takes the place of the one that CDK would add.
            task=self._so_far.task if is_router else self._so_far.before(logging),
            pools=self._pools,
            **sizes,
            options=options,
            environment=options.get("environment"),
        )
        require_known_size(task)
        rehearse(add, self, name, options, network_mode=self.task.network_mode)
        container = add(self, name, **sizes, **options)
        self._count(name, task.containers[-1], logging, is_router=is_router)
        return container
