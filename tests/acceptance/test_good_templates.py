"""Templates that work, of many styles: none gets an error, and every warning that one gets is known here."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.rules import Severity

GOOD = sorted((Path(__file__).parent / "good").iterdir())

# What a reviewer would say about them all the same. Anything else is a false alarm.
WARNINGS: dict[str, set[str]] = {
    "16-sharing-mps": {"GPU034"},  # a fault of one container restarts its neighbours
    "18-conditions": {"GPU005", "GPU014"},  # nothing is known before the deploy
    "23-launch-configuration-old-type": {"GPU056"},
    "29-capacity-block": {"GPU165"},  # nothing drains its hosts before the block ends
    "32-old-sharing-recipe": {"GPU038"},
}


def test_there_are_at_least_forty_five() -> None:
    assert len(GOOD) >= 45


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_it_gets_no_error(path: Path) -> None:
    errors = [each for each in check_files([path]).findings if each.severity is Severity.ERROR]
    assert not errors, "\n".join(f"{each.rule} {each.message}" for each in errors)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_its_warnings_are_meant(path: Path) -> None:
    warnings = {each.rule for each in check_files([path]).findings if each.severity is Severity.WARNING}
    assert warnings == WARNINGS.get(path.stem, set())
