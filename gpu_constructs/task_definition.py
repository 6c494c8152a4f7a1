"""A task definition whose containers get GPUs, checked against the hosts it may run on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.arguments import name as require_name
from gpu_constructs.arguments import texts
from gpu_constructs.capacity import GpuCapacity
from gpu_constructs.construction import creating, or_removed
from gpu_constructs.container_plan import plan_container, plan_sidecar
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, shown
from gpu_constructs.fleet import METADATA_KEY, PlacementConstraint, Pool, Task, Unknown
from gpu_constructs.gpu_needs import metadata_of
from gpu_constructs.hardware import Architecture
from gpu_constructs.placement.query import instance_type_in, render
from gpu_constructs.tokens import is_token, known_text

__all__ = ["GpuTaskDefinition"]

MAX_STRATEGY_ITEMS = 20
"""Providers of one capacity provider strategy at most (CapacityProviderStrategyItem of the ECS API)."""

# What NVIDIA's own container images ask for: unlimited locked memory for pinned buffers, a 64 MiB stack
# (https://docs.nvidia.com/deeplearning/frameworks/user-guide/).
_ULIMITS = (
    ecs.Ulimit(name=ecs.UlimitName.MEMLOCK, soft_limit=-1, hard_limit=-1),
    ecs.Ulimit(name=ecs.UlimitName.STACK, soft_limit=67108864, hard_limit=67108864),
)


class GpuTaskDefinition(ecs.Ec2TaskDefinition):
    """Defines a task definition that only runs on the given capacity, and a log group for its containers.

    Its placement constraint lists the instance types of that capacity one by one. Network mode is ``bridge`` unless
    another is chosen, because a host has fewer network interfaces than GPUs on some types (g5.48xlarge among them).
    An `ecs.Ec2TaskDefinition` in every other respect.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        capacity: Where its tasks may run. Every container must fit the smallest host of each.
        family: Name of the task definition's family. By default one is generated from its path.
        network_mode: How containers reach the network. By default ``bridge``; in mode ``host`` containers can reach the
            credentials of the host's role.
        log_group: Where the containers' logs go. By default a log group is defined that is deleted with the stack.
        log_retention: How long the default log group keeps them. By default a month.
        task_role: What the containers may do on AWS. By default a role that may do nothing.
        execution_role: What ECS uses to pull images and write logs. By default a role is made and granted that.

    Raises:
        InvalidValueError: `capacity` is empty, or not a list of capacities.
        IncompatibleError: The capacities have different architectures, for which no one image runs.

    Attributes:
        capacity: Where its tasks may run.
        task: What it asks of a host so far, as the value that every check reads.
        log_group: Where the containers' logs go.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        capacity: Sequence[GpuCapacity],
        family: str | None = None,
        network_mode: ecs.NetworkMode | None = None,
        log_group: logs.ILogGroup | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        task_role: iam.IRole | None = None,
        execution_role: iam.IRole | None = None,
    ) -> None:
        expression = _where_it_runs(capacity)
        if family is not None:
            require_name("family", family, fix="leave it out for a generated name")
        if network_mode is ecs.NetworkMode.NAT:
            raise InvalidValueError(
                "network mode nat is for Windows, where ECS has no GPUs",
                argument="network_mode",
                value=network_mode,
                allowed="bridge, host, awsvpc, none",
                fix="leave it out for bridge",
            )
        with creating(scope, construct_id):
            super().__init__(
                scope,
                construct_id,
                family=family,
                network_mode=network_mode,
                task_role=task_role,
                execution_role=execution_role,
                placement_constraints=[ecs.PlacementConstraint.member_of(expression)],
            )
        with or_removed(scope, construct_id):
            self.log_group: logs.ILogGroup = log_group or logs.LogGroup(
                self, "Logs", retention=log_retention, removal_policy=cdk.RemovalPolicy.DESTROY
            )
        self.capacity: tuple[GpuCapacity, ...] = tuple(capacity)
        self.task: Task = Task(
            name=construct_id,
            network_mode=_written(network_mode),
            family=family,
            compatibilities=("EC2",),
            constraints=(PlacementConstraint(type="memberOf", expression=known_text(expression)),),
        )

    def add_gpu_container(
        self,
        construct_id: str,
        *,
        image: ecs.ContainerImage,
        gpus: int = 1,
        gpu_memory_gib: float | None = None,
        min_compute_capability: tuple[int, int] | None = None,
        precision: str | None = None,
        nvlink: bool = False,
        cpu: int | None = None,
        memory_mib: int | None = None,
        shared_memory_mib: int | None = None,
        command: Sequence[str] | None = None,
        entry_point: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: Mapping[str, ecs.Secret] | None = None,
        essential: bool = True,
        health_check: ecs.HealthCheck | None = None,
        stop_timeout: cdk.Duration | None = None,
        user: str | None = None,
        working_directory: str | None = None,
        readonly_root_filesystem: bool = False,
        logging: ecs.LogDriver | None = None,
    ) -> ecs.ContainerDefinition:
        """Adds a container that has GPUs to itself.

        ECS sets ``NVIDIA_VISIBLE_DEVICES`` to the GPUs it reserves. ``NVIDIA_DRIVER_CAPABILITIES``, which it leaves
        unset, becomes ``compute,utility`` unless `environment` says otherwise. Locked memory is unlimited and the stack
        64 MiB, as CUDA and NCCL expect.

        Args:
            construct_id: The container's name.
            image: Its image.
            gpus: Whole GPUs, 1 or more.
            gpu_memory_gib: Memory in GiB that each of its GPUs must have, measured by what EC2 reports: an L4 has
                22.3 GiB, not 24. By default any GPU will do.
            min_compute_capability: CUDA compute capability that its GPUs must have, as (major, minor). By default any.
            precision: The narrowest number format that it computes in, such as ``bf16`` or ``fp8``; GPUs that only
                emulate it are refused. By default any GPU will do.
            nvlink: Whether its GPUs must be joined by NVLink, as tensor parallelism over several wants it.
            cpu: CPU units, 1024 to a vCPU. By default the share of the smallest host that goes with its GPUs.
            memory_mib: Memory in MiB; the container is stopped if it takes more. By default the share of the smallest
                host that goes with its GPUs, less what the agent and the system keep.
            shared_memory_mib: Size of ``/dev/shm`` in MiB, which counts as memory as it is used. By default half of the
                memory, 64 GiB at most; Docker's own default of 64 MiB stops data loaders and NCCL.
            command: Command. By default the image's own.
            entry_point: Entry point. By default the image's own.
            environment: Environment variables.
            secrets: Environment variables from Secrets Manager or Parameter Store.
            essential: Whether the task stops with this container.
            health_check: How ECS tells that the container is well. By default it does not ask.
            stop_timeout: How long the container may take to stop. By default 30 seconds.
            user: Who it runs as. By default the image's own.
            working_directory: Where its command runs. By default the image's own.
            readonly_root_filesystem: Whether it may not write to its own file system. By default it may.
            logging: Where its logs go. By default to the task definition's log group.

        Returns:
            The container; ports, mounts and dependencies are added to it as to any other.

        Raises:
            InvalidValueError: An argument is wrong by itself, such as a GPU count that is not a whole number.
            IncompatibleError: The capacity has no NVIDIA GPUs.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        plan = plan_container(
            construct_id,
            task=self.task,
            pools=self._pools,
            gpus=gpus,
            gpu_memory_gib=gpu_memory_gib,
            min_compute_capability=min_compute_capability,
            precision=precision,
            nvlink=nvlink,
            cpu=cpu,
            memory_mib=memory_mib,
            shared_memory_mib=shared_memory_mib,
            command=command,
            environment=environment,
            secrets=secrets,
            essential=essential,
        )
        parameters_id = f"{construct_id}LinuxParameters"
        with creating(self, parameters_id, called=construct_id):
            parameters = ecs.LinuxParameters(self, parameters_id, shared_memory_size=plan.shared_memory_mib)
        with or_removed(self, parameters_id), creating(self, construct_id, stays=True):
            container = super().add_container(
                construct_id,
                image=image,
                gpu_count=None if isinstance(plan.container.gpus, Unknown) else plan.container.gpus,
                cpu=plan.cpu,
                memory_limit_mib=plan.memory_mib,
                linux_parameters=parameters,
                ulimits=list(_ULIMITS),
                command=plan.command,
                entry_point=None
                if entry_point is None
                else texts("entry_point", entry_point, example="['python', '-u']"),
                environment=plan.environment,
                secrets=None if secrets is None else dict(secrets),
                essential=essential,
                health_check=health_check,
                stop_timeout=stop_timeout,
                user=user,
                working_directory=working_directory,
                readonly_root_filesystem=readonly_root_filesystem or None,
                logging=logging or ecs.LogDrivers.aws_logs(stream_prefix=construct_id, log_group=self.log_group),
            )
        if isinstance(plan.container.gpus, Unknown):
            self._reserve_by_token(gpus)
        self.task = plan.task
        needs = metadata_of(plan.task)
        if plan.container.needs is not None and needs is not None:
            cast("ecs.CfnTaskDefinition", self.node.default_child).add_metadata(METADATA_KEY, needs)
        return container

    def add_container(
        self,
        id: str,  # noqa: A002 - CDK's own name for it
        *,
        cpu: float | None = None,
        gpu_count: float | None = None,
        memory_limit_mib: float | None = None,
        memory_reservation_mib: float | None = None,
        **options: Any,  # noqa: ANN401 - the other 40 arguments are CDK's and stay as they are
    ) -> ecs.ContainerDefinition:
        """Adds a container without GPUs, such as a sidecar, and counts what it takes of the host.

        It logs where the GPU containers do, unless `logging` is among the options.

        What is added before `add_gpu_container` is taken off the share that the GPU container gets by default.

        Args:
            id: The container's name.
            cpu: CPU units, 1024 to a vCPU.
            gpu_count: Not here: GPUs are asked for with `add_gpu_container`.
            memory_limit_mib: Memory in MiB; the container is stopped if it takes more.
            memory_reservation_mib: Memory in MiB that is kept for it; it may take more.
            **options: Every other argument of `ecs.TaskDefinition.add_container`.

        Raises:
            InvalidValueError: `gpu_count` was given, or an argument is wrong by itself.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        if gpu_count is not None and (is_token(gpu_count) or gpu_count != 0):
            raise InvalidValueError(
                "GPUs that are asked for here would not be checked against the hosts",
                argument="gpu_count",
                value=gpu_count,
                fix=f"add_gpu_container({id!r}, gpus={shown(gpu_count)}, …)",
            )
        sizes: dict[str, Any] = {
            "cpu": cpu,
            "memory_limit_mib": memory_limit_mib,
            "memory_reservation_mib": memory_reservation_mib,
        }
        task = self._with_sidecar(id, sizes, options)
        with creating(self, id, stays=True):
            options.setdefault("logging", ecs.LogDrivers.aws_logs(stream_prefix=id, log_group=self.log_group))
            container = super().add_container(id, **sizes, **options)
        self.task = task
        return container

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

        Added before `add_gpu_container`, it is taken off the share that the GPU container gets by default; CDK adds one
        by itself, which is not, where a container logs with FireLens and there is none.

        Args:
            id: The container's name.
            cpu: CPU units, 1024 to a vCPU.
            memory_limit_mib: Memory in MiB; the container is stopped if it takes more.
            memory_reservation_mib: Memory in MiB that is kept for it; it may take more.
            **options: Every other argument of `ecs.TaskDefinition.add_firelens_log_router`.

        Raises:
            InvalidValueError: An argument is wrong by itself.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        sizes: dict[str, Any] = {
            "cpu": cpu,
            "memory_limit_mib": memory_limit_mib,
            "memory_reservation_mib": memory_reservation_mib,
        }
        task = self._with_sidecar(id, sizes, options)
        with creating(self, id, stays=True):
            router = super().add_firelens_log_router(id, **sizes, **options)
        self.task = task
        return router

    def _with_sidecar(self, name: str, sizes: Mapping[str, float | None], options: Mapping[str, Any]) -> Task:
        """The task with one more container that has no GPUs; nothing is made yet."""
        return plan_sidecar(
            name,
            task=self.task,
            pools=self._pools,
            cpu=sizes["cpu"],
            memory_limit_mib=sizes["memory_limit_mib"],
            memory_reservation_mib=sizes["memory_reservation_mib"],
            essential=options.get("essential"),
            environment=options.get("environment"),
        )

    @property
    def _pools(self) -> list[Pool]:
        return [each.pool for each in self.capacity]

    def _reserve_by_token(self, gpus: int) -> None:
        """Writes the count of the newest container as a reference; its ``gpu_count`` would print the token's number."""
        containers = [child for child in self.node.children if isinstance(child, ecs.ContainerDefinition)]
        resource = cast("ecs.CfnTaskDefinition", self.node.default_child)
        resource.add_property_override(
            f"ContainerDefinitions.{len(containers) - 1}.ResourceRequirements",
            [{"Type": "GPU", "Value": cdk.Tokenization.stringify_number(gpus)}],
        )


