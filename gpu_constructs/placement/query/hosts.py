"""A container instance as an expression sees it: what is known of it, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.hardware import Architecture, InstanceType
from gpu_constructs.values import dataclass

BUILT_IN_ATTRIBUTES = frozenset(
    {
        "ecs.ami-id",
        "ecs.availability-zone",
        "ecs.cpu-architecture",
        "ecs.instance-type",
        "ecs.os-family",
        "ecs.os-type",
        "ecs.subnet-id",
        "ecs.vpc-id",
    }
)
"""Attributes that every container instance has, because ECS "automatically applies" them.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html#attributes
"""


ZONE, SUBNET = "ecs.availability-zone", "ecs.subnet-id"


@dataclass(frozen=True, slots=True)
class Beginning:
    """A value of which only the beginning is known, such as the region of a zone."""

    text: str

    def __str__(self) -> str:
        return f"{self.text}…"


AttributeValue: TypeAlias = str | Beginning | Unknown | None
"""A value that only exists at deploy time is unknown; an attribute without one, as of a capability, is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What an expression can ask about one container instance.

    Args:
        attributes: Attribute name to value.
        complete: Whether `attributes` lists everything the host has, so that what is missing does not exist. Where it
            does not, a missing one may exist; the built-in ones always do.
        absent: Attributes that it does not have, where others that are missing may exist.
        agent_connected: Whether its agent is connected.
        agent_version: The agent's version, such as ``1.14.5``.
        ec2_instance_id: The instance, such as ``i-abcd1234``.
        running_tasks_count: How many tasks run on it.
    """

    attributes: Mapping[str, AttributeValue] = field(default_factory=dict, hash=False)
    complete: bool = True
    absent: frozenset[str] = frozenset()
    agent_connected: bool | Unknown = UNKNOWN
    agent_version: str | Unknown = UNKNOWN
    ec2_instance_id: str | Unknown = UNKNOWN
    running_tasks_count: int | Unknown = UNKNOWN

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))


def host_of(
    instance_type: InstanceType,
    *,
    attributes: Mapping[str, AttributeValue] | None = None,
    absent: frozenset[str] = frozenset(),
) -> Host:
    """A host of an instance type, as far as it is known before it runs.

    Its type and architecture are known; its AMI and what its agent registers are not, so every attribute that is not
    given may exist.

    Args:
        instance_type: What the host is.
        attributes: More of its attributes, such as ``ecs.os-type`` or those of ``ECS_INSTANCE_ATTRIBUTES``.
        absent: Attributes that it does not have.
    """
    if attributes or absent:
        known = {**_known(instance_type.name, instance_type.architecture), **(attributes or {})}
        return Host(attributes=known, complete=False, absent=absent)
    return _bare(instance_type.name, instance_type.architecture)


# Every expression is asked about every type that there is, one after the other.
@lru_cache(maxsize=4096)
def _bare(name: str, architecture: Architecture) -> Host:
    return Host(attributes=_known(name, architecture), complete=False)


def _known(name: str, architecture: Architecture) -> dict[str, AttributeValue]:
    return {"ecs.instance-type": name, "ecs.cpu-architecture": str(architecture)}
