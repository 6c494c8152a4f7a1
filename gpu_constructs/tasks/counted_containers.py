"""The containers of a task definition so far, those without accelerators too, and the hosts that they may get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import whole, whole_number
from gpu_constructs.cdk.calls import require_construct_id, taken
from gpu_constructs.cdk.kinds import require_kinds
from gpu_constructs.cdk.refusal import require_served
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.cdk.validation import warn
from gpu_constructs.errors import DoesNotFitError, IncompatibleError, InvalidValueError, counted, shown
from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.fleet import METADATA_KEY, Container, Pool, Task, Unknown
from gpu_constructs.placement.pool_profile import NOTHING_KEPT, FairShare
from gpu_constructs.rules.finding import and_list
from gpu_constructs.tasks.accelerated_container import (
    NeuronDevices,
    define_container,
    plan_gpu_container,
    plan_neuron_container,
    write_requirement,
)
from gpu_constructs.tasks.container_options import (
    REFUSED_ON_MANAGED,
    ContainerOptions,
    GpuContainerOptions,
    host_ports,
    refused_on_managed,
    require_health_check,
)
from gpu_constructs.tasks.container_plan import (
    ARGUMENTS,
    ContainerPlan,
    known_variables,
    require_container_name,
    share_for,
    with_one_more,
)
from gpu_constructs.tasks.gpu_ask import Gpus, metadata_of, plan_needs
from gpu_constructs.tasks.host_share import default_shared_memory_mib, require_fit
from gpu_constructs.tasks.task_target import Capacity, resource_of

if TYPE_CHECKING:
    from aws_cdk import aws_logs as logs


_ARGUMENTS: Mapping[str, str] = {**ARGUMENTS, "Memory": "memory_limit_mib"}
_LEAST_UNITS = 64  # that somebody may mean, though large hosts have as many vCPUs


def plan_sidecar(name: str, options: Mapping[str, object], *, task: Task, pools: Sequence[Pool]) -> Container:
    """Counts a container without GPUs."""
    require_container_name(name, options)
    refused = refused_on_managed(options)
    cpu, environment = options.get("cpu"), options.get("environment")
    container = Container(
        name=name,
        cpu=0 if cpu is None else whole_number("cpu", whole(cpu), smallest=0, unit="CPU units", fix="cpu=256"),
        memory_limit_mib=_memory("memory_limit_mib", options),
        memory_reservation_mib=_memory("memory_reservation_mib", options),
        environment=known_variables(environment if isinstance(environment, Mapping) else {}),
        host_ports=host_ports(options.get("port_mappings"), task.network_mode),
        used_keys=tuple(refused),
    )
    given = {REFUSED_ON_MANAGED[setting]: value for setting, value in refused.items()}
    planned = with_one_more(task, container)
    require_served(planned, pools, _ARGUMENTS, given=given, also=("GPU047",))
    _require_room(planned, pools)
    return container


def _require_room(task: Task, pools: Sequence[Pool]) -> None:
    """Refuses a container for which those with accelerators, which came before it, have left no room."""
    try:
        require_fit(task, pools, {"ContainerDefinitions.Memory": "memory_limit_mib"})
    except DoesNotFitError as error:
        sized = [each for each in task.containers if each.wants_accelerator]
        if sized and _has_room(task, pools):
            names = and_list(each.name for each in sized)
            error.allowed = None  # what the host has is for all containers together
            error.fix = f"add it before {names}, so that the default share leaves room for it, or lower " + (
                f"cpu of {names}" if error.argument == "cpu" else f"memory_mib of {names}"
            )
        raise


def _has_room(task: Task, pools: Sequence[Pool]) -> bool:
    """Whether a task fits if its containers with accelerators take no CPU and memory."""
    containers = (
        replace(each, cpu=0, memory_limit_mib=None, memory_reservation_mib=None) if each.wants_accelerator else each
        for each in task.containers
    )
    try:
        require_fit(replace(task, containers=tuple(containers)), pools)
    except DoesNotFitError:
        return False
    return True


def require_no_gpus(name: str, gpu_count: float | None) -> None:
    """Refuses GPUs that are asked for in CDK's own way."""
    if gpu_count is not None and (is_token(gpu_count) or gpu_count != 0):
        raise InvalidValueError(
            "GPUs that are asked for here would not be checked against the hosts",
            argument="gpu_count",
            value=gpu_count,
            fix=f"add_gpu_container({name!r}, gpus={shown(gpu_count)}, …)",
        )


