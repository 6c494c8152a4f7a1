"""Placement expressions as text."""

from __future__ import annotations

from gpu_constructs.placement import instance_type_in


def test_types_are_listed_once_and_in_order() -> None:
    assert instance_type_in(["g6.2xlarge", "g6.xlarge", "g6.2xlarge"]) == (
        "attribute:ecs.instance-type in [g6.2xlarge, g6.xlarge]"
    )