def _written(network_mode: ecs.NetworkMode | None) -> str:
    """The mode as ECS writes it; CDK's enum has names of its own (``AWS_VPC``)."""
    return "bridge" if network_mode is None else network_mode.name.lower().replace("_", "")


def _where_it_runs(capacity: Sequence[GpuCapacity]) -> str:
    """The placement constraint of a task on these capacities."""
    if (
        not isinstance(capacity, Sequence)
        or not capacity
        or not all(isinstance(each, GpuCapacity) for each in capacity)
    ):
        raise InvalidValueError(
            f"expects a list of the capacities that the task may run on, got {shown(capacity)}",
            argument="capacity",
            value=capacity,
            fix="capacity=[family[1]] for hosts with one GPU of a family"
            if isinstance(capacity, Mapping)
            else "capacity=[…] with what cluster.add_capacity returned",
        )
    if len({id(each) for each in capacity}) < len(capacity) or len(capacity) > MAX_STRATEGY_ITEMS:
        raise InvalidValueError(
            f"got {len(capacity)} capacities, {len({id(each) for each in capacity})} of them different",
            argument="capacity",
            value=[each.pool.name for each in capacity],
            allowed=f"each capacity once, {MAX_STRATEGY_ITEMS} at most: an ECS strategy holds no more providers",
            fix="fewer capacities for one task definition",
        )
    architectures: dict[Architecture, str] = {each.architecture: each.pool.name for each in capacity}
    if len(architectures) > 1:
        sides = ", ".join(f"{name} is {architecture}" for architecture, name in architectures.items())
        raise IncompatibleError(
            f"one container image runs on one architecture, and these capacities have several: {sides}",
            argument="capacity",
            value=[each.pool.name for each in capacity],
            fix="one task definition for each architecture",
        )
    with argument_named("capacity"):
        return _one_of_types(dict.fromkeys(name for each in capacity for name in each.instance_type_names))


def _one_of_types(names: Iterable[str]) -> str:
    """The expression over these types; the query language has no word for a token, so a stand-in is written for it."""
    stand_ins = {name: f"known-at-deploy-{i:04d}" if is_token(name) else name for i, name in enumerate(names)}
    expression = render(instance_type_in(stand_ins.values()))
    for name, stand_in in stand_ins.items():
        expression = expression.replace(stand_in, name) if stand_in != name else expression
    return expression
