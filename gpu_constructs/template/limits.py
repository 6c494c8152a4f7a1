"""How much is read at most: far more than CloudFormation takes, and little enough that no file can stall a reader.

CloudFormation's own limits are 1 MB a template, 500 resources and 200 parameters
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html).
"""

from __future__ import annotations

__all__ = [
    "ASSEMBLY_DEPTH",
    "BYTES",
    "DEPTH",
    "DIGITS",
    "EVALUATED_NODES",
    "EVALUATION_DEPTH",
    "JSON_MARKS",
    "LOOPED",
    "REMARKS",
    "RESOURCES",
    "STACKS",
    "TEXT",
    "TOTAL_BYTES",
    "TOTAL_TEXT",
    "USER_DATA",
    "YAML_DIRECTIVES",
    "YAML_NODES",
]

BYTES = 20 * 1024 * 1024
"""Bytes of one file."""

TOTAL_BYTES = 200 * 1024 * 1024
"""Bytes of all files of one call."""

DEPTH = 100
"""Lists and objects inside each other."""

JSON_MARKS = 2_000_000
"""Commas and opening brackets of a JSON text, which is no less than its values."""

YAML_NODES = 500_000
"""Nodes of a YAML text once every alias is written out."""

YAML_DIRECTIVES = 100
"""Lines of a YAML text that begin with ``%``, as directives do: libyaml compares each ``%TAG`` with all before it."""

DIGITS = 40
"""Digits of a number; a longer one stays a text. Python refuses to read one of more than 4300."""

EVALUATION_DEPTH = 120
"""Lists, objects, functions and what they refer to, inside each other."""

EVALUATED_NODES = 5_000_000
"""Values that are worked out in one call."""

TEXT = 2_000_000
"""Characters of a text that a function puts together."""

TOTAL_TEXT = 50_000_000
"""Characters of all texts that functions put together in one call."""

USER_DATA = 64 * 1024
"""Characters of user data. EC2 takes 16 KB."""

STACKS = 1_000
"""Stacks of one call, nested ones among them."""

ASSEMBLY_DEPTH = 10
"""Assemblies, or nested stacks, inside each other."""

RESOURCES = 20_000
"""Resources of one call, those of all stacks together."""

LOOPED = 5_000
"""Entries of one object that ``Fn::ForEach`` writes out: a few lines of loops in loops make as many as one likes."""

REMARKS = 200
"""Remarks of one call; what is odd in more places than that is not told any better by more of them."""
