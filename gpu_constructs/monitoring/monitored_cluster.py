"""A cluster that can be watched, and the room that daemons take on its hosts."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns

from gpu_constructs.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cdk.arguments import known_number
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.hosts.as_cluster import AsCluster
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.hosts.given_cluster import require_own_id
from gpu_constructs.managed.managed_gpu_capacity import ManagedGpuCapacity
from gpu_constructs.monitoring.alarm_limits import AlarmLimits
from gpu_constructs.monitoring.daemon_task import KEPT
from gpu_constructs.monitoring.gpu_monitoring import GpuMonitoring
from gpu_constructs.placement import FairShare


class MonitoredCluster(AsCluster):
    """What `GpuCluster` does about monitoring and daemons.

    Attributes:
        hosts: What the hosts share.
    """

    hosts: ClusterHosts
    _capacities: list[GpuCapacity | ManagedGpuCapacity]
    _monitoring: GpuMonitoring | None = None

    @property
    def monitoring(self) -> GpuMonitoring | None:
        """What `add_monitoring` added; None before."""
        return self._monitoring

    @checked
    def add_monitoring(
        self,
        construct_id: str,
        *,
        notify: sns.ITopic | None = None,
        alarms: AlarmLimits | None = None,
        per_gpu: bool = False,
        privileged: bool = True,
        image: ecs.ContainerImage | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        log_removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> GpuMonitoring:
        """Measures the GPUs of all hosts in Auto Scaling groups, before and after this line, by a daemon.

        One small task on each host with NVIDIA GPUs, which takes no GPU. Its CPU and memory are taken off the share of
        a host that containers get by default, wherever this line stands. On ECS Managed Instances there is none:
        Container Insights, enhanced by default, measures GPUs there. On a cluster of another stack or an imported one,
        it runs on the hosts of this library alone, which say in an attribute that they have NVIDIA GPUs; where all of
        them are of `GpuCapacity.from_attributes`, there is none either, and the stack of the hosts measures them.

        Args:
            construct_id: Its id under the cluster.
            notify: Who is told of alarms, those of jobs and trainings on the cluster included: a standard topic of the
                same region, which the alarms of the account may then publish to. An imported topic has to allow it
                itself. By default alarms only change their color.
            alarms: From when on alarms go off, and which there are: ``AlarmLimits(idle_minutes=None)``. By default
                all of them.
            per_gpu: Whether each GPU of each host has metrics of its own, which CloudWatch bills one by one. By default
                they are in the log alone.
            privileged: Whether the daemon asks the driver, with ``nvidia-smi`` and the kernel log of the host: it is
                then privileged, and sees the files of the host, read-only. Without, it reads what the ECS agent of a
                GPU image of Amazon Linux 2023 writes to ``/var/run/ecs/gpu`` (amazon-ecs-agent pull requests 5040 and
                5052): no source says which release of the image was the first to do so, it has no ECC errors, and of a
                fault it has the Xid without the GPU. On Bottlerocket neither way is confirmed. What cannot be read is
                said in the log.
            image: Another image for the daemon, with Python 3 and boto3, such as a copy in a registry of your own. By
                default that of AWS Lambda for Python, from the public registry of AWS.
            log_retention: How long measurements and events are kept. By default a month.
            log_removal_policy: What becomes of them when the monitoring goes. By default they are deleted.

        Raises:
            InvalidValueError: An argument is wrong by itself, or the cluster has monitoring.
            IncompatibleError: The topic is a FIFO topic, or of another region.
        """
        if self._monitoring is not None:
            raise InvalidValueError(
                "the cluster has monitoring already",
                argument="construct_id",
                value=construct_id,
                fix="cluster.monitoring",
            )
        require_own_id(construct_id)
        self._monitoring = GpuMonitoring(
            self,
            construct_id,
            hosts=self.hosts,
            capacities=lambda: self._capacities,
            notify=notify,
            alarms=alarms,
            per_gpu=per_gpu,
            privileged=privileged,
            image=image,
            log_retention=log_retention,
            log_removal_policy=log_removal_policy,
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

        Raises:
            InvalidValueError: An argument is wrong by itself, or nothing of the share of a host would be left.
        """
        sizes = {
            name: known_number(
                name,
                value,
                smallest=0,
                unit=unit,
                fix=f"{name}={usual}",
                why="cannot be taken off the share of a host",
            )
            for name, value, usual, unit in (
                ("cpu", cpu, KEPT.cpu, "CPU units"),
                ("memory_mib", memory_mib, KEPT.memory_mib, "MiB"),
            )
        }
        share = FairShare(cpu=sizes["cpu"], memory_mib=sizes["memory_mib"])
        self.hosts.room_for_daemons(share)()
