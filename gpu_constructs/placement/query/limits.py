"""Limits of the cluster query language, each with the page that states it, and the two bounds of our own."""

from __future__ import annotations

__all__ = [
    "MAX_ATTRIBUTE_LENGTH",
    "MAX_CONSTRAINTS",
    "MAX_EXPRESSION_LENGTH",
    "MAX_NESTING",
    "MAX_PATTERN_STATES",
]

MAX_EXPRESSION_LENGTH = 2000
"""Characters of one expression at most.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PlacementConstraint.html
"""

MAX_CONSTRAINTS = 10
"""Constraints of one task at most: those of its task definition and those given when it is run, together.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html
"""

MAX_ATTRIBUTE_LENGTH = 128
"""Characters of an attribute's name at most, and of its value.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Attribute.html
"""

MAX_NESTING = 40
"""How deep expressions and the groups of a pattern may nest: our own bound, ECS documents none."""

MAX_PATTERN_STATES = 1000
"""How large a pattern may grow once its counted repetitions are written out: our own bound on time and memory."""
