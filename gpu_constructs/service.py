"""A service that keeps GPU tasks running on its task definition's capacity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.arguments import known_or, whole_number
from gpu_constructs.cluster import GpuCluster
from gpu_constructs.construction import creating
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.notices import warn
from gpu_constructs.placement import Rollout, rollout, task_slots
from gpu_constructs.rules import service_findings
from gpu_constructs.task_definition import GpuTaskDefinition
from gpu_constructs.tokens import is_token

__all__ = ["GpuService"]

MAX_WEIGHT = 1000
"""Largest weight of a strategy's item (CapacityProviderStrategyItem of the ECS API)."""

_DOUBLE = 200


class GpuService(ecs.Ec2Service):
    """Defines an ECS service with a capacity provider strategy, so that managed scaling makes room for its tasks.

    Its capacities get tasks by the room they have at their maximum. Tasks are packed, so that hosts become empty and
    leave; a failed deployment rolls back; tasks are not moved only to even out zones, because a moved GPU task needs a
    second GPU. An `ecs.Ec2Service` in every other respect: load balancers, scaling and Service Connect are added to it
    as to any other.

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
        task, pools = task_definition.task, [each.pool for each in task_definition.capacity]
        slots = [task_slots(task, pool) for pool in pools]
        percent = _percent(rollout(count, _all(slots)), min_healthy_percent, max_healthy_percent)
        by_token = any(map(is_token, percent))
        with creating(scope, construct_id):
            super().__init__(
                scope,
                construct_id,
                cluster=cluster.cluster,
                task_definition=task_definition,
                desired_count=known_or(desired_count, count),
                capacity_provider_strategies=[
                    each.strategy(weight=weight)
                    for each, weight in zip(task_definition.capacity, _weights(slots), strict=True)
                ],
                min_healthy_percent=None if by_token else percent[0],
                max_healthy_percent=None if by_token else percent[1],
                circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
                availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
                placement_strategies=[ecs.PlacementStrategy.packed_by_memory()],
            )
        if by_token:
            self._set_percent(*percent)
        # A provider cannot leave the cluster while a service uses it, so the service has to go first
        # (containers-roadmap issue 631).
        self.node.add_dependency(cluster.hosts.association)
        known = None if by_token else Rollout(min_healthy_percent=percent[0], max_healthy_percent=percent[1])
        warn(self, service_findings(task, pools, count, known))

    def _set_percent(self, low: int, high: int) -> None:
        """Writes both percentages past CDK, which compares tokens as if they were numbers."""
        resource = cast("ecs.CfnService", self.node.find_child("Service"))
        resource.add_property_override("DeploymentConfiguration.MinimumHealthyPercent", low)
        resource.add_property_override("DeploymentConfiguration.MaximumPercent", high)


def _all(slots: Sequence[int | Unknown]) -> int | Unknown:
    known = [each for each in slots if not isinstance(each, Unknown)]
    return sum(known) if len(known) == len(slots) else UNKNOWN


def _weights(slots: Sequence[int | Unknown]) -> list[int]:
    """Shares of the tasks by the room there is: ECS moves no task from a provider that is full to another."""
    known = [each for each in slots if not isinstance(each, Unknown)]
    if len(known) < len(slots) or not all(known):
        return [1] * len(slots)
    divisor = max(math.gcd(*known), -(-max(known) // MAX_WEIGHT))
    return [max(1, each // divisor) for each in known]


def _percent(default: Rollout, low: int | None, high: int | None) -> tuple[int, int]:
    """Both percentages: what was given, and beside it a default that goes with it."""
    if low is None and high is None:
        return default.min_healthy_percent, default.max_healthy_percent
    if low is None:
        most = _known_percent("max_healthy_percent", high or 0, smallest=1)
        return (0 if isinstance(most, Unknown) else min(default.min_healthy_percent, most - 1)), known_or(
            high or 0, most
        )
    least = _known_percent("min_healthy_percent", low, smallest=0)
    if high is None:
        room = default.max_healthy_percent
        enough = not isinstance(least, Unknown) and least < room
        return known_or(low, least), room if enough else _DOUBLE
    most = _known_percent("max_healthy_percent", high, smallest=1)
    if not isinstance(least, Unknown) and not isinstance(most, Unknown) and least >= most:
        raise InvalidValueError(
            f"{least} % that keep running and {most} % at most leave a deployment nothing to do",
            argument="min_healthy_percent",
            value=low,
            allowed=f"less than {most}",
            fix="leave both out for percentages that let a deployment go on",
        )
    return known_or(low, least), known_or(high, most)


def _known_percent(argument: str, value: int, *, smallest: int) -> int | Unknown:
    fix = "leave it out for one that lets a deployment go on"
    return whole_number(argument, value, smallest=smallest, unit="percent", fix=fix)


def _require_task(cluster: GpuCluster, task_definition: GpuTaskDefinition) -> None:
    if not isinstance(cluster, GpuCluster):
        raise InvalidValueError(
            f"expects a GpuCluster, got {shown(cluster)}",
            argument="cluster",
            value=cluster,
            fix="GpuCluster(self, 'Gpu', cluster=…) around a cluster that you already have",
        )
    if not isinstance(task_definition, GpuTaskDefinition):
        raise InvalidValueError(
            f"expects a GpuTaskDefinition, got {shown(task_definition)}",
            argument="task_definition",
            value=task_definition,
            fix="an ecs.Ec2Service for a task without GPUs",
        )
    # Two GpuClusters around one cluster share its capacity.
    foreign = [each.pool.name for each in task_definition.capacity if each.cluster is not cluster.cluster]
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
