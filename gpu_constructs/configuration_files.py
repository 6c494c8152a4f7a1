"""The names of the file in which a project declares its instance types and the options of its checks."""

from __future__ import annotations

CONFIGURATION_FILES = ("gpu-constructs.yaml", "gpu-constructs.yml", "gpu-constructs.json")
"""Files of the working directory that the command line and cfn-lint read."""
