"""Templates that cannot work, or that an expert would warn of: each fault is named, as gravely as it is."""

from __future__ import annotations

from itertools import groupby

from gpu_constructs.cli.check import lines
from tests.acceptance.recall import BROKEN, FOUND_BY_CFN_LINT, expectations, judged
from tests.reports import of_template


def test_every_broken_template_has_its_expectation() -> None:
    files = {path.name for path in BROKEN.iterdir() if path.name != "expected"}
    assert files == {each.file for each in expectations()}


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
    assert missed.keys() == FOUND_BY_CFN_LINT.keys(), missed


def test_it_is_said_of_the_resource_to_change() -> None:
    misplaced = {
        each.file: f"{why}; to change is {' or '.join(each.places)}"
        for each in expectations()
        if (why := judged(each).why_misplaced)
    }
    assert not misplaced


def test_what_is_said_of_a_template_is_at_most_a_screen_and_of_one_fault_a_few_lines() -> None:
    for each in expectations():
        told = ["".join(part for part, _ in line) for line in lines(of_template(each.path), width=100)]
        assert len(told) <= 40, each.file
        # What is one verdict is as far to the right as its beginning, or further.
        verdicts = [len(list(of)) for is_one, of in groupby(told, lambda line: line.startswith(" " * 13)) if is_one]
        assert max(verdicts, default=0) <= 13, each.file
