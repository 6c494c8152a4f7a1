"""A task definition whose containers get GPUs, checked against the hosts it may run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.atomic import creating, require_construct_id, rolled_back_on_error, taken
from gpu_constructs.cdk.kinds import checked, require_kinds
from gpu_constructs.cdk.overrides import called_like, naming
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import METADATA_KEY, Task
from gpu_constructs.models.model_cache import ModelCache
from gpu_constructs.models.model_server import ModelServer
from gpu_constructs.models.served_container import served_container
from gpu_constructs.tasks.accelerated_container import define_container, write_requirement
from gpu_constructs.tasks.container_options import ContainerOptions, ServerOptions
from gpu_constructs.tasks.container_plan import ContainerPlan
from gpu_constructs.tasks.gpu_ask import Gpus
from gpu_constructs.tasks.gpu_container import plan_gpu_container
from gpu_constructs.tasks.gpu_needs import metadata_of, plan_needs
from gpu_constructs.tasks.log_router import Containers
from gpu_constructs.tasks.model_container import add_served_container
from gpu_constructs.tasks.named_volumes import NamedVolumes
from gpu_constructs.tasks.neuron_container import NeuronDevices, plan_neuron_container
from gpu_constructs.tasks.rehearsal import rehearse
from gpu_constructs.tasks.sidecar import plan_sidecar, require_no_gpus
from gpu_constructs.tasks.task_target import Capacity, Landing, encryption_key_of, landing_on

__all__ = ["GpuTaskDefinition"]

_Container = TypeVar("_Container", bound=ecs.ContainerDefinition)

_DEFAULT_RESERVATION_MIB = 128


class GpuTaskDefinition(NamedVolumes):
    """Defines a task definition that only runs on the given capacity, and a log group for its containers.

    Its placement constraint lists the instance types of that capacity one by one. Network mode is ``bridge`` unless
    another is chosen, because a host has fewer network interfaces than GPUs on some types (g5.48xlarge among them).
    With capacity of ECS Managed Instances it is written for these, or for both kinds where both are given: network mode
    ``awsvpc`` or ``host``, and none of the settings that they refuse. An `ecs.Ec2TaskDefinition` in every other
    respect.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        capacity: Where its tasks may run. Every container must fit the smallest host of each.
        family: Name of the task definition's family. By default one is generated from its path.
        network_mode: How containers reach the network. By default ``bridge``, on Managed Instances ``awsvpc``; in mode
            ``host`` containers can reach the credentials of the host's role.
        log_group: Where the containers' logs go. By default a log group is defined that is deleted with the stack, and
            encrypted with the key of the cluster where that has one.
        log_retention: How long the default log group keeps them. By default a month.
        task_role: What the containers may do on AWS. By default a role that may do nothing.
        execution_role: What ECS uses to pull images and write logs. By default a role is made and granted that.

    Raises:
        InvalidValueError: `capacity` is empty, or not a list of capacities.
        IncompatibleError: The capacities have different architectures, for which no one image runs, or Managed
            Instances have no such network mode.

    Attributes:
        capacity: Where its tasks may run.
        landing: How it is written for that.
        log_group: Where the containers' logs go.
        server: The first server of `add_model_server`, which says where requests go; None without.
        volumes_of_caches: The caches of its servers, and the volumes that they became.
        services: The services that run it, so far.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        capacity: Sequence[Capacity],
        family: str | None = None,
        network_mode: ecs.NetworkMode | None = None,
        log_group: logs.ILogGroup | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        task_role: iam.IRole | None = None,
        execution_role: iam.IRole | None = None,
    ) -> None:
        landing = landing_on(capacity)
        if family is not None:
            require_name("family", family, fix="leave it out for a generated name")
        mode = landing.network_mode(network_mode)
        with creating(scope, construct_id):
            super().__init__(
                scope,
                construct_id,
                family=family,
                network_mode=mode,
                task_role=task_role,
                execution_role=execution_role,
                placement_constraints=None
                if landing.expression is None
                else [ecs.PlacementConstraint.member_of(landing.expression)],
            )
        with rolled_back_on_error(scope, construct_id):
            self.log_group: logs.ILogGroup = log_group or logs.LogGroup(
                self,
                "Logs",
                retention=log_retention,
                encryption_key=encryption_key_of(capacity),
                removal_policy=cdk.RemovalPolicy.DESTROY,
            )
        written = landing.template_data()
        if written:
            # Nothing is overridden yet, and each override would be a question to Node.
            self._resource.add_override("Properties", written)
        self.capacity: tuple[Capacity, ...] = tuple(capacity)
        self._pools = [each.pool for each in capacity]
        self.landing: Landing = landing
        self._so_far = Containers(landing.task(construct_id, family=family, network_mode=mode))
        self._has_main_container = False
        self.server: ModelServer | None = None
        self.volumes_of_caches: dict[ModelCache, str] = {}
        self.services: list[ecs.Ec2Service] = []

    @property
    def task(self) -> Task:
        """What it asks of a host so far, as the value that every check reads."""
        return self._so_far.before(None)

    def with_its_ports(self) -> Task:
        """The same, with the host ports of `ecs.ContainerDefinition.add_port_mappings`, which only CDK knows."""
        if self.task.network_mode in {"bridge", "host"}:
            self._so_far.map_ports(self._containers)
        return self.task

    @naming(ContainerOptions)
    @checked
    def add_gpu_container(
        self,
        construct_id: str,
        *,
        image: ecs.ContainerImage,
        gpus: Gpus = 1,
        gpu_memory_gib: float | None = None,
        min_compute_capability: tuple[int, int] | None = None,
        precision: str | None = None,
        nvlink: bool = False,
        **options: Unpack[ContainerOptions],
    ) -> ecs.ContainerDefinition:
        """Adds a container that has GPUs to itself, or a share of one.

        ECS sets ``NVIDIA_VISIBLE_DEVICES`` to the GPUs it reserves. ``NVIDIA_DRIVER_CAPABILITIES``, which it leaves
        unset, becomes ``compute,utility`` unless `environment` says otherwise. Locked memory is unlimited and the stack
        64 MiB, as CUDA and NCCL expect.

        Args:
            construct_id: The container's name.
            image: Its image.
            gpus: Whole GPUs, 1 or more; ``"ALL"`` for every GPU of the host; a `GpuShare` for a share of one; on hosts
                with a part of a GPU that part, such as 0.25 on g6f.2xlarge. All containers of a task ask in one way.
            gpu_memory_gib: Memory in GiB that each of its GPUs must have, measured by what EC2 reports: an L4 has
                22.3 GiB, not 24. By default any GPU will do.
            min_compute_capability: CUDA compute capability that its GPUs must have, as (major, minor). By default any.
            precision: The narrowest number format that it computes in, such as ``bf16`` or ``fp8``; GPUs that only
                emulate it are refused. By default any GPU will do.
            nvlink: Whether its GPUs must be joined by NVLink, as tensor parallelism over several wants it.
            **options: Every argument of `ContainerOptions`: those of CDK's ``add_container`` under the same names, and
                `efa`, `memory_mib` and `shared_memory_mib`.

        Returns:
            The container; ports, mounts and dependencies are added to it as to any other.

        Raises:
            InvalidValueError: An argument is wrong by itself, such as a GPU count that is not a whole number.
            IncompatibleError: The capacity has no such GPUs, or cannot share them.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        needs = plan_needs(
            gpu_memory_gib=gpu_memory_gib,
            min_compute_capability=min_compute_capability,
            precision=precision,
            nvlink=nvlink,
        )
        self._require_new(construct_id)
        plan = plan_gpu_container(
            options.get("container_name") or construct_id,
            task=self._so_far.before(options.get("logging")),
            pools=self._pools,
            gpus=gpus,
            needs=needs,
            options=options,
        )
        return self._define(construct_id, image, plan, options)

    @naming(ServerOptions)
    @checked
    def add_model_server(
        self,
        construct_id: str,
        *,
        server: ModelServer,
        gpus: Gpus = 1,
        cache: ModelCache | None = None,
        **options: Unpack[ServerOptions],
    ) -> ecs.ContainerDefinition:
        """Adds a container that serves a model: `add_gpu_container` with the image, port and command of a server.

        A service behind a load balancer takes its health check and its grace period from the server. What is given in
        `options` is taken in place of what the server says; environment variables are added.

        Args:
            construct_id: The container's name.
            server: What it runs, such as ``ModelServer.vllm(model="Qwen/Qwen2.5-7B-Instruct")``.
            gpus: What it asks of GPUs, as in `add_gpu_container`. The server is told of several.
            cache: Where it keeps models. By default in the container, for as long as the task lives.
            **options: The other arguments of `add_gpu_container`.

        Raises:
            InvalidValueError: An argument is wrong by itself.
            IncompatibleError: The capacity has no such GPUs or cache, or GPUs that the image has no code for.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        served = served_container(construct_id, server=server, cache=cache, gpus=gpus, capacity=self.capacity)
        arguments = served.arguments(options, network_mode=self.task.network_mode)
        container = add_served_container(self, construct_id, served, gpus=gpus, arguments=arguments)
        self.server = self.server or server
        return container

    @naming(ContainerOptions)
    @checked
    def add_neuron_container(
        self,
        construct_id: str,
        *,
        image: ecs.ContainerImage,
        devices: NeuronDevices = "ALL",
        **options: Unpack[ContainerOptions],
    ) -> ecs.ContainerDefinition:
        """Adds a container that has Neuron devices (AWS Inferentia, AWS Trainium) to itself.

        It is given ``/dev/neuron0`` and so on, after those of the containers before it, and the capability
        ``IPC_LOCK``; on ECS Managed Instances it asks for ``NeuronDevice``. By default it gets all CPU and memory that
        the smallest host has left: ECS counts no devices that are given by path, and would place another task on them.
        https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html

        Args:
            construct_id: The container's name.
            image: Its image, with the Neuron runtime.
            devices: Neuron devices, 1 or more, or ``"ALL"`` of the host, which all hosts must have the same number of.
            **options: Every argument of `ContainerOptions`, as in `add_gpu_container`.

        Returns:
            The container; ports, mounts and dependencies are added to it as to any other.

        Raises:
            InvalidValueError: An argument is wrong by itself.
            IncompatibleError: The capacity has no Neuron devices, or different numbers of them.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        self._require_new(construct_id)
        plan = plan_neuron_container(
            options.get("container_name") or construct_id,
            task=self._so_far.before(options.get("logging")),
            pools=self._pools,
            devices=devices,
            options=options,
        )
        return self._define(construct_id, image, plan, options)

    def _define(
        self, construct_id: str, image: ecs.ContainerImage, plan: ContainerPlan, options: ContainerOptions
    ) -> ecs.ContainerDefinition:
        has_sidecars = bool(self._so_far.ids)
        container = define_container(
            self, construct_id, image=image, plan=plan, options=options, log_group=self.log_group
        )
        if has_sidecars and not self._has_main_container:
            # CDK takes the first essential container, which may be a sidecar that has no port.
            self.default_container = container
        self._has_main_container = True
        self._so_far.add(construct_id, plan.container, options.get("logging"))
        needs = metadata_of(plan.task)
        if plan.container.needs is not None and needs is not None:
            self._resource.add_metadata(METADATA_KEY, needs)
        if plan.requirement is not None:
            # CDK numbers the containers of a template in this order.
            write_requirement(self._resource, len(self._containers) - 1, plan.requirement)
        return container

    def _require_new(self, name: str) -> None:
        require_construct_id(name)
        if name in self._so_far.ids:
            raise taken(self, name)

    @cached_property
    def _resource(self) -> ecs.CfnTaskDefinition:
        return cast("ecs.CfnTaskDefinition", self.node.default_child)

    @called_like(ecs.TaskDefinition.add_container)
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
        rehearse(add, self, name, options)
        with creating(self, name):
            container = add(self, name, **sizes, **options)
        self._so_far.add(name, task.containers[-1], logging, is_router=is_router)
        return container
