"""User data for the first boot of a host: the ECS agent's settings, as a value and as text for its system.

Agent settings: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html,
Bottlerocket: https://bottlerocket.dev/en/os/latest/api/settings/ecs/
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from gpu_constructs.facts import InstanceType, OperatingSystem, Vendor
from gpu_constructs.facts.gpu_features import NEED_OVERCOMMIT
from gpu_constructs.facts.names import IN_BOTTLEROCKET
from gpu_constructs.fleet import GPU_SUPPORT, INSTANCE_ATTRIBUTES, HostImage, Unknown, UserData, UserDataFormat
from gpu_constructs.placement.pool_profile import ASSUMED_RESERVE_MIB

_VENDOR = "accelerator"
_NONE = "none"

_KERNEL_FILE = "/etc/sysctl.d/60-nvidia.conf"

OFF_ACCELERATORS = f"attribute:{_VENDOR} == {_NONE} or attribute:{_VENDOR} !exists"
"""The placement constraint that keeps tasks off hosts with accelerators; hosts of others have no such attribute."""

ON_NVIDIA = f"attribute:{_VENDOR} == {Vendor.NVIDIA.value}"
"""The placement constraint of tasks that are for hosts with NVIDIA GPUs alone."""

ATTRIBUTES = frozenset({_VENDOR, "gpu.count", "gpu.name", "gpu.memory-gib"})
"""Attributes that hosts of this library have by themselves."""

# Memory is kept for the agent and the driver's daemons; tasks in network mode awsvpc cannot reach the instance role
# (bridge tasks are kept from it by the metadata hop limit of the launch template); a host that is about to be reclaimed
# drains instead of dying under its tasks.
SETTINGS: Mapping[str, str] = {
    # So that what is assumed of hosts is true of these.
    "ECS_RESERVED_MEMORY": str(ASSUMED_RESERVE_MIB),
    "ECS_AWSVPC_BLOCK_IMDS": "true",
    "ECS_ENABLE_SPOT_INSTANCE_DRAINING": "true",
}
"""Settings of the agent that all hosts of this library have."""


def settings_of_image(found: HostImage) -> Mapping[str, str]:
    """The agent's settings that the GPU image of ECS brings, for an NVIDIA image of the user's own.

    It has this one and no other: ``scripts/al2023/gpu/enable-ecs-agent-gpu-support-al2023.sh`` of
    https://github.com/aws/amazon-ecs-ami. Without it ecs-init looks for no GPU. Bottlerocket has no word for it.
    """
    is_nvidia = found.image.accelerator is Vendor.NVIDIA
    on_linux = found.image.operating_system is not OperatingSystem.BOTTLEROCKET
    return {GPU_SUPPORT: "true"} if found.is_own and is_nvidia and on_linux else {}


def host_attributes(types: Sequence[InstanceType]) -> dict[str, str]:
    """What placement constraints can ask about the accelerators of a host, by the name of the attribute.

    ``accelerator`` is the vendor or ``none``; on NVIDIA hosts ``gpu.count``, ``gpu.name`` and ``gpu.memory-gib`` of one
    GPU, rounded down, are there as well. An attribute in which types of one capacity differ is left out.
    """
    of_each = [_attributes_of(each) for each in types]
    return {name: value for name, value in of_each[0].items() if all(each.get(name) == value for each in of_each)}


def attributes_set(attributes: Mapping[str, str]) -> Mapping[str, str]:
    """The agent's setting for attributes of a host."""
    return {INSTANCE_ATTRIBUTES: json.dumps(attributes, sort_keys=True, separators=(",", ":"))}


def generation_of(instance_type: InstanceType) -> str | None:
    """The architecture of its GPUs as the attribute ``gpu.arch`` says it, such as ``Ada``; None where not known."""
    devices = instance_type.accelerators
    return None if devices is None or devices.generation is None else devices.generation.replace(" ", "-")


def _attributes_of(instance_type: InstanceType) -> dict[str, str]:
    devices = instance_type.accelerators
    if devices is None:
        return {_VENDOR: _NONE}
    found = {_VENDOR: devices.vendor.value}
    if devices.vendor is Vendor.NVIDIA:
        found["gpu.count"] = f"{devices.count or devices.partition:g}"
        # A name in an expression has no spaces.
        found["gpu.name"] = devices.model.replace(" ", "-")
        if devices.memory_mib is not None:
            found["gpu.memory-gib"] = str(devices.memory_mib // 1024)
    return found


def kernel_lines(operating_system: OperatingSystem, types: Sequence[InstanceType]) -> tuple[str, ...]:
    """Lines that set what hosts of these types need of the kernel, now and after a reboot."""
    if operating_system is OperatingSystem.BOTTLEROCKET or not any(each.name in NEED_OVERCOMMIT for each in types):
        return ()
    return (f"echo vm.overcommit_memory=1 > {_KERNEL_FILE}", f"sysctl -p {_KERNEL_FILE}")


def agent_lines(operating_system: OperatingSystem, more: Mapping[str, str]) -> tuple[str, ...]:
    """Lines that set the agent's settings."""
    settings = {**SETTINGS, **more}
    if operating_system is OperatingSystem.BOTTLEROCKET:
        return tuple(line for variable, value in settings.items() for line in _in_toml(variable, value))
    lines = (f"{variable}={value}" for variable, value in settings.items())
    return ("#!/bin/bash", "cat <<'EOF' >> /etc/ecs/ecs.config", *lines, "EOF")


def host_lines(
    operating_system: OperatingSystem,
    *,
    cluster_name: str | None,
    settings: Mapping[str, str],
    prepare: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines of user data before those by which CDK makes a host join its cluster, and those after.

    Without a cluster name, ``Cluster.add_asg_capacity_provider`` writes those lines, for a cluster that CDK made in the
    same stack. In a shell the order is free; in TOML the settings stand in the table that joining opens.
    """
    agent = agent_lines(operating_system, settings)
    join: tuple[str, ...] = ()
    if operating_system is OperatingSystem.BOTTLEROCKET:
        if cluster_name is not None:
            join = ("[settings.ecs]", f'cluster = "{cluster_name}"')
        return join, (*agent, *prepare)
    if cluster_name is not None:
        join = (f"echo ECS_CLUSTER={cluster_name} >> /etc/ecs/ecs.config",)
    return (*agent, *join, *prepare), ()


def what_hosts_are_told(
    operating_system: OperatingSystem, cluster_name: str | Unknown, more: Mapping[str, str | Unknown]
) -> UserData:
    """The same as a value."""
    form = UserDataFormat.TOML if operating_system is OperatingSystem.BOTTLEROCKET else UserDataFormat.SHELL
    agent = tuple(sorted({**SETTINGS, **more, "ECS_CLUSTER": cluster_name}.items()))
    return UserData(format=form, agent=agent)


def _in_toml(variable: str, value: str) -> Iterator[str]:
    if variable == INSTANCE_ATTRIBUTES:
        # Not as a table of their own, so that settings that are added after them are still the agent's.
        yield from (f'instance-attributes."{name}" = "{each}"' for name, each in json.loads(value).items())
    else:
        toml = value if value.isdecimal() or value in {"true", "false"} else f'"{value}"'
        yield f"{IN_BOTTLEROCKET[variable]} = {toml}"
