"""What the checker does not say yet of the broken templates, and what it says of another resource: both only shrink."""

from __future__ import annotations

# Its file, and why: either nothing is said, or not as gravely as it is.
KNOWN_MISSES: dict[str, str] = {}

# Said, and not of the resource whose property has to be changed.
KNOWN_MISPLACED: set[str] = set()
