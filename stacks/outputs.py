"""Lines that a person copies from a stack's outputs."""

from __future__ import annotations

from gpu_constructs import GpuCapacity, GpuCluster, GpuTaskDefinition

__all__ = ["run_task_command"]


def run_task_command(cluster: GpuCluster, task: GpuTaskDefinition, capacity: GpuCapacity) -> str:
    """The ``aws ecs run-task`` line for a task; its strategy is what makes managed scaling start a host."""
    return (
        f"aws ecs run-task --cluster {cluster.cluster.cluster_name} --task-definition {task.family} "
        f"--capacity-provider-strategy capacityProvider={capacity.capacity_provider_name},weight=1"
    )
