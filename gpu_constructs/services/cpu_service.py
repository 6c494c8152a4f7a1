"""A service without accelerators on a cluster that has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct, IValidation
from typing_extensions import Unpack

from gpu_constructs.cdk.calls import translated
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.cluster.hosts.providers import require_strategy
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts.aws_limits import DEFAULT_MAX_HEALTHY_PERCENT, FARGATE_PROVIDERS, MAX_PERCENT
from gpu_constructs.services.deployment import given_percentages
from gpu_constructs.services.security_rules import connect, write_rules_once
from gpu_constructs.services.service_options import Ec2ServiceOptions, known_count, require_together
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity, require_capacities
from gpu_constructs.tasks.workload import keep_exported


class CpuServiceOptions(Ec2ServiceOptions, total=False):
    """What a `CpuService` takes as well, under CDK's names.

    Attributes:
        capacity_provider_strategies: Providers by name, such as one that the cluster keeps, instead of `capacity`.
        daemon: Whether a task runs on every host.
        desired_count: Tasks that it keeps running.
        enable_execute_command: Whether ECS Exec may open a shell in its containers.
        health_check_grace_period: How long a load balancer's verdict on a new task is ignored.
        max_healthy_percent: Tasks that may run at once during a deployment, in percent.
        min_healthy_percent: Tasks that keep running during a deployment, in percent. By default 100, for a daemon 0.
        security_groups: Of tasks in network mode ``awsvpc``.
        service_name: Its name.
        vpc_subnets: Of tasks in network mode ``awsvpc``.
    """

    capacity_provider_strategies: Sequence[ecs.CapacityProviderStrategy] | None
    daemon: bool | None
    desired_count: int | None
    enable_execute_command: bool | None
    health_check_grace_period: cdk.Duration | None
    max_healthy_percent: int | None
    min_healthy_percent: int | None
    security_groups: Sequence[ec2.ISecurityGroup] | None
    service_name: str | None
    vpc_subnets: ec2.SubnetSelection | None


class CpuService(ecs.Ec2Service):
    """Defines an ECS service whose tasks have no accelerators, and stay off the hosts that do.

    It is deleted before the capacity providers of its cluster; otherwise the stack could not be deleted. With
    `capacity`, its tasks start hosts; without, they find hosts of the cluster that are there.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        cluster: The cluster.
        task_definition: What it runs.
        capacity: CPU capacities of the cluster that it uses, in equal shares. By default any host of the cluster.
        off_gpu_hosts: Whether its tasks stay off hosts with GPUs, Neuron devices or other accelerators, see
            `GpuCluster.off_gpu_hosts`. By default they do.
        **options: Arguments of `ecs.Ec2Service`, see `CpuServiceOptions` and `Ec2ServiceOptions`.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: A capacity has accelerators or is of another cluster, a strategy is of Fargate, or both are
            given.
        RefusedByCdkError: CDK refuses it for another reason.

    Attributes:
        service_connect_ports: Where its proxy in Service Connect listens, see `GpuService`.
    """

    service_connect_ports: tuple[ec2.Port, ...]

    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: GpuCluster,
        task_definition: ecs.TaskDefinition,
        capacity: Sequence[Capacity] | None = None,
        off_gpu_hosts: bool = True,
        **options: Unpack[CpuServiceOptions],
    ) -> None:
        known_count(
            options.get("desired_count"),
            service_name=options.get("service_name"),
            health_check_grace_period=options.get("health_check_grace_period"),
        )
        _require_percentages(options)
        require_gpu_cluster(cluster)
        require_together(options, cluster.cluster, options.get("security_groups"))
        cluster.hosts.require_same_region(scope)
        _require_task(task_definition, scope)
        strategies = options.get("capacity_provider_strategies")
        if capacity is not None:
            _require_usable(capacity, cluster, strategies, off_gpu_hosts=off_gpu_hosts)
            strategies = [each.strategy() for each in capacity]
            require_strategy(strategies, {each.capacity_provider_name: each.pool for each in capacity})
            options["capacity_provider_strategies"] = strategies
        elif strategies is not None:
            _require_hosts_for(strategies, cluster, off_gpu_hosts=off_gpu_hosts)
        # The providers of a strategy have no other hosts.
        if off_gpu_hosts and strategies is None:
            options["placement_constraints"] = [*(options.get("placement_constraints") or ()), cluster.off_gpu_hosts]
        has_controller = options.get("deployment_controller") is not None
        if not has_controller:
            options.setdefault("circuit_breaker", ecs.DeploymentCircuitBreaker(rollback=True))
        options.setdefault("min_healthy_percent", _percentages_of(options)[0])
        super().__init__(
            scope,
            construct_id,
            cluster=cluster.hosts.cluster_for_managed_tasks,
            task_definition=task_definition,
            **options,
        )
        if strategies is None:
            self.node.add_validation(_FindsHosts(cluster))
        if not has_controller:
            # CDK writes one for the circuit breaker, and CloudFormation replaces a service that gets one.
            cast("ecs.CfnService", self.node.find_child("Service")).deployment_controller = None
        self.node.add_dependency(cluster.hosts.association.services_depend_on)
        keep_exported(capacity or (), scope)
        write_rules_once(self, scope, cluster.hosts)
        self.service_connect_ports = connect(self, cluster.hosts, options.get("service_connect_configuration"))


@jsii.implements(IValidation)
class _FindsHosts:
    """Checks at synth, once the cluster has all its capacity, that a service without a strategy finds hosts."""

    def __init__(self, cluster: GpuCluster) -> None:
        self._cluster = cluster

    def validate(self) -> list[str]:
        """What is wrong, in a list; an empty one if nothing is."""
        if self._cluster.cluster.has_ec2_capacity:
            return []
        fix = "capacity=[cluster.add_capacity('Cpu', instance_types=['c7i.large'], max_instances=2)]"
        why = "ECS Managed Instances run only what a capacity provider strategy sends to them"
        return [f"the cluster has no Auto Scaling group, and {why}; fix: {fix}"]


def _percentages_of(options: CpuServiceOptions) -> tuple[int, int]:
    """The percentages of a service that is given none; those of a daemon are CDK's."""
    return (0, MAX_PERCENT) if options.get("daemon") else (MAX_PERCENT, DEFAULT_MAX_HEALTHY_PERCENT)


