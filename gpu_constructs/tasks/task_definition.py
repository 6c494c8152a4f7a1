"""A task definition whose containers get GPUs, checked against the hosts it may run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.overrides import naming
from gpu_constructs.cdk.own_account import trust_this_account
from gpu_constructs.cdk.refusal import require_yes
from gpu_constructs.cdk.validation import announce
from gpu_constructs.fleet import DECLARED_TYPES, METADATA_KEY, Workload
from gpu_constructs.hardware.declared import metadata_of as types_written
from gpu_constructs.models.cache_storage import CacheStorage, Runner
from gpu_constructs.models.model_cache import ModelCache
from gpu_constructs.models.model_server import ModelServer
from gpu_constructs.models.served_container import served_container
from gpu_constructs.placement import NOTHING_KEPT, FairShare, task_slots
from gpu_constructs.tasks.accelerated_container import define_container, write_requirement
from gpu_constructs.tasks.by_hand import run_task_line
from gpu_constructs.tasks.container_options import ContainerOptions, GpuContainerOptions
from gpu_constructs.tasks.container_plan import ContainerPlan, DefaultSize
from gpu_constructs.tasks.counted_containers import CountedContainers
from gpu_constructs.tasks.gpu_ask import Gpus
from gpu_constructs.tasks.gpu_container import plan_gpu_container
from gpu_constructs.tasks.gpu_needs import metadata_of, plan_needs
from gpu_constructs.tasks.log_router import Containers
from gpu_constructs.tasks.model_container import add_served_container
from gpu_constructs.tasks.neuron_container import NeuronDevices, plan_neuron_container
from gpu_constructs.tasks.proxy_room import require_known_size, with_proxy
from gpu_constructs.tasks.room_for_daemons import SharedSize, beside_daemons
from gpu_constructs.tasks.served_memory import with_memory
from gpu_constructs.tasks.task_target import Capacity, Landing, encryption_key_of, landing_on
from gpu_constructs.tasks.workload import (
    capacity_used,
    require_accelerators,
    require_home,
    require_interfaces,
    shares_of,
)

_ARGUMENTS: Mapping[str, str] = {
    "CapacityProviderStrategy": "capacity",
    "NetworkMode awsvpc": "network_mode=ecs.NetworkMode.AWS_VPC",
}


class GpuTaskDefinition(CountedContainers):
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
        ipc_mode: Whether containers share memory with each other or with the host, whose ``/dev/shm`` they then have.
            By default each has its own.
        pid_mode: Whether containers see the processes of each other or of the host. By default each sees its own.
        service_connect: Whether a service with Service Connect runs it, for which ECS adds a proxy to each task. The
            share of a host that containers get by default then leaves room for the proxy, and the task definition has
            a size, which is a limit for its containers together.
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
        services: The services that run it, and the security groups of jobs that do, so far.
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
        service_connect: bool = False,
        log_group: logs.ILogGroup | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        task_role: iam.IRole | None = None,
        execution_role: iam.IRole | None = None,
    ) -> None:
        landing = landing_on(capacity)
        if family is not None:
            require_name("family", family, fix="leave it out for a generated name")
        mode = landing.network_mode(network_mode)
        landing.require_ipc_mode(ipc_mode)
        super().__init__(
            scope,
            construct_id,
            family=family,
            network_mode=mode,
            ipc_mode=ipc_mode,
            pid_mode=pid_mode,
            task_role=task_role,
            execution_role=execution_role,
            placement_constraints=None
            if landing.expression is None
            else [ecs.PlacementConstraint.member_of(landing.expression)],
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
        for name, value in landing.properties().items():
            setattr(self._resource, name, value)
        declared = types_written([instance_type for each in capacity for instance_type in each.pool.instance_types])
        if declared:
            # Its placement constraint names them, and their hosts may be in no template of the app.
            self._resource.add_override(f"Metadata.{METADATA_KEY}.{DECLARED_TYPES}", declared)
        self.capacity: tuple[Capacity, ...] = tuple(capacity)
        self._pools = [each.pool for each in capacity]
        self.landing: Landing = landing
        task = landing.task(construct_id, family=family, network_mode=mode, ipc_mode=ipc_mode)
        self._so_far = Containers(with_proxy(task) if service_connect else task)
        hosts = {id(each.hosts): each.hosts for each in capacity}
        for each in hosts.values():
            each.tasks.append(self)
        self._has_main_container = False
        self.server: ModelServer | None = None
        self.volumes_of_caches: dict[CacheStorage, str] = {}
        self.services: list[Runner] = []

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
        unset, becomes ``compute,utility`` unless `environment` says otherwise. Locked memory is unlimited and the stack
        64 MiB, as CUDA and NCCL expect.

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

        Raises:
            InvalidValueError: An argument is wrong by itself, such as a GPU count that is not a whole number.
            IncompatibleError: The capacity has no such GPUs, or cannot share them.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for.
        """
        needs = plan_needs(options)
        self._require_new(construct_id)
        plan = plan_gpu_container(
            options.get("container_name") or construct_id,
            task=self._so_far.before(options.get("logging")),
            pools=self._pools,
            gpus=gpus,
            needs=needs,
            options=options,
            kept=self.kept_by_daemons,
        )
        return self._define(construct_id, image, plan, options)

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
            InvalidValueError: An argument is wrong by itself.
            IncompatibleError: The capacity has no such GPUs or cache, or GPUs that the image has no code for.
            DoesNotFitError: The smallest host of a capacity has less of something than the task asks for, or its GPUs
                have less memory than the weights of the model.
        """
        served = served_container(construct_id, server=server, cache=cache, gpus=gpus, capacity=self.capacity)
        given, finding = with_memory(construct_id, server, gpus, self._pools, options)
        arguments = served.arguments(given, network_mode=self.task.network_mode)
        container = add_served_container(self, construct_id, served, gpus=gpus, arguments=arguments)
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

        Raises:
            InvalidValueError: `capacity` is not a list of its capacities, or it has no container with GPUs yet.
            IncompatibleError: The capacities are of two clusters or of both kinds, or security groups or subnets are
                for tasks that have no network interface.
        """
        require_accelerators(self, instead="aws ecs run-task")
        used, task = capacity_used(capacity, self.capacity), self.task_with_ports()
        hosts, shares = used[0].hosts, shares_of(used, [task_slots(task, each.pool) for each in used])
        workload = Workload(name=self.node.id, task=task, strategy=tuple(each.item for each in shares))
        require_home(workload, used, hosts.cluster, _ARGUMENTS)
        require_yes(workload, "GPU140", arguments=_ARGUMENTS)
        require_interfaces(workload, {"security_groups": security_groups, "vpc_subnets": vpc_subnets}, _ARGUMENTS)
        groups = {"SecurityGroups": [each.security_group_id for each in security_groups]} if security_groups else {}
        return run_task_line(
            cluster_name=hosts.cluster_name,
            family=self.family,
            strategy=[each.as_api for each in shares],
            network={"Subnets": hosts.subnets_of(vpc_subnets).ids, **groups} if task.interfaces else None,
        )

    def keep_old_revisions(self) -> None:
        """Keeps the revisions that deploys replace, which something that runs goes on to start tasks of.

        CloudFormation deregisters them otherwise, and ECS starts nothing of an INACTIVE revision, see
        https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeregisterTaskDefinition.html. They cost nothing.
        """
        self._resource.add_override("UpdateReplacePolicy", "Retain")
        # As without it; cfn-lint wants both or neither (W3011).
        self._resource.add_override("DeletionPolicy", "Delete")

    @property
    def kept_by_daemons(self) -> FairShare:
        """What daemons keep of the hosts that its tasks may get, before they share it."""
        return next((each.hosts.kept for each in self.capacity if each.hosts.runs_daemons_on(each.pool)), NOTHING_KEPT)

    def room_for_daemons(self, share: FairShare) -> Callable[[], None]:
        """Makes room for daemons on its hosts in sizes that were not given.

        Args:
            share: What daemons keep of each host with NVIDIA GPUs.

        Returns:
            What does so, and can no longer fail.

        Raises:
            InvalidValueError: Its other containers take all of the share of a host that is left.
        """
        task = self._so_far.task
        if any(each.hosts.runs_daemons_on(each.pool) for each in self.capacity):
            task = beside_daemons(task, self._shared_sizes, pools=self._pools, kept=share)
        return partial(self.resize, task)

    def _define(
        self, construct_id: str, image: ecs.ContainerImage, plan: ContainerPlan, options: ContainerOptions
    ) -> ecs.ContainerDefinition:
        require_known_size(plan.task)
        has_sidecars = bool(self._so_far.ids)
        container = define_container(
            self, construct_id, image=image, plan=plan, options=options, log_group=self.log_group
        )
        if has_sidecars and not self._has_main_container:
            # CDK takes the first essential container, which may be a sidecar that has no port.
            self.default_container = container
        self._has_main_container = True
        default, before = plan.default_size, self._so_far.before(options.get("logging"))
        if default != DefaultSize():
            shared = SharedSize(default, has_router=before is not self._so_far.task)
            self._shared_sizes = {**self._shared_sizes, plan.container.name: shared}
        self._count(construct_id, plan.container, options.get("logging"))
        needs = metadata_of(plan.task)
        if plan.container.needs is not None and needs is not None:
            self._resource.add_metadata(METADATA_KEY, needs)
        if plan.requirement is not None:
            # CDK numbers the containers of a template in this order.
            write_requirement(self._resource, len(self._containers) - 1, plan.requirement)
        return container
