"""The containers of a task definition so far, counted on the hosts that they may get, with those that CDK adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.calls import require_construct_id, taken
from gpu_constructs.cdk.kinds import require_kinds
from gpu_constructs.fleet import METADATA_KEY, Container, Task, Unknown
from gpu_constructs.placement import NOTHING_KEPT, FairShare
from gpu_constructs.tasks.accelerated_container import (
    NeuronDevices,
    define_container,
    plan_gpu_container,
    plan_neuron_container,
    write_requirement,
)
from gpu_constructs.tasks.container_options import ContainerOptions, GpuContainerOptions, host_ports
from gpu_constructs.tasks.container_plan import ContainerPlan, DefaultSize, with_container
from gpu_constructs.tasks.gpu_ask import Gpus, metadata_of, plan_needs
from gpu_constructs.tasks.sidecar import (
    LOG_ROUTER,
    SharedSize,
    beside_daemons,
    plan_sidecar,
)
from gpu_constructs.tasks.task_target import Capacity

if TYPE_CHECKING:
    from aws_cdk import aws_logs as logs

_Container = TypeVar("_Container", bound=ecs.ContainerDefinition)


class CountedContainers:
    """The containers of a task definition.

    Args:
        definition: The task definition.
        task: What it asks of a host without a container.
        capacity: Where its tasks may run.
        log_group: Where the logs of containers with accelerators go by default.

    Attributes:
        have_router: Whether one of them is a log router.
    """

    def __init__(
        self, definition: ecs.TaskDefinition, task: Task, *, capacity: Sequence[Capacity], log_group: logs.ILogGroup
    ) -> None:
        self._task = task
        self.have_router = False
        self._definition = definition
        self._capacity = capacity
        self._pools = [each.pool for each in capacity]
        self._log_group = log_group
        self._ids: set[str] = set()  # of constructs, which CDK is not asked for
        self._route_logs = False
        self._has_main = False
        self._shared_sizes: dict[str | Unknown, SharedSize] = {}

    @property
    def task(self) -> Task:
        """What they ask of a host so far, as the value that every check reads."""
        return self._before(None)

    def require_new(self, construct_id: str) -> None:
        """Refuses the id of another container.

        Raises:
            InvalidValueError: One of them has it, or it cannot be an id.
        """
        require_construct_id(construct_id)
        if construct_id in self._ids:
            raise taken(construct_id, self._definition.node.path)

    def add_gpu(
        self, construct_id: str, image: ecs.ContainerImage, gpus: Gpus, options: GpuContainerOptions
    ) -> ecs.ContainerDefinition:
        """Adds one with GPUs, see `GpuTaskDefinition.add_gpu_container`."""
        needs = plan_needs(options)
        self.require_new(construct_id)
        plan = plan_gpu_container(
            options.get("container_name") or construct_id,
            task=self._before(options.get("logging")),
            pools=self._pools,
            gpus=gpus,
            needs=needs,
            options=options,
            kept=self._kept_by_daemons,
        )
        return self._add(construct_id, image, plan, options)

    def add_neuron(
        self, construct_id: str, image: ecs.ContainerImage, devices: NeuronDevices, options: ContainerOptions
    ) -> ecs.ContainerDefinition:
        """Adds one with Neuron devices, see `GpuTaskDefinition.add_neuron_container`."""
        self.require_new(construct_id)
        plan = plan_neuron_container(
            options.get("container_name") or construct_id,
            task=self._before(options.get("logging")),
            pools=self._pools,
            devices=devices,
            options=options,
        )
        return self._add(construct_id, image, plan, options)

    def limit_copy(self) -> None:
        """Limits the memory of the container that copies a model before the server that was added last.

        To half of what the server may take, because daemons that are added later take some from it. CDK and ECS need no
        limit, cdk-preflight does.
        """
        *others, copier, server = self._task.containers
        size, kept = server.memory_limit_mib, copier.memory_reservation_mib
        if isinstance(size, int) and isinstance(kept, int):
            limited = replace(copier, memory_limit_mib=max(kept, size // 2))
            self._resize(replace(self._task, containers=(*others, limited, server)))

    def add_sidecar(
        self,
        add: Callable[..., _Container],
        construct_id: str,
        sizes: Mapping[str, float | None],
        options: Mapping[str, Any],
        *,
        is_router: bool = False,
    ) -> _Container:
        """Adds one without accelerators, and counts it.

        Args:
            add: The method of CDK that makes it.
            construct_id: Its construct id.
            sizes: Its CPU and memory, as that method takes them.
            options: The other arguments of that method.
            is_router: Whether it is a log router.

        Raises:
            GpuConstructsError: An argument is wrong by itself, or a host has no room for it.
        """
        require_kinds(add, options)
        self.require_new(construct_id)
        task = plan_sidecar(
            options.get("container_name") or construct_id,
            # A log router takes the place of the one that CDK would add.
            task=self._task if is_router else self._before(options.get("logging")),
            pools=self._pools,
            **sizes,
            options=options,
            environment=options.get("environment"),
        )
        container = add(self._definition, construct_id, **sizes, **options)
        self.have_router = self.have_router or is_router
        self._count(construct_id, task.containers[-1], options)
        return container

    def with_ports(self) -> Task:
        """The task, with the host ports of `ecs.ContainerDefinition.add_port_mappings`, which only CDK knows."""
        mode = self._task.network_mode
        if mode in {"bridge", "host"}:
            made = self._definition._containers  # noqa: SLF001 - protected in CDK, which has no other list of them
            ports = [host_ports(each.port_mappings, mode) for each in made]
            if len(ports) == len(self._task.containers):
                mapped = [replace(each, host_ports=of) for each, of in zip(self._task.containers, ports, strict=True)]
                self._task = replace(self._task, containers=tuple(mapped))
        return self.task

    def room_for_daemons(self, share: FairShare) -> None:
        """Makes room for daemons in sizes that were not given.

        Args:
            share: What daemons keep of each host with NVIDIA GPUs.

        Raises:
            InvalidValueError: The other containers take all of the share of a host that is left.
        """
        if any(each.hosts.runs_daemons_on(each.pool) for each in self._capacity):
            self._resize(beside_daemons(self._task, self._shared_sizes, pools=self._pools, kept=share))

    @property
    def _kept_by_daemons(self) -> FairShare:
        """What daemons keep of the hosts, before these share it."""
        hosts = (each.hosts for each in self._capacity if each.hosts.runs_daemons_on(each.pool))
        return next((each.kept for each in hosts), NOTHING_KEPT)

    @cached_property
    def _resource(self) -> ecs.CfnTaskDefinition:
        return cast("ecs.CfnTaskDefinition", self._definition.node.default_child)

    def _before(self, logging: ecs.LogDriver | None) -> Task:
        """The task, with the log router that CDK will add if another container logs like this.

        Args:
            logging: The log driver of the other container; None for the default one.
        """
        if self.have_router or not (self._route_logs or isinstance(logging, ecs.FireLensLogDriver)):
            return self._task
        return with_container(self._task, LOG_ROUTER)

    def _add(
        self, construct_id: str, image: ecs.ContainerImage, plan: ContainerPlan, options: ContainerOptions
    ) -> ecs.ContainerDefinition:
        container = define_container(
            self._definition, construct_id, image=image, plan=plan, options=options, log_group=self._log_group
        )
        if self._ids and not self._has_main:
            # CDK takes the first essential container, which may be a sidecar that has no port.
            self._definition.default_container = container
        self._has_main = True
        if plan.default_size != DefaultSize():
            before = self._before(options.get("logging"))
            self._shared_sizes[plan.container.name] = SharedSize(plan.default_size, has_router=before is not self._task)
        self._count(construct_id, plan.container, options)
        needs = metadata_of(plan.task)
        if plan.container.needs is not None and needs is not None:
            self._resource.add_metadata(METADATA_KEY, needs)
        if plan.requirement is not None:
            # CDK numbers the containers of a template in this order.
            write_requirement(self._resource, len(self._task.containers) - 1, plan.requirement)
        return container

    def _count(self, construct_id: str, container: Container, options: Mapping[str, Any]) -> None:
        self._ids.add(construct_id)
        self._task = with_container(self._task, container)
        self._route_logs = self._route_logs or isinstance(options.get("logging"), ecs.FireLensLogDriver)

    def _resize(self, task: Task) -> None:
        """Writes the sizes that they have in another task."""
        for index, (before, after) in enumerate(zip(self._task.containers, task.containers, strict=True)):
            sizes = {
                "Cpu": (before.cpu, after.cpu),
                "Memory": (before.memory_limit_mib, after.memory_limit_mib),
                "LinuxParameters.SharedMemorySize": (before.shared_memory_mib, after.shared_memory_mib),
            }
            for name, (then, now) in sizes.items():
                if now != then:
                    self._resource.add_property_override(f"ContainerDefinitions.{index}.{name}", now)
        self._task = task