def _memory(argument: str, options: Mapping[str, object]) -> int | Unknown | None:
    value = options.get(argument)
    if value is None:
        return None
    return whole_number(argument, whole(value), smallest=1, unit="MiB", fix=f"{argument}=256")


_Container = TypeVar("_Container", bound=ecs.ContainerDefinition)


class CountedContainers:
    """The containers of a task definition.

    Attributes:
        task: What they ask of a host so far, as the value that every check reads.
    """

    def __init__(
        self, definition: ecs.TaskDefinition, task: Task, *, capacity: Sequence[Capacity], log_group: logs.ILogGroup
    ) -> None:
        self.task = task
        self.have_router = False
        self._definition = definition
        self._capacity = capacity
        self._pools = [each.pool for each in capacity]
        self._log_group = log_group
        self._ids: set[str] = set()  # of constructs, which CDK is not asked for
        self._has_main = False
        self._default_sizes: dict[str | Unknown, frozenset[str]] = {}

    def require_new(self, construct_id: str) -> None:
        """Refuses the id of another container."""
        require_construct_id(construct_id)
        if construct_id in self._ids:
            raise taken(construct_id, self._definition.node.path)

    def add_gpu(
        self, construct_id: str, image: ecs.ContainerImage, gpus: Gpus, options: GpuContainerOptions
    ) -> ecs.ContainerDefinition:
        """Adds one with GPUs, see `GpuTaskDefinition.add_gpu_container`."""
        needs = plan_needs(options)
        self._require_addable(construct_id, options)
        with_daemons = (each.hosts for each in self._capacity if each.hosts.runs_daemons_on(each.pool))
        plan = plan_gpu_container(
            options.get("container_name") or construct_id,
            task=self.task,
            pools=self._pools,
            gpus=gpus,
            needs=needs,
            options=options,
            kept=next((each.kept for each in with_daemons), NOTHING_KEPT),
        )
        return self._add(construct_id, image, plan, options)

    def add_neuron(
        self, construct_id: str, image: ecs.ContainerImage, devices: NeuronDevices, options: ContainerOptions
    ) -> ecs.ContainerDefinition:
        """Adds one with Neuron devices, see `GpuTaskDefinition.add_neuron_container`."""
        self._require_addable(construct_id, options)
        plan = plan_neuron_container(
            options.get("container_name") or construct_id,
            task=self.task,
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
        *others, copier, server = self.task.containers
        size, kept = server.memory_limit_mib, copier.memory_reservation_mib
        if isinstance(size, int) and isinstance(kept, int):
            limited = replace(copier, memory_limit_mib=max(kept, size // 2))
            self._resize(replace(self.task, containers=(*others, limited, server)))

    def add_sidecar(
        self, add: Callable[..., _Container], construct_id: str, options: Mapping[str, Any], *, is_router: bool = False
    ) -> _Container:
        """Adds one without accelerators by a method of CDK with its options, and counts it."""
        require_kinds(add, options)
        self._require_addable(construct_id, options)
        name = options.get("container_name") or construct_id
        planned = plan_sidecar(name, options, task=self.task, pools=self._pools)
        container = add(self._definition, construct_id, **options)
        self.have_router = self.have_router or is_router
        self._count(construct_id, planned)
        return container

    def with_ports(self) -> Task:
        """The task, with the host ports of `ecs.ContainerDefinition.add_port_mappings`, which only CDK knows."""
        mode = self.task.network_mode
        if mode in {"bridge", "host"}:
            made = self._definition._containers  # noqa: SLF001 - protected in CDK, which has no other list of them
            ports = [host_ports(each.port_mappings, mode) for each in made]
            if len(ports) == len(self.task.containers):
                mapped = [replace(each, host_ports=of) for each, of in zip(self.task.containers, ports, strict=True)]
                self.task = replace(self.task, containers=tuple(mapped))
        return self.task

    def room_for_daemons(self, share: FairShare) -> None:
        """Makes room for daemons in sizes that were not given."""
        if not any(each.hosts.runs_daemons_on(each.pool) for each in self._capacity):
            return
        sized = replace(self.task, containers=())
        for each in self.task.containers:
            sized = with_one_more(sized, self._shared_again(each, sized, share))
        self._resize(sized)

    def _shared_again(self, container: Container, before: Task, kept: FairShare) -> Container:
        """A container beside daemons: what of its size was not given becomes smaller."""
        by_default = self._default_sizes.get(container.name)
        if not by_default:
            return container
        share = share_for(container, task=before, pools=self._pools, kept=kept)
        memory = share.memory_mib if "memory_limit_mib" in by_default else container.memory_mib
        sizes: dict[str, Any] = {
            "cpu": share.cpu,
            "memory_limit_mib": memory,
            "shared_memory_mib": default_shared_memory_mib(memory),
        }
        return replace(container, **{name: size for name, size in sizes.items() if name in by_default})

    @cached_property
    def _resource(self) -> ecs.CfnTaskDefinition:
        return resource_of(self._definition)

    def _require_addable(self, construct_id: str, options: Mapping[str, Any]) -> None:
        self.require_new(construct_id)
        require_health_check(options.get("health_check"))
        if isinstance(options.get("logging"), ecs.FireLensLogDriver) and not self.have_router:
            # CDK adds one of 50 MiB at synth, once the others have shared the host (``renderContainers`` of aws-cdk-lib
            # 2.275).
            raise IncompatibleError(
                "a container that logs with FireLens needs a log router, which takes its part of the host before",
                argument="logging",
                fix="add_firelens_log_router before this line",
            )

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
        self._default_sizes[plan.container.name] = plan.default_sizes
        self._count(construct_id, plan.container)
        needs = metadata_of(self.task)
        if plan.container.needs is not None and needs is not None:
            self._resource.add_metadata(METADATA_KEY, needs)
        if plan.requirement is not None:
            # CDK numbers the containers of a template in this order.
            write_requirement(self._resource, len(self.task.containers) - 1, plan.requirement)
        cpu, vcpus = plan.container.cpu, [host.vcpus for pool in self._pools for host in pool.instance_types]
        is_given = "cpu" not in plan.default_sizes
        if is_given and isinstance(cpu, int) and 0 < cpu <= min(vcpus, default=0) and cpu < _LEAST_UNITS:
            text = f"cpu of {construct_id} is {cpu} CPU units, of which a vCPU has {CPU_UNITS_PER_VCPU}"
            for_vcpus = f"cpu={cpu * CPU_UNITS_PER_VCPU} for {counted(cpu, 'vCPU')}"
            warn(container, "cpu-units", f"{text}; {for_vcpus}, or leave it out for its share of the host")
        return container

    def _count(self, construct_id: str, container: Container) -> None:
        self._ids.add(construct_id)
        self.task = with_one_more(self.task, container)

    def _resize(self, task: Task) -> None:
        for index, (before, after) in enumerate(zip(self.task.containers, task.containers, strict=True)):
            sizes = {
                "Cpu": (before.cpu, after.cpu),
                "Memory": (before.memory_limit_mib, after.memory_limit_mib),
                "LinuxParameters.SharedMemorySize": (before.shared_memory_mib, after.shared_memory_mib),
            }
            for name, (then, now) in sizes.items():
                if now != then:
                    self._resource.add_property_override(f"ContainerDefinitions.{index}.{name}", now)
        self.task = task
