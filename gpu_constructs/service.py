"""A service that keeps GPU tasks running on its task definition's capacity."""

from __future__ import annotations

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.arguments import whole_number
from gpu_constructs.cluster import GpuCluster
from gpu_constructs.construction import whole_or_nothing
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.placement import rollout, task_slots
from gpu_constructs.task_definition import GpuTaskDefinition

__all__ = ["GpuService"]


class GpuService(ecs.Ec2Service):
    """Defines an ECS service with a capacity provider strategy, so that managed scaling makes room for its tasks.

    Tasks are packed, so that hosts become empty and leave; a failed deployment rolls back; tasks are not moved only to
    even out zones, because a moved GPU task needs a second GPU. An `ecs.Ec2Service` in every other respect: load
    balancers, scaling and Service Connect are added to it as to any other.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        cluster: The cluster whose capacity the task definition names.
        task_definition: What it runs.
        desired_count: Tasks that it keeps running.
        min_healthy_percent: Tasks that keep running during a deployment. By default all of them if the hosts have a
            free slot at their maximum, else one less, without which a full fleet could never be deployed to.
        max_healthy_percent: Tasks that may run at once during a deployment. By default as many as the hosts hold at
            their maximum, 200 at most.

    Raises:
        InvalidValueError: The count is not a whole number, or the task definition has no container yet.
        IncompatibleError: The task definition runs on capacity of another cluster.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: GpuCluster,
        task_definition: GpuTaskDefinition,
        desired_count: int = 1,
        min_healthy_percent: int | None = None,
        max_healthy_percent: int | None = None,
    ) -> None:
        count = whole_number("desired_count", desired_count, smallest=0, unit="tasks", fix="desired_count=1")
        _require_task(cluster, task_definition)
        percent = rollout(count, task_slots(task_definition.task, [each.pool for each in task_definition.capacity]))
        with whole_or_nothing(scope, construct_id):
            super().__init__(
                scope,
                construct_id,
                cluster=cluster.cluster,
                task_definition=task_definition,
                desired_count=desired_count,
                capacity_provider_strategies=[each.strategy() for each in task_definition.capacity],
                min_healthy_percent=percent.min_healthy_percent if min_healthy_percent is None else min_healthy_percent,
                max_healthy_percent=percent.max_healthy_percent if max_healthy_percent is None else max_healthy_percent,
                circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
                availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
                placement_strategies=[ecs.PlacementStrategy.packed_by_memory()],
            )
            # A provider cannot leave the cluster while a service uses it, so the service has to go first
            # (containers-roadmap issue 631).
            self.node.add_dependency(cluster.hosts.association)


def _require_task(cluster: GpuCluster, task_definition: GpuTaskDefinition) -> None:
    if not isinstance(cluster, GpuCluster):
        raise InvalidValueError(
            f"expects a GpuCluster, got {cluster!r}",
            argument="cluster",
            value=cluster,
            fix="GpuCluster(self, 'Gpu', cluster=…) around a cluster that you already have",
        )
    if not isinstance(task_definition, GpuTaskDefinition):
        raise InvalidValueError(
            f"expects a GpuTaskDefinition, got {task_definition!r}", argument="task_definition", value=task_definition
        )
    foreign = [each.pool.name for each in task_definition.capacity if each not in cluster.capacities]
    if foreign:
        raise IncompatibleError(
            f"the task definition runs on capacity that is not of this cluster: {', '.join(foreign)}",
            argument="task_definition",
            value=foreign,
            fix="the cluster that this capacity was added to",
        )
    if not task_definition.task.containers:
        raise InvalidValueError(
            "the task definition has no GPU container",
            argument="task_definition",
            fix="add_gpu_container before the service; a service without GPUs is an ecs.Ec2Service",
        )
