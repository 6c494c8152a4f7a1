"""What a capacity is asked to be, handed on whole."""

from __future__ import annotations

import inspect

from gpu_constructs import (
    CapacityChoice,
    GpuCluster,
)


def test_a_choice_takes_what_add_capacity_takes() -> None:
    """One definition for type checkers and editors to read, and one for the library to hand on."""
    asked = dict(inspect.signature(GpuCluster.add_capacity).parameters)
    del asked["self"]
    assert asked == dict(inspect.signature(CapacityChoice).parameters)
