"""What the maker of the catalogue says of a family that AWS has never had, until each curated table has its line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import cast

import pytest

from tests.facts.invented_family import DATA, TRAITS, Facts
from tools import build_catalogue, catalogue
from tools.answers import InstanceTypeInfo
from tools.gaps import in_words


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Facts:
    return Facts(tmp_path / "curated", monkeypatch)


MODEL = "R200: architecture, compute capability, first driver are not curated (tools/curated/models.json, "
FAMILY = (
    "ECS Managed Instances, device RDMA, interconnect, quota, release before or after 2022 are not curated "
    "(tools/curated/families.json, tools/curated/interconnects.json, tools/curated/quotas.json)"
)


def test_what_is_not_curated_is_said_in_words_and_unknown_in_the_files(
    facts: Facts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    assert catalogue.main(folder) == 1
    said = capsys.readouterr().out.splitlines()
    assert "  g9.xlarge, g9.48xlarge: new" in said
    assert "general.json: unchanged" in said
    assert said[-1].startswith("without a price: g9.48xlarge, g9.xlarge, ")
    assert f"{MODEL}gpu_constructs/facts/drivers.py)" in said
    assert f"g9: {FAMILY}" in said
    row = json.loads((folder / "accelerated.json").read_text(encoding="utf-8"))["instance_types"]["g9.xlarge"]
    assert "quota" not in row
    assert row["accelerators"] == {"vendor": "nvidia", "model": "R200", "count": 1, "memory_mib": 288 * 1024}

    facts.add_quota()
    facts.add_model()
    facts.add_family()
    assert catalogue.main(folder) == 1
    said = capsys.readouterr().out.splitlines()
    assert "  g9.xlarge, g9.48xlarge: accelerators.compute_capability unknown -> [13, 0]" in said
    assert [line for line in said if "not curated" in line and "image_releases" not in line] == [
        "R200: first driver is not curated (gpu_constructs/facts/drivers.py)",
        "g9: interconnect is not curated (tools/curated/interconnects.json)",
    ]


def test_recorded_releases_without_a_row_and_without_a_driver_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    file = folder / "image_releases.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    releases = content["lines"]["al2023-gpu"]["releases"]
    del releases["20260922"], releases["20260918"]["driver"]
    file.write_text(json.dumps(content), encoding="utf-8")
    assert catalogue.main(folder) == 1
    said = capsys.readouterr().out
    assert "al2023-gpu: release 20260922 is not in image_releases.json" in said
    assert "driver of 20260813 to 20260918 are not curated" in said


def test_what_aws_describes_in_a_new_way_and_curated_lines_about_nothing_are_named(facts: Facts) -> None:
    (gpu,) = facts.dump["g9.xlarge"]["GpuInfo"]["Gpus"]
    without_memory = {key: value for key, value in gpu.items() if key != "MemoryInfo"}
    for name, gpus in {
        "g9.xlarge": [without_memory],
        "g91.xlarge": [{**gpu, "Manufacturer": "Groq"}],
        "g92.xlarge": [gpu, gpu],
    }.items():
        facts.dump[name] = cast("InstanceTypeInfo", {**facts.dump["g9.xlarge"], "GpuInfo": {"Gpus": gpus}})
    general = ("x9.large", "u9-6tb1.metal", "hpc9a.96xlarge", "mac-m9.metal")
    facts.dump.update(dict.fromkeys(general, facts.dump["m7i.large"]))
    facts.edit("families", lambda content: content["families"].update(g99=TRAITS))
    facts.edit("remarks", lambda content: content["instance_types"].update({"g99.large": {"note": "odd"}}))
    facts.edit("corrections", lambda content: content["instance_types"]["trn2.48xlarge"].update(reported=1))
    built = build_catalogue.build()
    assert built.stale == (
        "g91.xlarge is left out: the manufacturer 'Groq' is not known",
        "g92.xlarge is left out: it has 2 kinds of accelerators",
        "corrections.json: trn2.48xlarge is reported with 524288, not with 1",
        "families.json: there is no g99 any more",
        "remarks.json: there is no g99.large any more",
    )
    missing = "\n".join(in_words(built.gaps))
    assert "R200: architecture, compute capability, first driver, memory are not curated" in missing
    for family in ("x9", "u9-6tb1", "hpc9a", "mac-m9"):
        assert f"\n{family}: quota is not curated (tools/curated/quotas.json)" in missing
