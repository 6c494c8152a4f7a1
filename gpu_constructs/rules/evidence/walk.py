"""What rules about task definitions ask of a container."""

from __future__ import annotations

from gpu_constructs.fleet import GPU, NEURON_DEVICE, Container, ResourceRequirement

__all__ = ["MANAGED_INSTANCES", "asks_for_accelerator", "is_gpu"]

MANAGED_INSTANCES = "MANAGED_INSTANCES"
"""The launch type of ECS Managed Instances, as ``RequiresCompatibilities`` has it."""


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
