"""What the checker does not say yet of the broken templates, and what it says of another resource: both only shrink."""

from __future__ import annotations

# Its file, and why: either nothing is said, or not as gravely as it is.
KNOWN_MISSES: dict[str, str] = {}

# Its file, and the rule of cfn-lint that finds the same in it.
FOUND_BY_CFN_LINT: dict[str, str] = {
    "051-other-host-port-in-awsvpc.yaml": "E3053",
    "040-target-capacity-of-zero.yaml": "E3034",
    "117-eleven-tasks.yaml": "E3034",
    "153-metric-that-does-not-exist.yaml": "E3030",
    "154-group-minimum-above-maximum.yaml": "E3706",
}

# Said, and not of the resource whose property has to be changed.
KNOWN_MISPLACED: set[str] = set()
