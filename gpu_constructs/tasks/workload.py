"""What a service, a job and a task that is started by hand have in common: capacity, and the strategy over it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.cdk.refusal import require_yes
from gpu_constructs.errors import InvalidValueError, unexpected
from gpu_constructs.facts.aws_limits import MAX_BASE, MAX_WEIGHT
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, StrategyItem, Task, Unknown, Workload
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.rollout import task_slots
from gpu_constructs.tasks.counted_containers import CountedContainers
from gpu_constructs.tasks.task_target import Capacity, require_capacities, resource_of

STARTED: Mapping[str, str] = {
    "CapacityProviderStrategy": "capacity",
    "NetworkMode awsvpc": "network_mode=ecs.NetworkMode.AWS_VPC",
    "Strategy": "capacity",
}
"""What is said of a task that is started, by a job or by hand, by property."""


def keep_old_revisions(task_definition: ecs.TaskDefinition) -> None:
    """Keeps the revisions that deploys replace, which something that runs goes on to start tasks of.

    CloudFormation deregisters them otherwise, and ECS starts nothing of an INACTIVE revision, see
    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeregisterTaskDefinition.html. They cost nothing.
    """
    resource = resource_of(task_definition)
    resource.add_override("UpdateReplacePolicy", "Retain")
    # As without it; cfn-lint wants both or neither (W3011).
    resource.add_override("DeletionPolicy", "Delete")


def require_accelerators(task_definition: object, *, instead: str) -> None:
    """Refuses anything but a task definition with accelerators."""
    counted = getattr(task_definition, "counted", None)
    if not isinstance(counted, CountedContainers):
        raise unexpected(
            "task_definition",
            task_definition,
            "a GpuTaskDefinition",
            fix=f"a GpuTaskDefinition, or {instead} for a task without GPUs",
        )
    if not demand_of(counted.task).gets_accelerator:
        raise InvalidValueError(
            "the task definition has no container with GPUs or Neuron devices",
            argument="task_definition",
            fix=f"add_gpu_container or add_neuron_container before this line, or {instead} for a task without GPUs",
        )


def capacity_used(given: Sequence[Capacity] | None, of_task: Sequence[Capacity]) -> tuple[Capacity, ...]:
    """The capacities of a task definition, or some of them."""
    if given is None:
        return tuple(of_task)
    require_capacities(given)
    foreign = [each.pool.name for each in given if all(each is not other for other in of_task)]
    if foreign:
        raise InvalidValueError(
            f"the task definition does not name {', '.join(foreign)}",
            argument="capacity",
            value=foreign,
            allowed=", ".join(each.pool.name for each in of_task),
            fix="leave it out for all of them",
        )
    return tuple(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityShare:
    """How many of the tasks a capacity gets: one item of the capacity provider strategy."""

    capacity: Capacity
    weight: int
    base: int

    @property
    def item(self) -> StrategyItem:
        """The same as the value that every check reads."""
        pool = self.capacity.pool
        return StrategyItem(provider=pool.provider or UNKNOWN, pool=pool, weight=self.weight, base=self.base)

    @property
    def as_api(self) -> dict[str, object]:
        """The same as the API has it."""
        base = {"Base": self.base} if self.base else {}
        return {"CapacityProvider": self.capacity.capacity_provider_name, "Weight": self.weight, **base}


def shares_of(used: Sequence[Capacity], slots: Sequence[int | Unknown]) -> tuple[CapacityShare, ...]:
    """The capacity provider strategy: the first of an order is filled, and the others share the rest."""
    numbers = _weights_and_bases(slots, [each.comes_first for each in used])
    return tuple(
        CapacityShare(capacity=each, weight=weight, base=base)
        for each, (weight, base) in zip(used, numbers, strict=True)
    )


def require_home(
    workload: Workload, used: Sequence[Capacity], cluster: ecs.ICluster, arguments: Mapping[str, str]
) -> None:
    """Refuses capacity of another cluster; two GpuClusters around one cluster share its capacity."""
    if all(each.cluster is cluster for each in used):
        return
    strategy = tuple(
        replace(item, pool=replace(each.pool, cluster=each.cluster.node.path, associated=True))
        for item, each in zip(workload.strategy, used, strict=True)
    )
    require_yes(replace(workload, cluster=cluster.node.path, strategy=strategy), "GPU217", arguments=arguments)


def keep_exported(used: Sequence[Capacity], scope: Construct) -> None:
    """Keeps the names of capacity of another stack exported, so that what uses it now can leave it later."""
    for association in dict.fromkeys(each.hosts.association for each in used):
        association.keep_exported(scope)


def require_interfaces(workload: Workload, given: Mapping[str, object], arguments: Mapping[str, str]) -> None:
    """Refuses what is for the network interfaces of tasks where they have none."""
    for name, value in given.items():
        if value is not None:
            words = {**arguments, "NetworkConfiguration": name, "a network configuration": name}
            require_yes(replace(workload, network_configuration=True), "GPU126", arguments=words)


def _weights_and_bases(slots: Sequence[int | Unknown], comes_first: Sequence[bool]) -> list[tuple[int, int]]:
    """Weight and base of each capacity.

    A provider with a weight of 0 "cannot place tasks", a base or not (CapacityProviderStrategyItem of the ECS API), so
    the first has the smallest weight that can be combined with the largest.
    """
    firsts = [place for place, is_first in enumerate(comes_first) if is_first]
    rooms = [each for each in slots if not isinstance(each, Unknown)]
    # One provider of a strategy may have a base, and a base that is not known does not count.
    if len(firsts) != 1 or len(rooms) < len(slots) or len(slots) == 1 or not all(rooms):
        return [(weight, 0) for weight in _weights(slots)]
    (first,) = firsts
    largest = max(room for place, room in enumerate(rooms) if place != first)
    return [
        (1, min(room, MAX_BASE)) if place == first else (max(1, room * MAX_WEIGHT // largest), 0)
        for place, room in enumerate(rooms)
    ]


def _weights(slots: Sequence[int | Unknown]) -> list[int]:
    """Shares of the tasks by the room there is: ECS moves no task from a provider that is full to another."""
    sizes = [each for each in slots if not isinstance(each, Unknown)]
    if len(sizes) < len(slots) or not all(sizes):
        return [1] * len(slots)
    divisor = max(math.gcd(*sizes), -(-max(sizes) // MAX_WEIGHT))
    return [max(1, each // divisor) for each in sizes]


def started_by_hand(
    definition: ecs.TaskDefinition, task: Task, used: Sequence[Capacity], interfaces: Mapping[str, Any]
) -> str:
    """The ``aws ecs run-task`` line of a task definition; its strategy is what makes managed scaling start a host."""
    hosts, shares = used[0].hosts, shares_of(used, [task_slots(task, each.pool) for each in used])
    workload = Workload(name=definition.node.id, task=task, strategy=tuple(each.item for each in shares))
    require_home(workload, used, hosts.cluster, STARTED)
    require_yes(workload, "GPU140", arguments=STARTED)
    require_interfaces(workload, interfaces, STARTED)
    items = (",".join(f"{key[:1].lower()}{key[1:]}={value}" for key, value in each.as_api.items()) for each in shares)
    line = (
        f"aws ecs run-task --cluster {hosts.cluster_name} --task-definition {definition.family} "
        f"--capacity-provider-strategy {' '.join(items)} --propagate-tags TASK_DEFINITION"
    )
    if not task.interfaces:
        return line
    network = {"subnets": hosts.subnets_of(interfaces["vpc_subnets"]).ids}
    if interfaces["security_groups"]:
        network["securityGroups"] = [each.security_group_id for each in interfaces["security_groups"]]
    # A list may be one token, of which no item is known.
    parts = ",".join(f"{key}=[{cdk.Fn.join(',', values)}]" for key, values in network.items())
    return f"{line} --network-configuration 'awsvpcConfiguration={{{parts}}}'"
