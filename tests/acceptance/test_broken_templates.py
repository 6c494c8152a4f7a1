"""Templates that cannot work, or that an expert would warn of: each fault is named, as gravely as it is.

`python -m tests.acceptance` prints recall and precision of each class.
"""

from __future__ import annotations

import pytest

from tests.acceptance.known_misses import KNOWN_MISPLACED, KNOWN_MISSES
from tests.acceptance.recall import BROKEN, Expected, expectations, judged

EXPECTED = expectations()
RECALL = 1.0  # the share of faults that are named: raise it when it grows


def test_every_broken_template_has_its_expectation() -> None:
    files = {path.name for path in BROKEN.iterdir() if path.name != "expected"}
    assert files == {each.file for each in EXPECTED}
    assert len(files) >= 120


def test_every_expectation_has_a_public_source() -> None:
    starts = (
        "https://docs.aws.amazon.com/",
        "https://github.com/",
        "https://docs.nvidia.com/",
        "https://docs.vllm.ai/",
        "https://cloudinit.readthedocs.io/",
    )
    assert not [each.file for each in EXPECTED if not each.source.startswith(starts)]


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda each: each.file)
def test_its_fault_is_named(expected: Expected) -> None:
    missed = judged(expected).why_missed
    if expected.file in KNOWN_MISSES:
        assert missed, f"{expected.file} is named now: take it out of KNOWN_MISSES"
    else:
        assert not missed, f"{missed}; an expert says: {' and '.join(expected.says)} ({expected.source})"


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda each: each.file)
def test_it_is_said_of_the_resource_to_change(expected: Expected) -> None:
    misplaced = judged(expected).why_misplaced
    if expected.file in KNOWN_MISPLACED:
        assert misplaced, f"{expected.file} is in its place now: take it out of KNOWN_MISPLACED"
    else:
        assert not misplaced, f"{misplaced}; to change is {' or '.join(expected.places)}"


def test_the_lists_name_templates_that_exist() -> None:
    assert {*KNOWN_MISSES, *KNOWN_MISPLACED} <= {each.file for each in EXPECTED}


def test_recall_does_not_fall() -> None:
    assert sum(not judged(each).why_missed for each in EXPECTED) / len(EXPECTED) >= RECALL - 0.005
