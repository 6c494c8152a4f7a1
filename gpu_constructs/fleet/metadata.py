"""Where a template says what CloudFormation has no property for."""

from __future__ import annotations

__all__ = ["METADATA_KEY"]

METADATA_KEY = "gpu-constructs"
"""Key in the ``Metadata`` of a resource, for the needs of containers and for what is accepted; the constructs write it,
the reader reads it, and it is the first half of the ids by which findings are acknowledged in a CDK app."""
