"""The front door offers what it says, and the pure rooms behind it start nothing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import gpu_constructs
from tests.synthesis import ROOT


def test_the_list_of_names_is_what_can_be_imported() -> None:
    assert gpu_constructs.__all__ == sorted(gpu_constructs.__all__)
    for name in gpu_constructs.__all__:
        assert getattr(gpu_constructs, name).__name__ == name
        assert name in dir(gpu_constructs)


def test_what_begins_with_an_underscore_stays_in_its_module() -> None:
    for path in (ROOT / "gpu_constructs").rglob("*.py"):
        imports = re.findall(r"^ *from gpu_constructs\S* import (?:\([^)]*\)|.*)", path.read_text(), re.MULTILINE)
        assert not re.findall(r"[ (]_[A-Za-z]\w*", " ".join(imports)), path


def test_every_room_says_which_question_it_answers() -> None:
    for path in (ROOT / "gpu_constructs").glob("*/**/__init__.py"):
        first_paragraph = path.read_text().partition("\n\n")[0]
        assert "?" in first_paragraph, path


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'GpuFleet'"):
        getattr(gpu_constructs, "GpuFleet")  # noqa: B009 - the type checker would not let it through


def test_a_pure_room_needs_no_node_and_no_cloud_library() -> None:
    rooms = ["errors", "facts", "fleet", "placement", "template", "rules", "check", "check.planning", "cli", "testing"]
    # One process for all: what one of them loads stays, and is said of the first.
    named = "print(sys.modules.keys() & {'jsii', 'aws_cdk', 'constructs', 'boto3', 'botocore'})"
    code = "\n".join(["import sys", *(f"from gpu_constructs.{room} import *\n{named}" for room in rooms)])
    asked = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PATH": "/nonexistent"}
    )
    assert dict(zip(rooms, asked.stdout.splitlines(), strict=True)) == dict.fromkeys(rooms, "set()")


def test_the_version_is_the_one_that_is_released() -> None:
    for project in (ROOT, ROOT / "with_cdk"):
        written = (project / "pyproject.toml").read_text(encoding="utf-8")
        assert f'\nversion = "{gpu_constructs.__version__}"\n' in written


def test_the_oldest_releases_that_can_be_installed_are_the_locked_oldest() -> None:
    written = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = written.partition("\ncdk = [\n")[2].partition("\n]")[0]
    oldest = re.findall(r'^    "([\w-]+)>=([\d.]+)', needed, re.MULTILINE)
    assert dict(oldest)["aws-cdk-lib"] == ".".join(map(str, gpu_constructs._OLDEST_CDK))
    locked = (ROOT / "requirements" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    assert {f"{name}=={version}.0 \\" for name, version in oldest} <= set(locked), "make lock"
