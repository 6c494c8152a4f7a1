"""Placement constraints in the ECS cluster query language, built from typed values.

Grammar: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["MAX_EXPRESSION_LENGTH", "instance_type_in"]

MAX_EXPRESSION_LENGTH = 2000
"""Characters of one expression at most (PlacementConstraint.expression of the ECS API)."""


def instance_type_in(names: Iterable[str]) -> str:
    """An expression that is true on hosts of exactly these instance types.

    A list names what is meant; the pattern ``g5.*`` would also match g5g, which is arm64.

    Args:
        names: Instance types, such as ``g6.xlarge``. Repeated names count once; the order is kept.
    """
    return f"attribute:ecs.instance-type in [{', '.join(dict.fromkeys(names))}]"
