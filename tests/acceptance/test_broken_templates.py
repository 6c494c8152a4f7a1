"""Templates that cannot work, or that an expert would warn of: each fault is named, as gravely as it is.

`python -m tests.acceptance` prints recall and precision of each class.
"""

from __future__ import annotations

from tests.acceptance.known_misses import FOUND_BY_CFN_LINT, KNOWN_MISPLACED, KNOWN_MISSES
from tests.acceptance.recall import BROKEN, expectations, judged
from tests.linting import found_by

RECALL = 1.0  # the share of faults that are named: raise it when it grows


def test_every_broken_template_has_its_expectation() -> None:
    files = {path.name for path in BROKEN.iterdir() if path.name != "expected"}
    assert files == {each.file for each in expectations()}
    assert len(files) >= 120


def test_every_expectation_has_a_public_source() -> None:
    starts = (
        "https://docs.aws.amazon.com/",
        "https://github.com/",
        "https://docs.nvidia.com/",
        "https://docs.vllm.ai/",
        "https://cloudinit.readthedocs.io/",
    )
    assert not [each.file for each in expectations() if not each.source.startswith(starts)]


def test_every_fault_is_named() -> None:
    missed = {
        each.file: f"{why}; an expert says: {' and '.join(each.says)} ({each.source})"
        for each in expectations()
        if (why := judged(each).why_missed)
    }
    assert missed.keys() == KNOWN_MISSES.keys() | FOUND_BY_CFN_LINT.keys(), missed


def test_cfn_lint_finds_what_is_left_to_it() -> None:
    for file, rule in FOUND_BY_CFN_LINT.items():
        assert rule in {each.rule.id for each in found_by((BROKEN / file).read_text())}, file


def test_it_is_said_of_the_resource_to_change() -> None:
    misplaced = {
        each.file: f"{why}; to change is {' or '.join(each.places)}"
        for each in expectations()
        if (why := judged(each).why_misplaced)
    }
    assert misplaced.keys() == KNOWN_MISPLACED, misplaced


def test_the_lists_name_templates_that_exist() -> None:
    assert {*KNOWN_MISSES, *FOUND_BY_CFN_LINT, *KNOWN_MISPLACED} <= {each.file for each in expectations()}


def test_recall_does_not_fall() -> None:
    ours = [each for each in expectations() if each.file not in FOUND_BY_CFN_LINT]
    assert sum(not judged(each).why_missed for each in ours) / len(ours) >= RECALL - 0.005
