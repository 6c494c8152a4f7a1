"""What the room shows to the others."""

from __future__ import annotations

import dataclasses

import pytest

from gpu_constructs import facts
from gpu_constructs.facts import instance_type


def test_the_exported_names_are_sorted_and_exist() -> None:
    def by_kind(name: str) -> tuple[bool, bool, str]:
        return not name.isupper(), name[0].islower(), name

    assert list(facts.__all__) == sorted(facts.__all__, key=by_kind)
    assert all(hasattr(facts, name) for name in facts.__all__)


def test_a_fact_cannot_be_changed() -> None:
    found = instance_type("g6.xlarge")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.vcpus = 5  # type: ignore[misc]


def test_a_fact_can_be_hashed_and_copied_with_a_change() -> None:
    found = instance_type("g6.xlarge")
    assert len({found, found}) == 1
    assert dataclasses.replace(found, note="seen").note == "seen"
