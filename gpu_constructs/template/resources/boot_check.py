"""Whether the hosts of an Auto Scaling group count their GPUs before they take tasks."""

from __future__ import annotations

from gpu_constructs.fleet import CHECKS_GPUS
from gpu_constructs.template.model import Resource
from gpu_constructs.template.resources.own_metadata import own_metadata

__all__ = ["checks_gpus"]


def checks_gpus(group: Resource) -> bool:
    """Whether the metadata of a group says so; what a script does, nobody can tell from its text."""
    return own_metadata(group).get(CHECKS_GPUS) is True
