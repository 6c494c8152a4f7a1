"""What watches the GPUs of a cluster, and everything that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from gpu_constructs.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cdk.atomic import creating, rolled_back_on_error
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.managed.managed_gpu_capacity import ManagedGpuCapacity
from gpu_constructs.monitoring.cluster_events import ClusterEvents
from gpu_constructs.monitoring.daemon import collector_task

__all__ = ["GpuMonitoring"]

Capacities: TypeAlias = Callable[[], Sequence[GpuCapacity | ManagedGpuCapacity]]


class GpuMonitoring(Construct):
    """Measures the GPUs of a cluster, shows them, and raises alarms; made by `GpuCluster.add_monitoring`.

    Attributes:
        hosts: What the hosts of the cluster share.
        notify: Who is told of alarms; None for no one.
        log_group: The measurements, a line for each GPU and minute.
        events: What ECS reports of the cluster.
        task_definition: The daemon's task.
        service: The daemon: one task on each host with NVIDIA GPUs.
        dashboard: The dashboard.
        alarms: The alarms, by name.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        hosts: ClusterHosts,
        capacities: Capacities,
        notify: sns.ITopic | None = None,
        image: ecs.ContainerImage | None = None,
        per_gpu: bool = False,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
    ) -> None:
        with creating(scope, construct_id):
            super().__init__(scope, construct_id)
        with rolled_back_on_error(scope, construct_id):
            self.hosts: ClusterHosts = hosts
            self.notify: sns.ITopic | None = notify
            self._capacities = capacities
            self._per_gpu = per_gpu
            self._log_retention = log_retention
            self.log_group: logs.LogGroup = self._make_log_group("Logs")
            self.events: ClusterEvents = ClusterEvents(
                self, "Events", hosts=hosts, log_group=self._make_log_group("EventLogs")
            )
            self.task_definition: ecs.Ec2TaskDefinition = collector_task(
                self, "Collector", hosts=hosts, log_group=self.log_group, image=image
            )
            self.service: ecs.Ec2Service = ecs.Ec2Service(
                self,
                "Daemon",
                cluster=hosts.cluster_for_managed_tasks,
                task_definition=self.task_definition,
                daemon=True,
                min_healthy_percent=0,
                max_healthy_percent=100,
            )
            self.service.node.add_dependency(hosts.association.services_depend_on)
            self.dashboard: cloudwatch.Dashboard | None = self._dashboard()
            self.alarms: Mapping[str, cloudwatch.Alarm] = self._alarms()

    @property
    def capacities(self) -> Sequence[GpuCapacity | ManagedGpuCapacity]:
        """Every capacity of the cluster so far, those included that were added after the monitoring."""
        return self._capacities()

    def _make_log_group(self, construct_id: str) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            construct_id,
            retention=self._log_retention,
            encryption_key=self.hosts.encryption_key,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )

    def _dashboard(self) -> cloudwatch.Dashboard | None:
        return None

    def _alarms(self) -> Mapping[str, cloudwatch.Alarm]:
        return {}

    def add_recovery(self) -> None:
        """Replaces hosts whose GPUs fail."""
        raise NotImplementedError
