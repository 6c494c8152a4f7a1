"""Which driver branch drives which compute capability."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.hardware import (
    DRIVER_SUPPORT,
    accelerated,
    driver_support,
    drives,
)


@pytest.mark.parametrize(
    ("capability", "branches"),
    [
        ((3, 0), {470: True, 550: False, 580: False}),
        ((3, 7), {470: True, 535: False, 595: False}),
        ((5, 2), {550: True, 580: True, 590: False}),
        ((6, 1), {580: True, 595: False}),
        ((7, 0), {470: True, 580: True, 590: False, 595: False}),
        ((7, 5), {550: True, 580: True, 595: True}),
        ((8, 9), {550: True, 580: True, 595: True}),
        ((9, 0), {550: True, 580: True, 595: True}),
        ((10, 0), {550: False, 565: False, 570: True, 580: True, 595: True}),
        ((10, 3), {550: False, 580: True}),
        ((12, 0), {550: False, 570: True, 580: True}),
    ],
)
def test_a_branch_drives_a_generation_or_not(capability: tuple[int, int], branches: dict[int, bool]) -> None:
    assert {branch: drives(branch, capability) for branch in branches} == branches


@pytest.mark.parametrize("capability", [(2, 1), (4, 0), (13, 0), (99, 0)])
def test_an_unknown_capability_is_neither_driven_nor_refused(capability: tuple[int, int]) -> None:
    assert driver_support(capability) is None
    assert drives(580, capability) is None


def test_the_table_knows_the_capability_of_every_type() -> None:
    for each in accelerated():
        if each.accelerators is not None and each.accelerators.compute_capability is not None:
            assert driver_support(each.accelerators.compute_capability) is not None, each


def test_the_rows_are_in_order_and_do_not_overlap() -> None:
    for row, following in pairwise(DRIVER_SUPPORT):
        assert row.lowest <= row.highest < following.lowest
    assert all(row.source for row in DRIVER_SUPPORT)


@given(st.tuples(st.integers(0, 14), st.integers(0, 9)))
def test_the_branches_that_drive_a_capability_are_one_unbroken_range(capability: tuple[int, int]) -> None:
    answers = [drives(branch, capability) for branch in range(400, 700, 5)]
    changes = sum(one is not other for one, other in pairwise(answers))
    assert changes <= 1
    assert (None in answers) is (driver_support(capability) is None)
