"""What checkers say of every matrix and is meant to be so, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["KNOWN_WARNINGS", "NOT_OFFERED"]


KNOWN_WARNINGS: Mapping[str, str] = MappingProxyType(
    {
        "GPU162": "hosts of a reservation that was made outside the placement group may be far from each other",
    }
)
"""Warnings of this library's own check that some legal combination deserves, by rule, each with its reason."""

_NOT_THERE = "DescribeInstanceTypeOfferings does not have it there (recorded by moto 5.2.5 on 2026-09-29)"

NOT_OFFERED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "eu-west-1": dict.fromkeys(
            (
                "g5g.xlarge",
                "g6.12xlarge",
                "g6.xlarge",
                "g6e.12xlarge",
                "g6f.2xlarge",
                "p5.48xlarge",
                "p5.4xlarge",
                "p6-b300.48xlarge",
                "trn1.32xlarge",
            ),
            _NOT_THERE,
        )
    }
)
"""Types that E3628 of cfn-lint 1.58 rightly refuses in a region, each with its reason."""
