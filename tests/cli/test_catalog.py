"""A catalogue of one's own: what differs from the one in use, and that commands read it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cli import main
from gpu_constructs.hardware.records import CATALOGUE, DATA
from tests.cli.templates import template

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("accelerated", "general", "prices"):
        shutil.copy(DATA / f"{name}.json", tmp_path)
    return tmp_path


def edit(folder: Path, name: str, change: Change) -> None:
    file = folder / f"{name}.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


def test_a_catalogue_does_not_differ_from_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "diff", str(folder)]) == 0
    assert main(["catalog", "diff", str(folder), str(DATA)]) == 0
    assert capsys.readouterr().out == ""


def newer_types(content: dict[str, Any]) -> None:
    types = content["instance_types"]
    types["g9.xlarge"] = types["g6.xlarge"]
    content["regions"]["g9"] = ["us-east-1"]
    del types["p2.xlarge"]
    for name in ("g5.xlarge", "g5.2xlarge"):
        types[name]["accelerators"]["memory_mib"] = 23028
    content["regions"]["p6-b300"] = ["us-west-2", "us-moon-1"]
    content["quotas"]["G/VT"]["spot_code"] = None


def test_what_differs_is_said_in_a_line_for_types_that_differ_alike(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(folder, "accelerated", newer_types)
    edit(folder, "prices", lambda content: content["regions"]["us-east-1"]["2026-07"].update({"g6.xlarge": 0.9}))
    shutil.copy(DATA / "image_releases.json", folder)
    edit(folder, "image_releases", lambda content: content["lines"]["al2023-gpu"]["releases"].update({"20261201": {}}))
    assert main(["catalog", "diff", str(folder)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "  g9.xlarge: new" in said
    assert "  p2.xlarge: gone" in said
    assert "  g5.xlarge, g5.2xlarge: accelerators.memory_mib 22888 -> 23028" in said
    assert "  quota G/VT: spot_code L-3819A6DF -> unknown" in said
    assert any(line.startswith("  p6-b300.48xlarge: regions +us-moon-1 -") for line in said)
    assert said[-4:-2] == ["prices.json:", "  us-east-1: g6.xlarge 0.8048 -> 0.9"]
    assert said[-2:] == ["image_releases.json:", "  al2023-gpu 20261201: new"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "accelerated.json' is not JSON"),
        ("[" * 100_000, "accelerated.json' is not JSON"),
        ("7", "accelerated.json is not as gpu-constructs catalog refresh writes it"),
        (
            '{"instance_types": {"g6.xlarge": 1}, "quotas": {}, "families": {}}',
            "accelerated.json is not as",
        ),
        ('{"regions": []}', "accelerated.json is not as gpu-constructs catalog refresh writes it"),
    ],
)
def test_a_file_that_is_not_of_a_catalogue_is_refused(
    folder: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "accelerated.json").write_text(text, encoding="utf-8")
    assert main(["catalog", "diff", str(folder)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("folders", "said"),
    [(["nowhere"], "'nowhere' is not a folder with a catalogue"), (["a", "b", "c"], "unrecognized arguments: c")],
)
def test_folders_that_cannot_be_compared(folders: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "diff", *folders]) == 2
    assert said in capsys.readouterr().err


def instances(folder: Path | str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpu_constructs", "instances", *more]
    environment = {**os.environ, CATALOGUE: str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_every_command_reads_the_catalogue_that_the_environment_names(folder: Path) -> None:
    edit(folder, "accelerated", newer_types)
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


def test_a_folder_that_does_not_exist_is_an_error() -> None:
    assert "GPU_CONSTRUCTS_CATALOG: there is no folder 'nowhere'" in instances("nowhere").stderr