def _require_percentages(options: CpuServiceOptions) -> None:
    low, high = options.get("min_healthy_percent"), options.get("max_healthy_percent")
    least, most = _percentages_of(options)
    given_percentages(least if low is None else low, most if high is None else high)


def _require_task(task_definition: ecs.TaskDefinition, scope: Construct) -> None:
    """Refuses a task that needs accelerators, has nothing to run, or is of another app."""
    if isinstance(task_definition, GpuTaskDefinition):
        raise InvalidValueError(
            "a GpuTaskDefinition runs on the hosts of its capacity",
            argument="task_definition",
            value=shown(task_definition),
            fix="a GpuService for it, or an ecs.Ec2TaskDefinition",
        )
    if task_definition.default_container is None:
        raise InvalidValueError(
            "the task definition has no essential container",
            argument="task_definition",
            fix="add_container before the service",
        )
    with translated():
        of_task = task_definition._containers  # noqa: SLF001 - protected in CDK, which has no other list of them
        containers = [each.render_container_definition() for each in of_task]
    for each in containers:
        if each.resource_requirements:
            raise InvalidValueError(
                f"{each.name} asks for accelerators, which the hosts of a CpuService have none of",
                argument="task_definition",
                value=each.name,
                fix="a GpuTaskDefinition and a GpuService for it",
            )
    if task_definition.node.root != scope.node.root:
        raise IncompatibleError(
            "the task definition is of another app, and what is of two apps cannot be deployed together",
            argument="task_definition",
            value=task_definition,
            fix="a task definition of this app",
        )


def _require_usable(
    capacity: Sequence[Capacity],
    cluster: GpuCluster,
    strategies: Sequence[ecs.CapacityProviderStrategy] | None,
    *,
    off_gpu_hosts: bool,
) -> None:
    require_capacities(capacity)
    if strategies is not None:
        raise IncompatibleError(
            "capacity and capacity_provider_strategies both say which providers the tasks use",
            argument="capacity_provider_strategies",
            value=strategies,
            fix="leave one of them out",
        )
    for each in capacity:
        if each.cluster is not cluster.cluster:
            raise IncompatibleError(
                f"{each.pool.name} is capacity of another cluster",
                argument="capacity",
                value=each.pool.name,
                fix="capacity of the cluster of the service",
                rule="GPU217",
            )
        _require_off_gpu_hosts(each, "capacity", off_gpu_hosts=off_gpu_hosts)


def _require_hosts_for(
    strategies: Sequence[ecs.CapacityProviderStrategy], cluster: GpuCluster, *, off_gpu_hosts: bool
) -> None:
    """Refuses providers that have no hosts, and those whose hosts the tasks are to stay off."""
    argument = "capacity_provider_strategies"
    capacities = {each.capacity_provider_name: each for each in cluster.capacities}
    if not strategies:
        raise InvalidValueError(
            "a strategy names at least one capacity provider",
            argument=argument,
            value=strategies,
            fix="leave it out for any host of the cluster, or capacity=[…]",
        )
    require_strategy(strategies, {name: each.pool for name, each in capacities.items()}, argument=argument)
    for provider in (each.capacity_provider for each in strategies):
        if provider in FARGATE_PROVIDERS:
            raise IncompatibleError(
                f"{provider} has no hosts, and the service is an ecs.Ec2Service",
                argument=argument,
                value=provider,
                fix="an ecs.FargateService",
            )
        if provider in capacities:
            _require_off_gpu_hosts(capacities[provider], argument, off_gpu_hosts=off_gpu_hosts)


def _require_off_gpu_hosts(capacity: Capacity, argument: str, *, off_gpu_hosts: bool) -> None:
    pool = capacity.pool
    if off_gpu_hosts and pool.shape is not None and pool.shape.vendor is not None:
        raise IncompatibleError(
            f"{pool.name} has hosts with accelerators, and the tasks are to stay off them",
            argument=argument,
            value=pool.name,
            fix="CPU capacity, or off_gpu_hosts=False to use what their containers leave",
        )
