"""Keys of resource requirements, and the words that people write instead of the keys that ECS has.

As of botocore 1.44.5 and the CloudFormation schema of ``AWS::ECS::TaskDefinition``, whose ``additionalProperties`` is
false on every level (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html).
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.budget import LABEL

_ONLY_DESCRIBED = "leave it out: DescribeTaskDefinition returns it, and it cannot be set"

TASK_WORDS: Mapping[str, str] = {
    "compatibilities": "RequiresCompatibilities",
    "constraints": "PlacementConstraints",
    "containers": "ContainerDefinitions",
    "executionrole": "ExecutionRoleArn",
    "launchtype": "RequiresCompatibilities, and the service says where it runs",
    "name": "Family",
    "registeredat": _ONLY_DESCRIBED,
    "registeredby": _ONLY_DESCRIBED,
    "requiresattributes": _ONLY_DESCRIBED,
    "revision": _ONLY_DESCRIBED,
    "role": "TaskRoleArn",
    "status": _ONLY_DESCRIBED,
    "taskrole": "TaskRoleArn",
    "version": "leave it out: ECS counts the revisions of a family",
}
"""What people write into a task definition, as `plain` writes it, and what would do what they mean."""

CONTAINER_WORDS: Mapping[str, str] = {
    "capabilities": "LinuxParameters.Capabilities",
    "containername": "Name",
    "containerport": "PortMappings",
    "cpuunits": "Cpu",
    "deploy": "ResourceRequirements for GPUs; deploy is a key of Docker Compose",
    "devices": "LinuxParameters.Devices",
    "env": "Environment",
    "envfile": "EnvironmentFiles",
    "initprocessenabled": "LinuxParameters.InitProcessEnabled",
    "logging": "LogConfiguration",
    "mem": "Memory",
    "memorylimit": "Memory",
    "memorylimitmib": "Memory",
    "memorymib": "Memory",
    "memoryreservationmib": "MemoryReservation",
    "ports": "PortMappings",
    "resources": "Cpu, Memory and ResourceRequirements; resources is a key of Kubernetes",
    "restart": "RestartPolicy",
    "runtime": "nothing: ECS sets the NVIDIA runtime for a container with ResourceRequirements of type GPU",
    "sharedmemorysize": "LinuxParameters.SharedMemorySize",
    "shmsize": "LinuxParameters.SharedMemorySize",
    "tmpfs": "LinuxParameters.Tmpfs",
    "volumes": "MountPoints, and Volumes of the task definition",
}
"""The same for a container."""

REQUIREMENT_WORDS: Mapping[str, str] = {
    "amount": "Value says how many",
    "capabilities": "the environment variable NVIDIA_DRIVER_CAPABILITIES lists what the driver offers",
    "count": "Value says how many",
    "deviceids": "ECS chooses the devices",
    "devices": "ECS chooses the devices",
    "driver": "the machine image has the driver",
    "limits": "Value says how many",
    "number": "Value says how many",
    "quantity": "Value says how many",
}
"""The same for an entry of ``ResourceRequirements``, and what says it instead."""

GPU_WORDS = frozenset(
    {
        "accelerator",
        "accelerators",
        "devicerequests",
        "gpu",
        "gpucount",
        "gpulimit",
        "gpunumber",
        "gpurequirements",
        "gpus",
        "ngpus",
        "numgpus",
        "numberofgpus",
        "nvidiagpu",
        "nvidiagpus",
    }
)
"""What people write into a container or a task to get GPUs, which ECS reads from ``ResourceRequirements`` alone."""


def plain(key: str) -> str:
    """A key without what people most often get wrong: case, hyphens, underscores.

    Args:
        key: As written, with dots between levels.
    """
    return "".join(each for each in key.lower()[:LABEL] if each.isalnum() or each == ".")


REQUIREMENT_KEYS: Mapping[str, str] = {
    plain(each): each
    for each in (
        "SharingStrategy",
        "SharingStrategy.NvidiaMps",
        "SharingStrategy.NvidiaMps.MaxComputePercent",
        "SharingStrategy.NvidiaMps.Memory",
        "Type",
        "Value",
    )
}
"""Keys of such an entry by how `plain` writes them."""
