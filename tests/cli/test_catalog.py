"""A catalogue of one's own: what differs from the one in use."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cli import main
from gpu_constructs.facts.records import DATA
from tests.cli.catalogues import copied, edit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path)


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
