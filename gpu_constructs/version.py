"""Which release of this library is installed."""

from __future__ import annotations

__all__ = ["version"]

# Not asked of the installed metadata: importing what reads it takes as long as everything else of a first check.
_VERSION = "0.1.0"


def version() -> str:
    """The version of this package, as ``pyproject.toml`` says it too."""
    return _VERSION
