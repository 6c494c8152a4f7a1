"""Tasks and pools in short words."""

from __future__ import annotations

from typing import Any

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import (
    NEURON_DEVICE,
    UNKNOWN,
    Container,
    NvidiaMps,
    Pool,
    ResourceRequirement,
    Task,
    Unknown,
    UserData,
)


def a_pool(*types: str, **changes: Any) -> Pool:
    """A pool with managed scaling from nothing; its image is a custom AMI."""
    return Pool(
        **{
            "name": "Hosts",
            "instance_types": tuple(map(instance_type, types)),
            "image": UNKNOWN,
            "min_instances": 0,
            "max_instances": 4,
            **changes,
        }
    )


def asking(value: str | Unknown | None, name: str = "c") -> Container:
    """A container with one entry of type GPU."""
    return Container(name=name, requirements=(ResourceRequirement(value=value),))


def shares(*memory_mib: int | Unknown | None) -> Task:
    """A task whose containers share a GPU."""
    return Task(
        name="shared",
        containers=tuple(
            Container(name=f"c{place}", requirements=(ResourceRequirement(nvidia_mps=NvidiaMps(memory_mib=each)),))
            for place, each in enumerate(memory_mib)
        ),
    )


def neuron(*paths: str, resource: bool = False) -> Task:
    """A task for Neuron devices, by path or as a resource."""
    requirements = (ResourceRequirement(type=NEURON_DEVICE, value="ALL"),) if resource else ()
    return Task(name="neuron", containers=(Container(name="c", devices=paths, requirements=requirements),))


def a_task(*values: str | Unknown, cpu: int | Unknown = 0, memory_mib: int | Unknown = 0, **changes: Any) -> Task:
    """A task with a container for each number of GPUs; CPU and memory are those of the task."""
    containers = tuple(asking(each, f"c{place}") for place, each in enumerate(values)) or (Container(name="c"),)
    return Task(
        **{
            "name": "task",
            "containers": containers,
            "cpu_limit": cpu or None,
            "memory_limit_mib": memory_mib or None,
            **changes,
        }
    )


def told(**settings: str | Unknown) -> UserData:
    """User data that tells the agent these settings and is known whole."""
    return UserData(agent=tuple(sorted(settings.items())))
