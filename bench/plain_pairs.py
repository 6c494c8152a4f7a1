"""One pair of hosts and a task by hand: the kind that every app has, and what a kind consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from bench.plain_hosts import Shared, capacity
from bench.plain_tasks import training_task
from bench.workloads import Pair

__all__ = ["Written", "on_demand", "with_gpus"]


@dataclass(frozen=True, slots=True)
class Written:
    """How one kind of capacity is written.

    Attributes:
        capacity: Defines the capacities of a pair.
        task: Defines the task of a pair.
    """

    capacity: Callable[[Construct, Shared, Pair], object]
    task: Callable[[Construct, Pair, ecs.ContainerImage], object]


def on_demand(scope: Construct, shared: Shared, pair: Pair) -> None:
    """Hosts on demand."""
    capacity(scope, f"Capacity{pair.number}", shared, pair.hosts, max_instances=4)


def with_gpus(scope: Construct, pair: Pair, image: ecs.ContainerImage) -> None:
    """A task with all GPUs of a host."""
    training_task(
        scope,
        f"Task{pair.number}",
        family=f"gpu-task-{pair.number}",
        image=image,
        hosts=pair.hosts,
        gpus=pair.hosts.gpus,
        command=["nvidia-smi"],
    )
