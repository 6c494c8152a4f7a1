"""Whether the hosts of an Auto Scaling group count their GPUs before they take tasks."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.fleet import METADATA_KEY
from gpu_constructs.template.model import Resource

__all__ = ["checks_gpus"]


def checks_gpus(group: Resource) -> bool:
    """Whether the metadata of a group says so; what a script does, nobody can tell from its text.

    Args:
        group: The Auto Scaling group.
    """
    metadata: object = group.metadata
    written = metadata.get(METADATA_KEY) if isinstance(metadata, Mapping) else None
    return isinstance(written, Mapping) and written.get("ChecksGpus") is True
