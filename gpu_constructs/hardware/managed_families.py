"""The accelerated instance families that ECS Managed Instances launch.

The list of the page below, as read on 2026-11-21 in a copy of 2026. Families are added to it, so that one which is not
on it may have come since. https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-types.html
"""

from __future__ import annotations

from gpu_constructs.hardware.model import InstanceType

__all__ = ["MANAGED_FAMILIES", "is_managed_size", "may_be_managed"]

MANAGED_FAMILIES = frozenset(
    {
        "dl1",
        "g4ad",
        "g4dn",
        "g5",
        "g5g",
        "g6",
        "g6e",
        "g6f",
        "g7e",
        "gr6",
        "gr6f",
        "inf1",
        "inf2",
        "p3dn",
        "p4d",
        "p4de",
        "p5",
        "p5en",
        "p6-b200",
        "p6-b300",
        "trn1",
    }
)
"""Families with accelerators; of the others nearly all are launched."""

_TOO_SMALL = frozenset({"nano", "micro"})


def is_managed_size(instance_type: InstanceType) -> bool:
    """Whether a type is large enough: "More than 1 vCPU", and "not nano or micro".

    Args:
        instance_type: Any type of the catalogue.
    """
    return instance_type.vcpus > 1 and instance_type.size not in _TOO_SMALL


def may_be_managed(instance_type: InstanceType) -> bool:
    """Whether Managed Instances are known to launch a type.

    Args:
        instance_type: Any type of the catalogue.
    """
    return is_managed_size(instance_type) and (
        instance_type.accelerators is None or instance_type.family in MANAGED_FAMILIES
    )
