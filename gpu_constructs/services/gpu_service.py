"""A service that keeps GPU tasks running on its task definition's capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import known_or
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.fleet import PoolKind, Workload, total
from gpu_constructs.placement import pool_needs, task_slots
from gpu_constructs.services.counts import Counts
from gpu_constructs.services.deployment import Filling, Percentages, Sharer
from gpu_constructs.services.load_balanced_service import LoadBalancedService
from gpu_constructs.services.scaling import ScaleBy
from gpu_constructs.services.security_rules import connect, write_rules_once
from gpu_constructs.services.service_options import (
    ServiceOptions,
    constraints_of,
    known_count,
    require_together,
    with_defaults,
    write_past_cdk,
)
from gpu_constructs.services.target import Targets
from gpu_constructs.tasks.sidecar import require_room_for_proxy, with_proxy
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.tasks.workload import (
    capacity_used,
    keep_exported,
    require_accelerators,
    require_home,
    require_interfaces,
    shares_of,
)

_ARGUMENTS: Mapping[str, str] = {
    "CapacityProviderStrategy": "capacity",
    "NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp": "assign_public_ip",
    "AssignPublicIp DISABLED": "leave it out",
    "AssignPublicIp ENABLED": "a public address",
    "NetworkMode awsvpc": "network_mode=ecs.NetworkMode.AWS_VPC",
    "ServiceConnectConfiguration": "service_connect_configuration",
    "ServiceRegistries of Cloud Map": "cloud_map_options",
    "Strategy": "deployment_strategy",
}


class GpuService(LoadBalancedService):
    """Defines an ECS service with a capacity provider strategy, so that managed scaling makes room for its tasks.

    Its capacities get tasks by the room they have at their maximum; of a `FallbackCapacity`, the first is filled
    before. Tasks are packed, so that hosts become empty and leave (Managed Instances take no placement strategy, and
    place tasks themselves); a failed deployment rolls back; tasks are not moved only to even out zones, because a moved
    GPU task needs a second GPU; tags of the service are on its tasks, so that costs can be separated. It is an
    `ecs.Ec2Service`: scaling, Service Connect, and load balancers that CDK attaches are added to it as to any other.

    Its connections are the security group of the hosts in network mode ``bridge`` and ``host``, and its own group
    in ``awsvpc``. Load balancers that its own methods add are let in, and an Application Load Balancer that CDK
    attaches. Let in a Network Load Balancer that CDK attaches, with ``service.connections.allow_from(balancer, port)``;
    in ``bridge`` mode, a container without a host port gets any port from 32768 to 65535.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        cluster: The cluster whose capacity the task definition names.
        task_definition: What it runs.
        capacity: Which of the task definition's capacities it uses. By default all of them; of Auto Scaling groups and
            Managed Instances, a service uses one kind.
        desired_count: Tasks that it keeps running. `scale` takes it out of the template; for CDK's own
            `auto_scale_task_count` it is None, because a number would be set again by every deploy.
        min_healthy_percent: Tasks that keep running during a deployment. By default all of them if the hosts have a
            free slot at their maximum beside the most tasks of other services, else one less, without which a full
            fleet could never be deployed to; 50 where the count is not known.
        max_healthy_percent: Tasks that may run at once during a deployment. By default as many as the hosts hold at
            their maximum beside those of others, 200 % at most; 200 % where it would not be above a minimum that was
            given.
        service_name: Its name. By default CloudFormation makes one.
        health_check_grace_period: How long a load balancer's verdict on a new task is ignored. By default 10 minutes
            with a load balancer; a large model takes longer to load.
        enable_execute_command: Whether ECS Exec may open a shell in its containers. By default not.
        security_groups: Of tasks in network mode ``awsvpc``. By default one is made.
        vpc_subnets: Of tasks in network mode ``awsvpc``. By default those of the hosts.
        **options: The other arguments of `ecs.Ec2Service`, explained at `ServiceOptions` and `Ec2ServiceOptions`: how
            it is deployed, Cloud Map, Service Connect.

    Raises:
        InvalidValueError: A number is wrong by itself, or the task definition has no GPU container yet.
        DoesNotFitError: The hosts have no room for the proxy of Service Connect.
        IncompatibleError: Its capacity is of another cluster or of both kinds, or security groups or subnets are for
            tasks that have no network interface.
        RefusedByCdkError: CDK refuses it for another reason.

    Attributes:
        service_connect_ports: Where its proxy in Service Connect listens, for clients that are not services of this
            library on the same cluster: ``client.connections.allow_to(service, service.service_connect_ports[0])``.
    """

    service_connect_ports: tuple[ec2.Port, ...]

    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: GpuCluster,
        task_definition: GpuTaskDefinition,
        capacity: Sequence[Capacity] | None = None,
        desired_count: int | None = 1,
        min_healthy_percent: int | None = None,
        max_healthy_percent: int | None = None,
        service_name: str | None = None,
        health_check_grace_period: cdk.Duration | None = None,
        enable_execute_command: bool = False,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        **options: Unpack[ServiceOptions],
    ) -> None:
        count = known_count(
            desired_count, service_name=service_name, health_check_grace_period=health_check_grace_period
        )
        require_gpu_cluster(cluster)
        require_accelerators(task_definition, instead="an ecs.Ec2Service")
        require_together(options, cluster.cluster, security_groups)
        cluster.hosts.require_same_region(scope)
        used = capacity_used(capacity, task_definition.capacity)
        pools = [each.pool for each in used]
        connects = options.get("service_connect_configuration") is not None
        given_task = task_definition.counted.with_ports()
        task = with_proxy(given_task) if connects else given_task
        is_managed = used[0].pool.kind is PoolKind.MANAGED_INSTANCES
        constraints = constraints_of(options.get("placement_constraints"))
        slots = [task_slots(task, pool, constraints=constraints) for pool in pools]
        # Managed Instances have no maximum: a host comes for every task that waits.
        room = 2 * count if is_managed and isinstance(count, int) else total(slots)
        filling = Filling(alone=shares_of(used, slots), most=count, write=self._fill)
        shares = filling.shares
        strategy = options.get("deployment_strategy")
        workload = Workload(
            name=construct_id,
            task=task,
            strategy=tuple(each.item for each in shares),
            # What ECS starts with where no count is written.
            desired_count=1 if desired_count is None else count,
            constraints=constraints,
            deployment_strategy=None if strategy is None else strategy.name,
            service_connect=connects,
        )
        sharer = Sharer(
            needs=pool_needs(workload),
            copies=count,
            room=room,
            given=(min_healthy_percent, max_healthy_percent),
            write=self._deploy_with,
        )
        sharer.count(cluster.hosts.members(Sharer))
        percent = sharer.percentages
        workload = percent.on(workload)
        require_home(workload, used, cluster.cluster, _ARGUMENTS)
        require_allowed(workload, _ARGUMENTS)
        if connects:
            require_room_for_proxy(given_task, task, pools)
        require_yes(workload, "GPU140", "GPU203", arguments=_ARGUMENTS)
        has_address = options.get("assign_public_ip") or None
        of_interfaces = {
            "security_groups": security_groups,
            "vpc_subnets": vpc_subnets,
            "assign_public_ip": has_address,
        }
        require_interfaces(workload, of_interfaces, _ARGUMENTS)
        if has_address:
            addressed = replace(workload, network_configuration=True, assigns_public_ip=True)
            require_yes(addressed, "GPU126", arguments=_ARGUMENTS)
        super().__init__(
            scope,
            construct_id,
            cluster=cluster.hosts.cluster_for_managed_tasks if is_managed else cluster.cluster,
            task_definition=task_definition,
            desired_count=None if desired_count is None else known_or(desired_count, count),
            capacity_provider_strategies=[
                each.capacity.strategy(weight=each.weight, base=each.base or None) for each in shares
            ],
            min_healthy_percent=percent.for_cdk.least,
            max_healthy_percent=percent.for_cdk.most,
            service_name=service_name,
            health_check_grace_period=health_check_grace_period,
            enable_execute_command=enable_execute_command or None,
            security_groups=None if security_groups is None else list(security_groups),
            vpc_subnets=vpc_subnets or (cluster.hosts.subnets.selection if task.interfaces else None),
            **with_defaults(options, is_managed=is_managed),
        )
        writes_controller = not cluster.hosts.writes_no_controller(scope)
        write_past_cdk(self._resource, options, is_managed=is_managed, writes_controller=writes_controller)
        self._targets = Targets(
            task=task_definition,
            capacity=used,
            hosts=cluster.hosts,
            shifts_requests=workload.runs_twice_to_deploy,
            grace_is_chosen=health_check_grace_period is not None,
        )
        self._counts = Counts(
            service=self,
            resource=self._resource,
            targets=self._targets,
            workload=workload,
            percent=percent.for_cdk,
            sharer=sharer,
            filling=filling,
            given_count=desired_count,
            given_grace=health_check_grace_period,
        )
        self._counts.deploy_with(percent)
        keep_exported(used, scope)
        # A provider cannot leave the cluster while a service uses it, so the service has to go first
        # (containers-roadmap issue 631).
        self.node.add_dependency(cluster.hosts.association.services_depend_on, *task_definition.let_reach_caches(self))
        write_rules_once(self, scope, cluster.hosts)
        self.service_connect_ports = connect(self, cluster.hosts, options.get("service_connect_configuration"))
        if connects:
            task_definition.counted.keep_room_for_proxy()
        self._counts.share()

    @checked
    def scale(
        self,
        *,
        by: Sequence[ScaleBy],
        min_tasks: int = 1,
        max_tasks: int | None = None,
        scale_in_cooldown: cdk.Duration | None = None,
        scale_out_cooldown: cdk.Duration | None = None,
    ) -> ecs.ScalableTaskCount:
        """Lets the number of tasks follow the load, within what the hosts hold.

        The desired count then leaves the template, so that a deployment keeps the number there is; CloudFormation
        creates the service with one task. Percentages of deployments that were not given become ones that go on at
        every number of tasks. Capacity providers start and stop the hosts.

        Args:
            by: What the number follows: a queue or a backlog alone, or any of the others, of which the one that asks
                for the most tasks counts.
            min_tasks: Tasks at least. With 0 the service pays for no host while there is nothing to do, and the first
                request waits for a host and a model; only a queue or a backlog starts the first task again.
            max_tasks: Tasks at most. By default as many as the hosts hold at their maximum, half of them where a
                deployment runs all tasks twice. Managed Instances have no maximum, so it is needed there.
            scale_in_cooldown: After a change, before tasks are stopped. By default the health check grace period of the
                service, or else the time that its model server takes to load, or else 10 minutes: tasks that leave
                sooner have loaded for nothing.
            scale_out_cooldown: After a change, before the tasks that it started count as not enough. By default the
                same, because tasks that load take no load off the others yet. A queue or a backlog has none: it says
                how many tasks it takes.

        Returns:
            CDK's scaling of the service, which takes schedules and other policies.

        Raises:
            InvalidValueError: An argument is wrong by itself, or the service is scaled already.
            IncompatibleError: Two arguments cannot work together, such as no tasks and requests.
            RefusedByCdkError: CDK refuses it for another reason.
        """
        return self._counts.scale(
            by,
            min_tasks=min_tasks,
            max_tasks=max_tasks,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )

    @property
    def workload(self) -> Workload:
        """So many copies of its task on its capacity, as the value that every check reads."""
        return replace(self._counts.workload, task=self._targets.task.task)

    def _fill(self, first: Capacity, base: int) -> None:
        self._counts.fill(first, base)

    def _deploy_with(self, percent: Percentages) -> None:
        self._counts.deploy_with(percent)
