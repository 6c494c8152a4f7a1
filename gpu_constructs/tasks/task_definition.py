"""A task definition whose containers get GPUs, checked against the hosts it may run on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct, IDependable
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.calls import called_like, naming, require_construct_id, written_if_refused
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.policies import trust_this_account
from gpu_constructs.cdk.validation import announce
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import Task
from gpu_constructs.tasks.accelerated_container import NeuronDevices
from gpu_constructs.tasks.container_options import ContainerOptions, GpuContainerOptions
from gpu_constructs.tasks.counted_containers import CountedContainers, require_no_gpus
from gpu_constructs.tasks.gpu_ask import Gpus
from gpu_constructs.tasks.task_target import (
    Capacity,
    encryption_key_of,
    expressions_on,
    mode_on,
    require_options,
    task_on,
    with_constraints,
    write_task,
)
from gpu_constructs.tasks.workload import capacity_used, require_accelerators, started_by_hand

if TYPE_CHECKING:
    from gpu_constructs.tasks.models.cache_storage import CacheVolumes
    from gpu_constructs.tasks.models.model_cache import ModelCache
    from gpu_constructs.tasks.models.model_server import ModelServer

_DEFAULT_RESERVATION_MIB = 128


class GpuTaskDefinition(ecs.Ec2TaskDefinition):
    """Defines a task definition that only runs on the given capacity, and a log group for its containers.

    Its placement constraint lists the instance types of that capacity one by one. Network mode is ``bridge`` unless
    another is chosen, because a host has fewer network interfaces than GPUs on some types (g5.48xlarge among them).
    With capacity of ECS Managed Instances it is written for these, or for both kinds where both are given: network mode
    ``awsvpc`` or ``host``, and none of the settings that they refuse. An `ecs.Ec2TaskDefinition` in every other
    respect.

    Args:
        capacity: Where its tasks may run. Every container must fit the smallest host of each.
        family: Name of the task definition's family. By default one is generated from its path.
        network_mode: How containers reach the network. By default ``bridge``, on Managed Instances ``awsvpc``; in mode
            ``host`` containers can reach the credentials of the host's role.
        ipc_mode: Whether containers share memory with each other or with the host, whose ``/dev/shm`` they then have.
            By default each has its own.
        pid_mode: Whether containers see the processes of each other or of the host. By default each sees its own.
        log_group: Where the containers' logs go. By default a log group is defined that is deleted with the stack, and
            encrypted with the key of the cluster where that has one.
        log_retention: How long the default log group keeps them. By default a month.
        task_role: What the containers may do on AWS. By default a role that may do nothing.
        execution_role: What ECS uses to pull images and write logs. By default a role is made and granted that.
        placement_constraints: Where its tasks may be placed, besides on the types of `capacity`; hosts of each must
            satisfy them. By default anywhere there.
        volumes: Volumes that its containers may mount, as with `add_volume`. By default none.
        enable_fault_injection: Whether its containers take requests of AWS FIS, in network mode ``awsvpc`` or ``host``.
            By default not.

    Raises:
        IncompatibleError: The capacities have different architectures, for which no one image runs, or Managed
            Instances have no such network mode.

    Attributes:
        capacity: Where its tasks may run.
        log_group: Where the containers' logs go.
        counted: Its containers so far, as they are counted on those hosts.
        server: The first server of `add_model_server`, which says where requests go; None without.
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
        ipc_mode: ecs.IpcMode | None = None,
        pid_mode: ecs.PidMode | None = None,
        log_group: logs.ILogGroup | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        task_role: iam.IRole | None = None,
        execution_role: iam.IRole | None = None,
        placement_constraints: Sequence[ecs.PlacementConstraint] | None = None,
        volumes: Sequence[ecs.Volume] | None = None,
        enable_fault_injection: bool | None = None,
    ) -> None:
        expressions = expressions_on(capacity)
        if family is not None:
            require_name("family", family, fix="leave it out for a generated name")
        mode = mode_on(capacity, network_mode)
        task = task_on(
            capacity, construct_id, expressions=expressions, family=family, network_mode=mode, ipc_mode=ipc_mode
        )
        if placement_constraints:
            task = with_constraints(task, placement_constraints, [each.pool for each in capacity])
        require_options(task, volumes or (), enable_fault_injection=enable_fault_injection)
        of_types = map(ecs.PlacementConstraint.member_of, expressions)
        super().__init__(
            scope,
            construct_id,
            family=family,
            network_mode=mode,
            ipc_mode=ipc_mode,
            pid_mode=pid_mode,
            task_role=task_role,
            execution_role=execution_role,
            placement_constraints=[*of_types, *(placement_constraints or ())] or None,
            volumes=None if volumes is None else list(volumes),
            enable_fault_injection=enable_fault_injection,
        )
        if task_role is None:
            trust_this_account(self)
        self.log_group: logs.ILogGroup = log_group or logs.LogGroup(
            self,
            "Logs",
            retention=log_retention,
            encryption_key=encryption_key_of(capacity),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        write_task(self, task, capacity)
        self.capacity: tuple[Capacity, ...] = tuple(capacity)
        self.counted = CountedContainers(self, task, capacity=self.capacity, log_group=self.log_group)
        self.server: ModelServer | None = None
        self._runners: list[ecs.Ec2Service | ec2.ISecurityGroup] = []
        for hosts in {id(each.hosts): each.hosts for each in capacity}.values():
            hosts.tasks.append(self.counted)

    @property
    def task(self) -> Task:
        """What it asks of a host so far, as the value that every check reads."""
        return self.counted.task

    @cached_property
    def caches(self) -> CacheVolumes:
        """The volumes of the caches of its servers."""
        from gpu_constructs.tasks.models.cache_storage import CacheVolumes  # noqa: PLC0415 - for those who call this

        return CacheVolumes(self, self.capacity, network_mode=self.task.network_mode, runners=self._runners)

    def let_reach_caches(self, runner: ecs.Ec2Service | ec2.ISecurityGroup) -> list[IDependable]:
        """Lets the tasks of a service or a job reach the caches; those that are added later are connected as well.

        Args:
            runner: The service, or the security group of a job.

        Returns:
            What it has to wait for, until they can be mounted.
        """
        self._runners.append(runner)
        return self.caches.connected(runner) if "caches" in self.__dict__ else []

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
        """
        require_construct_id(id)
        require_no_gpus(id, gpu_count)
        if memory_limit_mib is None and memory_reservation_mib is None:
            memory_reservation_mib = _DEFAULT_RESERVATION_MIB
        sizes = {"cpu": cpu, "memory_limit_mib": memory_limit_mib, "memory_reservation_mib": memory_reservation_mib}
        driver = logging or ecs.LogDrivers.aws_logs(stream_prefix=id, log_group=self.log_group)
        return self.counted.add_sidecar(ecs.TaskDefinition.add_container, id, {**sizes, **options, "logging": driver})

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

        It comes before the containers that log with FireLens, and is taken off the share that a GPU container gets by
        default.

        Args:
            id: The container's name.
            cpu: CPU units, 1024 to a vCPU.
            memory_limit_mib: Memory in MiB; the container is stopped if it takes more.
            memory_reservation_mib: Memory in MiB that is kept for it; it may take more.
            **options: Every other argument of `ecs.TaskDefinition.add_firelens_log_router`.
        """
        if self.counted.have_router:
            raise InvalidValueError("the task has a log router already", argument="id", value=id, fix="leave it out")
        sizes = {"cpu": cpu, "memory_limit_mib": memory_limit_mib, "memory_reservation_mib": memory_reservation_mib}
        given = {**sizes, **options}
        return self.counted.add_sidecar(ecs.TaskDefinition.add_firelens_log_router, id, given, is_router=True)

    @naming(GpuContainerOptions)
    @checked
    def add_gpu_container(
        self,
        construct_id: str,
        *,
        image: ecs.ContainerImage,
        gpus: Gpus = 1,
        **options: Unpack[GpuContainerOptions],
    ) -> ecs.ContainerDefinition:
        """Adds a container that has GPUs to itself, or a share of one.

        ECS sets ``NVIDIA_VISIBLE_DEVICES`` to the GPUs it reserves. ``NVIDIA_DRIVER_CAPABILITIES``, which it leaves
        unset, becomes ``compute,utility`` and `driver_capabilities` unless `environment` says otherwise. Locked memory
        is unlimited and the stack 64 MiB, as CUDA and NCCL expect.

        Args:
            construct_id: The container's name.
            image: Its image.
            gpus: Whole GPUs, 1 or more; ``"ALL"`` for every GPU of the host; a `GpuShare` for a share of one; on hosts
                with a part of a GPU that part, such as 0.25 on g6f.2xlarge. All containers of a task ask in one way.
            **options: What it needs of each GPU, explained at `GpuNeedOptions`, and every argument of
                `ContainerOptions`: those of CDK's ``add_container`` under the same names, `efa`, `memory_mib` and
                `shared_memory_mib`.

        Returns:
            The container; ports, mounts and dependencies are added to it as to any other.
        """
        return self.counted.add_gpu(construct_id, image, gpus, options)

    @naming(GpuContainerOptions)
    @checked
    def add_model_server(
        self,
        construct_id: str,
        *,
        server: ModelServer,
        gpus: Gpus = 1,
        cache: ModelCache | None = None,
        **options: Unpack[GpuContainerOptions],
    ) -> ecs.ContainerDefinition:
        """Adds a container that serves a model: `add_gpu_container` with the image, port and command of a server.

        A service behind a load balancer takes its health check and its grace period from the server. What is given in
        `options` is taken in place of what the server says; environment variables are added.

        A model that is known by its name is held against the GPUs: refused where its weights alone are larger, and a
        warning where too little is left for requests. What its weights take of each GPU is its `gpu_memory_gib` by
        default, which the template keeps; of other models, say it.

        Args:
            construct_id: The container's name.
            server: What it runs, such as ``ModelServer.vllm(model="Qwen/Qwen2.5-7B-Instruct")``.
            gpus: What it asks of GPUs, as in `add_gpu_container`. The server is told of several.
            cache: Where it keeps models. By default in the container, for as long as the task lives.
            **options: The other arguments of `add_gpu_container`.

        Raises:
            IncompatibleError: The capacity has no such GPUs or cache, or GPUs that the image has no code for.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for, or its GPUs
                have less memory than the weights of the model.
        """
        from gpu_constructs.tasks.models.served_container import served_container  # noqa: PLC0415 - for those who call this
        from gpu_constructs.tasks.served_memory import with_memory  # noqa: PLC0415 - for those who call this

        served = served_container(construct_id, server=server, cache=cache, gpus=gpus, capacity=self.capacity)
        given, finding = with_memory(construct_id, server, gpus, [each.pool for each in self.capacity], options)
        served.require_network(self.capacity, self.task.network_mode)
        self.counted.require_new(construct_id)
        copying = served.copying()
        copier = None if copying is None else self.add_container(f"{construct_id}Copy", **copying)
        arguments = served.arguments(given, network_mode=self.task.network_mode)
        container = self.add_gpu_container(construct_id, gpus=gpus, **arguments)
        if copier is not None:
            self.counted.limit_copy()
        if served.cache is not None:
            served.mount_in(container, copier, self.caches.volume_of(served.cache))
        self.server = self.server or server
        if finding is not None:
            announce(container, [finding])
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
        """
        return self.counted.add_neuron(construct_id, image, devices, options)

    @checked
    def run_task_command(
        self,
        *,
        capacity: Sequence[Capacity] | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
    ) -> str:
        """The ``aws ecs run-task`` line that starts one task by hand, as text for an output.

        Its capacity provider strategy makes managed scaling start a host, which a launch type does not. What is started
        by hand, nothing starts again, and ``gpu-constructs stop-tasks`` stops before the stack is destroyed. For work
        that is tried again and limited in time there is `GpuJob`.

        Args:
            capacity: Which of its capacities the task may get. By default all of them; of Auto Scaling groups and
                Managed Instances, a task uses one kind.
            security_groups: Of a task in network mode ``awsvpc``. By default it is in the default group of the VPC.
            vpc_subnets: Of a task in network mode ``awsvpc``. By default those of the hosts.
        """
        require_accelerators(self, instead="aws ecs run-task")
        used = capacity_used(capacity, self.capacity)
        interfaces = {"security_groups": security_groups, "vpc_subnets": vpc_subnets}
        return started_by_hand(self, self.counted.with_ports(), used, interfaces)
