"""Commands read the catalogue that the environment names; each is a process, because a process reads it once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gpu_constructs.facts.records import CATALOGUE, DATA

from tests.cli.templates import template
from tests.e2e.catalogues import copied, edit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path)


def add_g9(content: dict[str, Any]) -> None:
    content["instance_types"]["g9.xlarge"] = content["instance_types"]["g6.xlarge"]
    content["regions"]["g9"] = ["us-east-1"]


def instances(folder: Path | str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpu_constructs", "instances", *more]
    environment = {**os.environ, CATALOGUE: str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_every_command_reads_the_catalogue_that_the_environment_names(folder: Path) -> None:
    edit(folder, "accelerated", add_g9)
    (folder / "general.json").unlink()
    found = instances(folder, "--family", "g9")
    assert found.stdout.splitlines()[1].startswith("g9.xlarge")
    assert instances(folder, "--family", "c7i").returncode == 0


@pytest.mark.parametrize(("newer", "words"), [(True, "the driver of release"), (False, "release")])
def test_a_pin_of_a_release_that_only_a_newer_catalogue_has_is_judged_with_a_warning(
    folder: Path, newer: bool, words: str
) -> None:
    shutil.copy(DATA / "image_releases.json", folder)
    edit(folder, "image_releases", lambda content: content["lines"]["al2023-gpu"]["releases"].update({"20261201": {}}))
    app = folder / "app.json"
    app.write_text(json.dumps(template()).replace("20260929", "20261201"), encoding="utf-8")
    command = [sys.executable, "-m", "gpu_constructs", "check", str(app)]
    environment = {**os.environ, CATALOGUE: str(folder if newer else DATA), "COLUMNS": "1000"}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    said = " ".join(found.stdout.split())
    assert found.returncode == 0
    assert f"{words} 'al2023-ami-ecs-gpu-hvm-2023.0.20261201-kernel-6.1-x86_64-ebs' of image al2023-gpu is not" in said
    assert "it has driver 580.178.04 or later" in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{",
        "{}",
        '{"recorded": "2026-11-01", "instance_types": {"g6.xlarge": {"vcpus": -4}}}',
        '{"recorded": "2026-13-01"}',
        '{"recorded": "2026-11-01"}',
    ],
)
def test_a_broken_catalogue_is_an_error_in_words(folder: Path, text: str) -> None:
    (folder / "accelerated.json").write_text(text, encoding="utf-8")
    found = instances(folder)
    assert found.returncode == 2
    assert "accelerated.json" in found.stderr
    assert "internal error" not in found.stderr
    assert "InvalidValueError" not in found.stderr
