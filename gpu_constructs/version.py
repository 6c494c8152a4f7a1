"""Which release of this library is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module

__all__ = ["version"]


@cache
def version() -> str:
    """The version of this package; ``unknown`` where it was not installed."""
    metadata = import_module("importlib.metadata")  # as slow as the rest of the program, and rarely needed
    try:
        return str(metadata.version("gpu-constructs"))
    except metadata.PackageNotFoundError:
        return "unknown"
