"""The front door offers what it says, and the pure rooms behind it start nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpu_constructs
from tests.synthesis import ROOT


def test_the_list_of_names_is_what_can_be_imported() -> None:
    assert gpu_constructs.__all__ == sorted(gpu_constructs.__all__)
    assert sorted(gpu_constructs._HOME) == gpu_constructs.__all__
    for name in gpu_constructs.__all__:
        assert getattr(gpu_constructs, name).__name__ == name
        assert name in dir(gpu_constructs)


def test_every_module_names_what_it_offers() -> None:
    for path in (ROOT / "gpu_constructs").rglob("*.py"):
        assert "__all__ = [" in path.read_text(), path


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'GpuFleet'"):
        getattr(gpu_constructs, "GpuFleet")  # noqa: B009 - the type checker would not let it through


@pytest.mark.parametrize(
    "room", ["errors", "hardware", "fleet", "placement", "rules", "template", "review", "cli", "testing"]
)
def test_a_pure_room_needs_no_node_and_no_cloud_library(room: str) -> None:
    code = (
        f"import gpu_constructs.{room}, sys;"
        "print([name for name in ('jsii', 'aws_cdk', 'constructs', 'boto3', 'botocore') if name in sys.modules])"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PATH": "/nonexistent"}
    )
    assert asked.stdout.strip() == "[]"


def test_imports_run_one_way() -> None:
    contracts = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert contracts.returncode == 0, contracts.stdout
    assert "7 kept, 0 broken" in contracts.stdout
