"""The parts of a fleet that rules about task definitions look at, one by one."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import GPU, NEURON_DEVICE, Container, ResourceRequirement, Task
from gpu_constructs.placement.destinations import tasks_of as tasks
from gpu_constructs.rules.context import Context

__all__ = ["MANAGED_INSTANCES", "asks_for_accelerator", "containers", "is_gpu", "requirements", "tasks"]

MANAGED_INSTANCES = "MANAGED_INSTANCES"
"""The launch type of ECS Managed Instances, as ``RequiresCompatibilities`` has it."""


def containers(context: Context) -> Iterator[tuple[Task, Container]]:
    """Every container with its task.

    Args:
        context: The fleet that is checked.
    """
    return ((task, container) for task in context.tasks for container in task.containers)


def requirements(context: Context) -> Iterator[tuple[Task, Container, ResourceRequirement]]:
    """Every entry of ``resourceRequirements`` with its container and task.

    Args:
        context: The fleet that is checked.
    """
    return ((task, container, each) for task, container in containers(context) for each in container.requirements)


def is_gpu(requirement: ResourceRequirement) -> bool:
    """Whether GPUs are meant, in whatever case the type was written.

    Args:
        requirement: One entry of ``resourceRequirements``.
    """
    return isinstance(requirement.type, str) and requirement.type.upper() == GPU


def asks_for_accelerator(container: Container) -> bool:
    """Whether a container asks ECS for GPUs or Neuron devices, in a form that ECS takes or not.

    Args:
        container: One container.
    """
    return any(is_gpu(each) or each.type == NEURON_DEVICE for each in container.requirements)
