"""A service without accelerators on a cluster that has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.fleet import StrategyItem, Workload
from gpu_constructs.services.security_rules import write_rules_once
from gpu_constructs.services.service_options import ServiceOptions, known_count
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity, constraints_of, require_capacities
from gpu_constructs.tasks.workload import keep_exported, require_home


class CpuServiceOptions(ServiceOptions, total=False):
    """What a `CpuService` takes as well, under CDK's names.

    Attributes:
        capacity_provider_strategies: Providers by name, such as one that the cluster keeps, instead of `capacity`.
        daemon: Whether a task runs on every host. By default not.
        desired_count: Tasks that it keeps running. By default 1 when it is created, and later as many as there are.
        enable_execute_command: Whether ECS Exec may open a shell in its containers. By default not.
        health_check_grace_period: How long a load balancer's verdict on a new task is ignored. By default 60 seconds
            with a load balancer.
        max_healthy_percent: Tasks that may run at once during a deployment. By default 200 %, for a daemon 100 %.
        min_healthy_percent: Tasks that keep running during a deployment. By default 100 %, for a daemon 0 %.
        security_groups: Of tasks in network mode ``awsvpc``. By default one is made.
        service_name: Its name. By default CloudFormation makes one.
        vpc_subnets: Of tasks in network mode ``awsvpc``. By default private ones, public ones with a public address.
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
        cluster: The cluster.
        task_definition: What it runs.
        capacity: CPU capacities of the cluster that it uses, in equal shares. By default any host of the cluster.
        off_gpu_hosts: Whether its tasks stay off hosts with GPUs, Neuron devices or other accelerators, see
            `GpuCluster.off_gpu_hosts`. By default they do.
        **options: Arguments of `ecs.Ec2Service`, see `CpuServiceOptions` and `ServiceOptions`.
    """

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
        require_gpu_cluster(cluster)
        cluster.hosts.require_same_region(scope)
        if isinstance(task_definition, GpuTaskDefinition):
            raise InvalidValueError(
                "a GpuTaskDefinition runs on the hosts of its capacity",
                argument="task_definition",
                value=shown(task_definition),
                fix="a GpuService for it, or an ecs.Ec2TaskDefinition",
            )
        strategies = options.get("capacity_provider_strategies")
        if capacity is not None:
            require_capacities(capacity)
            if strategies is not None:
                raise IncompatibleError(
                    "capacity and capacity_provider_strategies both say which providers the tasks use",
                    argument="capacity_provider_strategies",
                    value=strategies,
                    fix="leave one of them out",
                )
            options["capacity_provider_strategies"] = strategies = [each.strategy() for each in capacity]
            items = tuple(StrategyItem(provider=each.pool.name, pool=each.pool, weight=1) for each in capacity)
            workload = Workload(name=construct_id, task=None, strategy=items)
            require_home(workload, capacity, cluster.cluster, {"CapacityProviderStrategy": "capacity"})
        if off_gpu_hosts:
            _require_off_gpu_hosts(strategies or (), cluster, capacity or ())
        # The providers of a strategy have no other hosts.
        stays_off = off_gpu_hosts and strategies is None
        constraints_of(options.get("placement_constraints"), int(stays_off))
        if stays_off:
            options["placement_constraints"] = [*(options.get("placement_constraints") or ()), cluster.off_gpu_hosts]
        has_controller = options.get("deployment_controller") is not None
        if not has_controller:
            options.setdefault("circuit_breaker", ecs.DeploymentCircuitBreaker(rollback=True))
        options.setdefault("min_healthy_percent", 0 if options.get("daemon") else MAX_PERCENT)
        super().__init__(
            scope,
            construct_id,
            # CDK knows no more of Managed Instances than that they are no Auto Scaling group.
            cluster=cluster.cluster if strategies is None else cluster.hosts.cluster_for_managed_tasks,
            task_definition=task_definition,
            **options,
        )
        if not has_controller:
            # CDK writes one for the circuit breaker, and CloudFormation replaces a service that gets one.
            cast("ecs.CfnService", self.node.find_child("Service")).deployment_controller = None
        self.node.add_dependency(cluster.hosts.association.services_depend_on)
        keep_exported(capacity or (), scope)
        write_rules_once(self, scope, cluster.hosts)


def _require_off_gpu_hosts(
    strategies: Sequence[ecs.CapacityProviderStrategy], cluster: GpuCluster, capacity: Sequence[Capacity]
) -> None:
    pools = {each.capacity_provider_name: each.pool for each in (*cluster.capacities, *capacity)}
    for each in strategies:
        pool = pools.get(each.capacity_provider)
        if pool is not None and pool.shape is not None and pool.shape.vendor is not None:
            raise IncompatibleError(
                f"{pool.name} has hosts with accelerators, and the tasks are to stay off them",
                argument="capacity" if capacity else "capacity_provider_strategies",
                value=pool.name,
                fix="CPU capacity, or off_gpu_hosts=False to use what their containers leave",
            )
