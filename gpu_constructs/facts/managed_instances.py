"""What ECS Managed Instances launch, and which settings of a task they refuse."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.facts.model import InstanceType

# The three tables: the property as CloudFormation spells it, and its name on the page
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html, read on 2026-11-21.
# The list gets shorter over time: an older copy has dockerLabels too.
TASK_SETTINGS_REFUSED: Mapping[str, str] = {
    "EphemeralStorage": "ephemeralStorage",
    "InferenceAccelerators": "inferenceAccelerators",
    "IpcMode": "ipcMode",
    "ProxyConfiguration": "proxyConfiguration",
}
"""Settings of a task definition that are not valid on Managed Instances."""

VOLUME_SETTINGS_REFUSED: Mapping[str, str] = {
    "DockerVolumeConfiguration": "dockerVolumeConfiguration",
    "FSxWindowsFileServerVolumeConfiguration": "fsxWindowsFileServerVolumeConfiguration",
    "Host.SourcePath": "sourcePath",
}
"""Settings of a volume that are not valid there."""

CONTAINER_SETTINGS_REFUSED: Mapping[str, str] = {
    "DisableNetworking": "disableNetworking",
    "DnsSearchDomains": "dnsSearchDomains",
    "DnsServers": "dnsServers",
    "DockerSecurityOptions": "dockerSecurityOptions",
    "ExtraHosts": "extraHosts",
    "Hostname": "hostname",
    "Links": "links",
    "LinuxParameters.MaxSwap": "maxSwap",
    "LinuxParameters.SharedMemorySize": "sharedMemorySize",
    "LinuxParameters.Swappiness": "swappiness",
    "LinuxParameters.Tmpfs": "tmpfs",
}
"""Settings of a container that are not valid there."""

_TOO_SMALL = frozenset({"nano", "micro"})


def is_managed_size(instance_type: InstanceType) -> bool:
    """Whether a type is large enough: "More than 1 vCPU", and "not nano or micro"."""
    return instance_type.vcpus > 1 and instance_type.size not in _TOO_SMALL


def may_be_managed(instance_type: InstanceType) -> bool:
    """Whether Managed Instances are known to launch a type."""
    return is_managed_size(instance_type) and (
        instance_type.accelerators is None or instance_type.traits.managed_instances is True
    )
