"""What a capacity is asked to be, handed on whole."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

from gpu_constructs import CapacityChoice, GpuCluster, cluster
from tests.synthesis import Site


def test_a_choice_takes_what_add_capacity_takes() -> None:
    """One definition for type checkers and editors to read, and one for the library to hand on."""
    _self, *asked = inspect.signature(GpuCluster.add_capacity).parameters.values()
    assert asked == list(inspect.signature(CapacityChoice).parameters.values())


def test_add_capacity_hands_everything_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[CapacityChoice] = []

    class Seen(Exception):  # noqa: N818 - ends the call
        pass

    def plan(choice: CapacityChoice, _: object) -> None:
        seen.append(choice)
        raise Seen

    monkeypatch.setattr(cluster, "plan_capacity", plan)
    given: dict[str, Any] = {each.name: object() for each in fields(CapacityChoice)} | {"construct_id": "Gpu"}
    with pytest.raises(Seen):
        site.cluster.add_capacity(**given)
    assert {each.name: getattr(seen[0], each.name) for each in fields(CapacityChoice)} == given
