"""Settings of an Auto Scaling group."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, PoolKind
from gpu_constructs.rules import Severity
from gpu_constructs.rules.scaling.managed_scaling import desired_within_sizes, protection_works
from tests.rules.given import a_pool, only, said


def test_protection_without_managed_scaling_is_a_warning() -> None:
    finding = only(protection_works, a_pool(managed_termination_protection=True, managed_scaling=False))
    assert (finding.rule, finding.severity) == ("GPU123", Severity.WARNING)
    assert "managed scaling is off" in finding.message
    assert "Status ENABLED" in finding.fix


@pytest.mark.parametrize(
    "changes",
    [
        {"managed_termination_protection": True, "scale_in_protection": False},
        {"managed_termination_protection": True, "managed_scaling": UNKNOWN},
        {"managed_termination_protection": False, "managed_scaling": False},
        {"managed_termination_protection": UNKNOWN, "managed_scaling": False},
        {"managed_termination_protection": True, "managed_scaling": False, "kind": PoolKind.BATCH},
    ],
)
def test_protection_that_works_or_is_off_is_silent(changes: dict[str, Any]) -> None:
    assert said(protection_works, a_pool(**changes)) == []


@pytest.mark.parametrize(
    ("low", "high", "desired", "words"),
    [
        (0, 4, 5, "DesiredCapacity is 5 and MaxSize is 4"),
        (UNKNOWN, 0, 1, "DesiredCapacity is 1 and MaxSize is 0"),
        (2, 4, 1, "DesiredCapacity is 1 and MinSize is 2"),
        (1, UNKNOWN, 0, "DesiredCapacity is 0 and MinSize is 1"),
    ],
)
def test_a_desired_capacity_outside_the_sizes_is_refused(low: Any, high: Any, desired: int, words: str) -> None:
    finding = only(desired_within_sizes, a_pool(min_instances=low, max_instances=high, desired_instances=desired))
    assert (finding.rule, finding.severity) == ("GPU129", Severity.ERROR)
    assert words in finding.message
    assert "or remove DesiredCapacity" in finding.fix


@pytest.mark.parametrize(
    ("low", "high", "desired"),
    [(0, 4, 4), (2, 4, 2), (0, 0, 0), (2, 4, None), (2, 4, UNKNOWN), (UNKNOWN, UNKNOWN, 9), (4, 2, 9)],
)
def test_one_within_them_is_silent(low: Any, high: Any, desired: Any) -> None:
    pool = a_pool(min_instances=low, max_instances=high, desired_instances=desired)
    assert said(desired_within_sizes, pool) == []
