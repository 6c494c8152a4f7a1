"""An amount is a number with a unit that is known, and nothing else."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Origin, Unknown
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.tasks import amount_of

UNITS = {"": 1, "vCPU": 1024}


def amount(text: str, units: dict[str, int]) -> int | Unknown | None:
    return amount_of(Section({}, Origin(resource="Task")), "Cpu", text, units)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1024", 1024),
        (" 512 ", 512),
        ("2 vCPU", 2048),
        ("2vcpu", 2048),
        (".5 vCPU", 512),
        ("0.3 vCPU", 307),
        ("1.9", 1),
        ("0", 0),
    ],
)
def test_a_number_counts_in_its_unit_rounded_down(text: str, expected: int) -> None:
    assert amount(text, UNITS) == expected


@pytest.mark.parametrize(
    "text", ["", "GB", "1 GB", "-1", "1e3", "1 2", "1,5", "9" * 10, "1" + " " * 9**5 + "!", "\u0661"]
)
def test_any_other_text_is_no_amount(text: str) -> None:
    assert amount(text, UNITS) is UNKNOWN


def test_a_number_alone_needs_a_meaning() -> None:
    assert amount("1", {"GB": 1024}) is UNKNOWN
