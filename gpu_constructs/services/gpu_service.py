"""A service that keeps GPU tasks running on its task definition's capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import known_or
from gpu_constructs.cdk.calls import naming
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.fleet import Workload
from gpu_constructs.services.balancers import (
    ApplicationBalancerOptions,
    NetworkBalancerOptions,
    behind_application,
    behind_network,
)
from gpu_constructs.services.counts import Counts
from gpu_constructs.services.endpoint import NetworkEndpoint, ServiceEndpoint, Targets
from gpu_constructs.services.scaling import ScaleBy
from gpu_constructs.services.security_rules import write_rules_once
from gpu_constructs.services.service_options import ServiceOptions, known_count, with_defaults, write_past_cdk
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity, constraints_of
from gpu_constructs.tasks.workload import capacity_used, keep_exported, require_accelerators


class GpuService(ecs.Ec2Service):
    """Defines an ECS service with a capacity provider strategy, so that managed scaling makes room for its tasks.

    Its capacities get tasks by the room they have at their maximum; of `GpuCluster.add_fallback`, the first is filled
    before. Tasks are packed, so that hosts become empty and leave (Managed Instances take no placement strategy, and
    place tasks themselves); a failed deployment rolls back; tasks are not moved only to even out zones, because a moved
    GPU task needs a second GPU; tags of the service are on its tasks, so that costs can be separated. It is an
    `ecs.Ec2Service`: scaling and load balancers that CDK attaches are added to it as to any other.

    Its connections are the security group of the hosts in network mode ``bridge`` and ``host``, and its own group
    in ``awsvpc``. Load balancers that its own methods add are let in, and an Application Load Balancer that CDK
    attaches. Let in a Network Load Balancer that CDK attaches, with ``service.connections.allow_from(balancer, port)``;
    in ``bridge`` mode, a container without a host port gets any port from 32768 to 65535.

    Args:
        cluster: The cluster whose capacity the task definition names.
        task_definition: What it runs; its containers with GPUs come before this line.
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
        one_task_per_host: Whether no two tasks of the service share a host (``distinctInstance``), for which managed
            scaling counts too few hosts at a time where several tasks fit on one. By default they may.
        **options: The other arguments of `ecs.Ec2Service`, explained at `ServiceOptions`.
    """

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
        one_task_per_host: bool = False,
        **options: Unpack[ServiceOptions],
    ) -> None:
        given = options.get("placement_constraints") or ()
        if one_task_per_host and "distinctInstance" not in {each.type for each in constraints_of(given)}:
            options["placement_constraints"] = given = [*given, ecs.PlacementConstraint.distinct_instances()]
        count = known_count(
            desired_count, service_name=service_name, health_check_grace_period=health_check_grace_period
        )
        require_gpu_cluster(cluster)
        require_accelerators(task_definition, instead="an ecs.Ec2Service")
        hosts = cluster.hosts
        hosts.require_same_region(scope)
        used = capacity_used(capacity, task_definition.capacity)
        self._targets = Targets(task=task_definition, capacity=used, hosts=hosts)
        self._counts = counts = Counts(
            construct_id,
            self._targets,
            given_count=desired_count,
            count=count,
            percentages=(min_healthy_percent, max_healthy_percent),
            constraints=constraints_of(given, len(task_definition.task.constraints)),
            grace=health_check_grace_period,
        )
        counts.require_allowed(
            cluster.cluster,
            {
                "security_groups": security_groups,
                "vpc_subnets": vpc_subnets,
                "assign_public_ip": options.get("assign_public_ip") or None,
            },
        )
        self._has_grace = health_check_grace_period is not None
        super().__init__(
            scope,
            construct_id,
            cluster=hosts.cluster_for_managed_tasks if counts.is_managed else cluster.cluster,
            task_definition=task_definition,
            desired_count=None if desired_count is None else known_or(desired_count, count),
            capacity_provider_strategies=[
                each.capacity.strategy(weight=each.weight, base=each.base or None) for each in counts.shares
            ],
            min_healthy_percent=counts.percent.for_cdk.least,
            max_healthy_percent=counts.percent.for_cdk.most,
            service_name=service_name,
            health_check_grace_period=health_check_grace_period,
            enable_execute_command=enable_execute_command or None,
            security_groups=None if security_groups is None else list(security_groups),
            vpc_subnets=vpc_subnets or (hosts.subnets.selection if task_definition.task.interfaces else None),
            **with_defaults(options, is_managed=counts.is_managed),
        )
        writes_controller = not hosts.writes_no_controller(scope)
        write_past_cdk(self._resource, options, is_managed=counts.is_managed, writes_controller=writes_controller)
        keep_exported(used, scope)
        # A provider cannot leave the cluster while a service uses it, so the service has to go first
        # (containers-roadmap issue 631).
        self.node.add_dependency(hosts.association.services_depend_on, *task_definition.let_reach_caches(self))
        write_rules_once(self, scope, hosts)
        counts.begin(self, self._resource)

    @cached_property
    def _resource(self) -> ecs.CfnService:
        return cast("ecs.CfnService", self.node.find_child("Service"))

    def load_balancer_target(
        self,
        *,
        container_name: str,
        alternate_target: ecs.IAlternateTarget | None = None,
        container_port: float | None = None,
        protocol: ecs.Protocol | None = None,
    ) -> ecs.IEcsLoadBalancerTarget:
        """As in CDK. Every load balancer of the service comes through here, so here its tasks get time to load.

        Args:
            container_name: The container that gets requests.
            alternate_target: The second target group of a blue/green deployment.
            container_port: Its port. By default the first that it maps.
            protocol: Of that port. By default TCP.
        """
        if not self._has_grace:
            self._has_grace = True
            self._resource.health_check_grace_period_seconds = self._targets.loading_seconds
        return super().load_balancer_target(
            container_name=container_name,
            alternate_target=alternate_target,
            container_port=container_port,
            protocol=protocol,
        )

    @naming(ApplicationBalancerOptions)
    @checked
    def add_application_load_balancer(
        self, construct_id: str, **options: Unpack[ApplicationBalancerOptions]
    ) -> ServiceEndpoint:
        """Puts the service behind an Application Load Balancer: a new one, or a listener of yours.

        A new one is internal, because each request takes a GPU, and lets in the addresses of the VPC. It speaks TLS 1.3
        and 1.2, redirects port 80, drops header fields that are not valid, lets an answer be silent for 10 minutes, and
        may reach the container's port alone. A task gets requests after two good answers to its health check, 15
        seconds apart; it is replaced after four bad ones, once `health_check_grace_period` of the service is over.

        For a load balancer with several listeners, other TLS policies or no redirect, make it with CDK and give its
        `listener`.

        Args:
            construct_id: Its id under the service.
        """
        return behind_application(self, self._targets, construct_id, options)

    @naming(NetworkBalancerOptions)
    @checked
    def add_network_load_balancer(
        self, construct_id: str, **options: Unpack[NetworkBalancerOptions]
    ) -> NetworkEndpoint:
        """Puts the service behind a new Network Load Balancer, for connections that are not HTTP or are private.

        As with `add_application_load_balancer` it is internal, lets in the addresses of the VPC, and may reach the
        container's port alone.

        Args:
            construct_id: Its id under the service.
        """
        return behind_network(self, self._targets, construct_id, options)

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
            max_tasks: Tasks at most. By default as many as the hosts hold at their maximum. Managed Instances have no
                maximum, so it is needed there.
            scale_in_cooldown: After a change, before tasks are stopped. By default the health check grace period of the
                service, or else the time that its model server takes to load, or else 10 minutes: tasks that leave
                sooner have loaded for nothing.
            scale_out_cooldown: After a change, before the tasks that it started count as not enough. By default the
                same, because tasks that load take no load off the others yet. A queue or a backlog has none: it says
                how many tasks it takes.

        Returns:
            CDK's scaling of the service, which takes schedules and other policies.
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
