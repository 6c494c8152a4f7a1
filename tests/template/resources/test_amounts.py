"""An amount is a number with a unit that is known, and nothing else."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Origin, Unknown
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.tasks import amount_of

UNITS = {"": 1, "vCPU": 1024}


def amount(text: str, units: dict[str, int]) -> int | Unknown | None:
    return amount_of(Section({}, Origin(resource="Task")), "Cpu", text, units)


@pytest.mark.parametrize("text", ["", "GB", "1 GB", "1" + " " * 9**5 + "!"])
def test_any_other_text_is_no_amount(text: str) -> None:
    assert amount(text, UNITS) is UNKNOWN
