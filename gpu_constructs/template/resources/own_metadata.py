"""What this library's constructs, or a user, wrote about a resource that CloudFormation has no property for."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.fleet import CHECKS_GPUS, METADATA_KEY
from gpu_constructs.template.model import Resource

__all__ = ["checks_gpus", "own_metadata"]


def own_metadata(resource: Resource) -> Mapping[str, object]:
    """What stands under `METADATA_KEY` in the metadata of a resource; empty without."""
    metadata: object = resource.metadata
    written: object = metadata.get(METADATA_KEY) if isinstance(metadata, Mapping) else None
    return written if isinstance(written, Mapping) else {}


def checks_gpus(group: Resource) -> bool:
    """Whether the hosts of a group count their GPUs before they take tasks, as its metadata says."""
    return own_metadata(group).get(CHECKS_GPUS) is True
