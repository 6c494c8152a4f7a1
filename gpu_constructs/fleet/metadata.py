"""Where a template says what CloudFormation has no property for."""

from __future__ import annotations

__all__ = ["CHECKS_GPUS", "METADATA_KEY", "RESERVED_INSTANCES"]

METADATA_KEY = "gpu-constructs"
"""Key in the ``Metadata`` of a resource, for the needs of containers and for what is accepted; the constructs write it,
the reader reads it, and it is the first half of the ids by which findings are acknowledged in a CDK app."""

CHECKS_GPUS = "ChecksGpus"
"""Under that key of an Auto Scaling group: whether its hosts count their GPUs before they take tasks."""

RESERVED_INSTANCES = "ReservedInstances"
"""Under that key of an Auto Scaling group: how many hosts are reserved, which no property says."""
