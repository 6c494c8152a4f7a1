"""What was odd about a file is said where it stands."""

from __future__ import annotations
