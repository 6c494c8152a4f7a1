"""An ECS cluster that knows its GPU capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import known_number, texts
from gpu_constructs.cdk.calls import naming, stack_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.validation import GpuChecks
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.capacity.plan import (
    CapacityChoice,
    CapacityOptions,
    CapacityPlan,
    naming_options,
    plan_capacity,
)
from gpu_constructs.cluster.capacity.several import plan_family, plan_order
from gpu_constructs.cluster.capacity.user_data import OFF_ACCELERATORS
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.hosts.given_cluster import (
    AsCluster,
    NewClusterOptions,
    network_of,
    options_of_new,
    require_own_id,
)
from gpu_constructs.cluster.hosts.providers import require_strategy
from gpu_constructs.cluster.monitoring.options import KEPT, MonitoringOptions
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.placement.pool_profile import FairShare

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from gpu_constructs.cluster.capacity.purchase import Purchase
    from gpu_constructs.cluster.managed import ManagedGpuCapacity, ManagedOperation, ManagedStorage
    from gpu_constructs.cluster.monitoring.gpu_monitoring import GpuMonitoring


class GpuCluster(AsCluster):
    """Defines an ECS cluster with enhanced Container Insights, and what all its hosts share.

    Underneath: the cluster, an instance role with the permissions of the ECS agent and Session Manager and no others,
    its instance profile, and a security group that lets nothing in. Capacity is added with `add_capacity`; without any,
    the cluster runs nothing. CDK takes it as an `ecs.ICluster`.

    Args:
        vpc: Where the cluster and its hosts run. Needed unless `cluster` is given; by default that cluster's own.
        cluster: A cluster that the app already has, defined in this stack, in another one, or imported. By default a
            new one is defined. On a cluster of another stack or an imported one, this stack writes the whole list of
            its capacity providers and its default strategy, over those that it has.
        keep_capacity_providers: Names of the providers that such a cluster has and keeps, ``FARGATE`` included; an
            empty list if it has none. The list then outlives this stack. By default they are lost: GPU195 warns of
            that at synth for an imported cluster, and a list that another stack of this app writes is refused.
        default_strategy: The default strategy that such a cluster has and keeps, of these providers; an empty list if
            it has none. For one over capacity that is added here, see `set_default_strategy`.
        vpc_subnets: Subnets of the hosts. By default the private subnets with a way out, through NAT or otherwise.
        associate_public_ip_address: Whether hosts in public subnets get a public address, by which they reach ECS
            without NAT. By default not.
        encryption_key: A symmetric key for EBS volumes of hosts and default log groups of tasks, whose policy is added
            to; docs/security.md says what an imported one must allow. By default keys of AWS.
        **options: What only a new cluster is given, explained at `NewClusterOptions`: its name, Container Insights, ECS
            Exec.

    Raises:
        InvalidValueError: Neither or not the right kind of `vpc` and `cluster`, a VPC without private subnets, or an
            argument of a new cluster for one that is there.
        IncompatibleError: Another stack writes the list of the cluster, or the cluster is in another region.

    Attributes:
        cluster: The ECS cluster, as services of this stack see it.
        hosts: What the hosts share.
    """

    @naming(NewClusterOptions)
    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc | None = None,
        cluster: ecs.ICluster | None = None,
        keep_capacity_providers: Sequence[str] | None = None,
        default_strategy: Sequence[ecs.CapacityProviderStrategy] | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        associate_public_ip_address: bool = False,
        encryption_key: kms.IKey | None = None,
        **options: Unpack[NewClusterOptions],
    ) -> None:
        if vpc is None and cluster is None:
            raise InvalidValueError(
                "a cluster needs a network, and none was given", argument="vpc", fix='vpc=ec2.Vpc(self, "Vpc")'
            )
        of_new = options_of_new(options, is_new=cluster is None)
        if keep_capacity_providers is not None:
            texts("keep_capacity_providers", keep_capacity_providers, example="['FARGATE']")
        if default_strategy is not None:
            require_strategy(default_strategy, {}, argument="default_strategy")
        if not isinstance(scope, cdk.Stack):
            stack_of(scope)  # of a half-made cluster outside of a stack, CDK's own error would hide the refusal
        super().__init__(scope, construct_id)
        of_hosts = getattr(cluster, "cluster", cluster) or ecs.Cluster(self, "Cluster", vpc=vpc, **of_new)
        self.hosts: ClusterHosts = ClusterHosts(
            self,
            cluster=of_hosts,
            is_new=cluster is None,
            vpc=vpc or network_of(of_hosts),
            vpc_subnets=vpc_subnets,
            associate_public_ip_address=associate_public_ip_address,
            encryption_key=encryption_key,
            keeps=keep_capacity_providers,
            default_strategy=default_strategy,
            stack=scope if isinstance(scope, cdk.Stack) else None,
        )
        self.cluster = self.hosts.cluster
        self._capacities: list[GpuCapacity | ManagedGpuCapacity] = []
        self._monitoring: GpuMonitoring | None = None
        GpuChecks.add_to(self)

    @property
    def capacities(self) -> tuple[GpuCapacity | ManagedGpuCapacity, ...]:
        """Every capacity so far, in the order in which they were added."""
        return tuple(self._capacities)

    @checked
    def set_default_strategy(self, strategy: Sequence[ecs.CapacityProviderStrategy]) -> None:
        """Sets where tasks go that are started without a strategy and without a launch type.

        With ``[l4.strategy()]``, ``aws ecs run-task`` and `aws_cdk.aws_events_targets.EcsTask` (in network mode
        ``bridge`` or ``host``) start hosts; by default a cluster has no such strategy, and their tasks find only hosts
        that are there.

        Args:
            strategy: Items of the cluster's capacities and of providers that it keeps: ``[l4.strategy(weight=1)]``.
        """
        known = {
            each.capacity_provider_name: replace(each.pool, cluster=each.cluster.node.path, associated=True)
            for cluster in (*self.node.root.node.find_all(), self)  # whose own come last where names are equal
            if isinstance(cluster, GpuCluster)
            for each in cluster.capacities
        }
        require_strategy(strategy, known, cluster=self.cluster.node.path)
        self.hosts.association.set_default_strategy(strategy)

    @property
    def off_gpu_hosts(self) -> ecs.PlacementConstraint:
        """Keeps tasks of plain CDK off hosts of this library that have accelerators, and lets them onto any other.

        A placement constraint of a service or of a task definition; a `CpuService` has it already.
        """
        return ecs.PlacementConstraint.member_of(OFF_ACCELERATORS)

    @property
    def host_role(self) -> iam.Role:
        """The role of all hosts; grant it what hosts need beyond the ECS agent and Session Manager."""
        return self.hosts.role

    @property
    def host_security_group(self) -> ec2.SecurityGroup:
        """The security group of all hosts, which lets nothing in by itself."""
        return self.hosts.security_group

    @naming_options
    @checked
    def add_capacity(
        self,
        construct_id: str,
        *,
        instance_types: Sequence[str],
        max_instances: int,
        capacity_provider_name: str | None = None,
        **options: Unpack[CapacityOptions],
    ) -> GpuCapacity:
        """Defines a capacity provider over instance types of one shape, CPU types included.

        Args:
            construct_id: Its id under the cluster.
            instance_types: What it may launch, preferred first, such as ``["g6.xlarge", "g6.2xlarge"]``. All have the
                same number of accelerators of one vendor and the same architecture, because ECS managed scaling looks
                at the smallest only.
            max_instances: Hosts at most. From zero, ECS starts two at once unless this is 1. 0 pauses the capacity:
                no task starts on it.
            capacity_provider_name: Name of the provider, which it keeps for life: for another name, or for none, add
                another capacity and remove this one in the next deploy. By default CloudFormation makes one.
            **options: The other arguments, explained at `CapacityOptions`: hosts at least, their image, how they are
                bought, come and leave, store and are connected.

        Raises:
            IncompatibleError: The types have different shapes, no ECS image drives one, `image` cannot, or another
                stack writes the cluster's list of providers.
        """
        choice = CapacityChoice(
            construct_id,
            instance_types=instance_types,
            max_instances=max_instances,
            capacity_provider_name=capacity_provider_name,
            **options,
        )
        require_own_id(construct_id)
        plan = plan_capacity(choice, self.hosts)
        self.hosts.association.require_free(capacity_provider_name)
        return self._make_all([plan])[0]

    @checked
    def add_managed_capacity(
        self,
        construct_id: str,
        *,
        instance_types: Sequence[str],
        purchase: Purchase | None = None,
        storage: ManagedStorage | None = None,
        operation: ManagedOperation | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        capacity_provider_name: str | None = None,
    ) -> ManagedGpuCapacity:
        """Defines a capacity provider of ECS Managed Instances, whose hosts AWS chooses, patches and replaces.

        ECS starts a host for each task if needed, from zero and without a limit. Tasks on them have network
        mode ``awsvpc`` or ``host``, and no larger ``/dev/shm``.

        Args:
            construct_id: Its id under the cluster.
            instance_types: What it may launch, such as ``["g6.xlarge", "g6.12xlarge"]``; ECS takes the cheapest that
                takes the task. All have one architecture and one kind of accelerator. ``gpu-constructs instances``
                lists those with a number of GPUs, a model or so much memory.
            purchase: How the hosts are bought: on demand, which is the default, ``Purchase.spot()``, or
                ``Purchase.reservations(resource_group_arn=…)``.
            storage: Where hosts keep images and scratch data. By default on a volume of 100 GiB.
            operation: How ECS repairs and ends the hosts. By default it repairs them, and ends them as it sees fit.
            vpc_subnets: Subnets of these hosts. By default those of the cluster.
            capacity_provider_name: Name of the provider. By default CloudFormation makes one.
        """
        from gpu_constructs.cluster.managed import ManagedGpuCapacity  # noqa: PLC0415 - for those who call this

        require_own_id(construct_id)
        capacity = ManagedGpuCapacity(
            self,
            construct_id,
            hosts=self.hosts,
            instance_types=instance_types,
            purchase=purchase,
            storage=storage,
            operation=operation,
            vpc_subnets=vpc_subnets,
            capacity_provider_name=capacity_provider_name,
        )
        self._has_now([capacity])
        return capacity

    @naming_options
    @checked
    def add_family(
        self,
        family: str,
        *,
        max_instances: int,
        **options: Unpack[CapacityOptions],
    ) -> dict[float, GpuCapacity]:
        """Defines one capacity provider for each GPU shape of a family, with every type of that shape in it.

        Smaller types are preferred; where they are out of stock, larger and dearer ones of the same shape may start.
        Construct ids are the family and the GPUs of a host, ``g6-4``.

        Args:
            family: A family of instance types, such as ``g6`` or ``p6-b200``.
            max_instances: Hosts at most, for each shape. 0 pauses the capacities: no task starts on them.
            **options: The other arguments, explained at `CapacityOptions`; `min_instances` is for each shape as well.

        Returns:
            The capacities by GPUs of a host, from the smallest hosts to the largest:
            ``cluster.add_family("g6", max_instances=2)[4]``, or by its part of one GPU, ``[0.125]``.
        """
        choice = CapacityChoice("Family", instance_types=(), max_instances=max_instances, **options)
        plans = plan_family(family, choice, self.hosts)
        return dict(sorted(zip(plans, self._make_all(list(plans.values())), strict=True)))

    @checked
    def add_fallback(self, construct_id: str, *, order: Sequence[CapacityChoice]) -> tuple[GpuCapacity, ...]:
        """Defines several capacity providers for the same tasks: the first is filled, the others share the rest.

        A `GpuService` places as many tasks on the first as it has room for at its maximum, and shares the rest out
        among the others by their room: one provider of a strategy can have a base, and the others have weights. ECS
        chooses when it creates a task, and never moves one that waits, so a first capacity without hosts at EC2 keeps
        its tasks waiting
        (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html). Retries of a
        `GpuJob` do not move on either; a `GpuBatchQueue` does, with its environments.

        Args:
            construct_id: What the ids of the capacities begin with.
            order: The capacities, the one to fill first, such as a reservation, and then those that share the rest,
                such as on demand and spot.

        Raises:
            InvalidValueError: Fewer than two choices, or an argument of one is wrong by itself.
            IncompatibleError: The choices have different architectures, or one of them is impossible.
        """
        return tuple(self._make_all(plan_order(construct_id, order, self.hosts)))

    @property
    def monitoring(self) -> GpuMonitoring | None:
        """What `add_monitoring` added; None before."""
        return self._monitoring

    @naming(MonitoringOptions)
    @checked
    def add_monitoring(self, construct_id: str, **options: Unpack[MonitoringOptions]) -> GpuMonitoring:
        """Measures the GPUs of all hosts in Auto Scaling groups, before and after this line, by a daemon.

        One small task on each host with NVIDIA GPUs, which takes no GPU. Its CPU and memory are taken off the share of
        a host that containers get by default, wherever this line stands. On ECS Managed Instances there is none:
        Container Insights, enhanced by default, measures GPUs there. On a cluster of another stack or an imported one,
        it runs on the hosts of this library alone, which say in an attribute that they have NVIDIA GPUs; where all of
        them are of `GpuCapacity.from_attributes`, there is none either, and the stack of the hosts measures them.

        Args:
            construct_id: Its id under the cluster.
            **options: Who is told, when, and how long measurements are kept, explained at `MonitoringOptions`.
        """
        from gpu_constructs.cluster.monitoring.gpu_monitoring import GpuMonitoring  # noqa: PLC0415 - for those who call this

        if self._monitoring is not None:
            text = "the cluster has monitoring already"
            raise InvalidValueError(text, argument="construct_id", value=construct_id, fix="cluster.monitoring")
        require_own_id(construct_id)
        self._monitoring = GpuMonitoring(
            self, construct_id, hosts=self.hosts, capacities=lambda: self._capacities, **options
        )
        return self._monitoring

    @checked
    def leave_room_for_daemons(self, *, cpu: int = KEPT.cpu, memory_mib: int = KEPT.memory_mib) -> None:
        """Takes what a daemon needs off the share of a host that containers get by default, wherever this line stands.

        For daemons of your own on hosts with NVIDIA GPUs. The daemon of `add_monitoring` leaves itself room; before
        monitoring is taken away, this line takes its place for one deploy, because CloudFormation deletes the daemon
        last, after larger tasks have started.

        Args:
            cpu: CPU units that the daemon asks for; by default those of the daemon that measures GPUs.
            memory_mib: Its memory in MiB; by default likewise. Each call adds to what is kept.
        """
        why = "cannot be taken off the share of a host"
        self.hosts.room_for_daemons(
            FairShare(
                cpu=known_number("cpu", cpu, smallest=0, unit="CPU units", fix=f"cpu={KEPT.cpu}", why=why),
                memory_mib=known_number(
                    "memory_mib", memory_mib, smallest=0, unit="MiB", fix=f"memory_mib={KEPT.memory_mib}", why=why
                ),
            )
        )

    def _make_all(self, plans: Sequence[CapacityPlan]) -> list[GpuCapacity]:
        made = [GpuCapacity(self, plan.pool.name, hosts=self.hosts, plan=plan) for plan in plans]
        self._has_now(made)
        return made

    def _has_now(self, made: Sequence[GpuCapacity | ManagedGpuCapacity]) -> None:
        self._capacities += made
        if self._monitoring is not None:
            for each in made:
                self._monitoring.watch(each)
