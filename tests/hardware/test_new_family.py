"""A family that AWS has never had: with a line in the dump and in each curated table, everything else knows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

import gpu_constructs.hardware
from gpu_constructs.account.answers import InstanceTypeInfo
from gpu_constructs.account.gaps import in_words
from gpu_constructs.hardware.records import CATALOGUE
from tools import build_catalogue, catalogue, ec2_dump

DATA = Path(gpu_constructs.hardware.__file__).with_name("data")
SOURCE = {"source": "invented", "date": "2026-11-21"}
TRAITS = {"released_after_2022": True, "managed_instances": True, "device_rdma": True}


def described(like: str, name: str) -> InstanceTypeInfo:
    """A type as DescribeInstanceTypes would describe it: like one that exists, with a GPU that does not."""
    info = cast("dict[str, Any]", deepcopy(ec2_dump.instance_types()[like]))
    info["InstanceType"] = name
    for gpu in info["GpuInfo"]["Gpus"]:
        gpu.update(Name="R200", MemoryInfo={"SizeInMiB": 288 * 1024})
    return cast("InstanceTypeInfo", info)


class Facts:
    """A copy of the facts that the generator reads."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        shutil.copytree(build_catalogue.CURATED, folder)
        self.dump = dump = dict(ec2_dump.instance_types())
        offered = dict(ec2_dump.offerings())
        for like, name in (("g6e.xlarge", "g9.xlarge"), ("p5en.48xlarge", "g9.48xlarge")):
            dump[name] = described(like, name)
            offered[name] = ["us-east-1", "us-west-2"]
        monkeypatch.setattr(build_catalogue, "CURATED", folder)
        monkeypatch.setattr(ec2_dump, "instance_types", lambda: dump)
        monkeypatch.setattr(ec2_dump, "offerings", lambda: offered)

    def edit(self, file: str, change: Callable[[dict[str, Any]], object]) -> None:
        path = self.folder / f"{file}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    def add_quota(self) -> None:
        self.edit("quotas", lambda content: content["quotas"]["G/VT"]["families"].append("g9"))

    def add_model(self) -> None:
        row = {"generation": "Rubin", "compute_capability": [13, 0], **SOURCE}
        self.edit("models", lambda content: content["models"].update(R200=row))

    def add_family(self) -> None:
        self.edit("families", lambda content: content["families"].update(g9=TRAITS))


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Facts:
    return Facts(tmp_path / "curated", monkeypatch)


def test_a_family_that_only_the_data_names_works_everywhere(facts: Facts, tmp_path: Path) -> None:
    facts.add_quota()
    facts.add_model()
    facts.add_family()
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    for name, text in build_catalogue.build().files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tests.hardware.new_family_app", str(folder)]
    environment = {**os.environ, CATALOGUE: str(folder)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr[-2000:]
    template, good, wrong, instances = ran.stdout.split("--- ")

    resources = json.loads(template)["Resources"].values()
    launched = [each["Properties"]["LaunchTemplateData"] for each in resources if "LaunchTemplate" in each["Type"]]
    assert {each["InstanceType"] for each in launched} == {"g9.xlarge", "g9.48xlarge"}
    assert max(len(each.get("NetworkInterfaces", ())) for each in launched) == 17
    assert "amazon-linux-2023/gpu" in template
    assert '"AllowedInstanceTypes": ["g9.xlarge"]' in template
    assert "FI_EFA_USE_DEVICE_RDMA" in template

    assert "exit 0" in good
    assert "warning" not in good
    assert "776 vCPUs of on-demand G/VT instances" in " ".join(good.split())
    assert "a launch configuration cannot launch g9.xlarge" in " ".join(wrong.split())
    assert "driver 550.163.01, 580.65.06 is the first that drives Rubin (R200)" in " ".join(wrong.split())
    assert [line.split()[:4] for line in instances.splitlines() if line.startswith("g9")] == [
        ["g9.xlarge", "1", "R200", "288.0"],
        ["g9.48xlarge", "8", "R200", "288.0"],
    ]


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
    assert f"{MODEL}gpu_constructs/hardware/drivers.py)" in said
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
        "R200: first driver is not curated (gpu_constructs/hardware/drivers.py)",
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


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"MemoryInfo": None}, "R200: architecture, compute capability, first driver, memory are not curated"),
        ({"Manufacturer": "Groq"}, "g9.xlarge is left out: the manufacturer 'Groq' is not known"),
        (None, "g9.xlarge is left out: it has 2 kinds of accelerators"),
    ],
)
def test_a_gpu_that_is_described_in_a_new_way(facts: Facts, wrong: dict[str, object] | None, said: str) -> None:
    gpus = facts.dump["g9.xlarge"]["GpuInfo"]["Gpus"]
    if wrong is None:
        gpus.append(gpus[0])
    else:
        changed = {**gpus[0], **wrong}
        gpus[0] = cast("Any", {key: value for key, value in changed.items() if value is not None})
    built = build_catalogue.build()
    assert said in "\n".join((*in_words(built.gaps), *built.stale))


def test_a_curated_line_about_nothing_is_named(facts: Facts) -> None:
    facts.edit("families", lambda content: content["families"].update(g99=TRAITS))
    facts.edit("remarks", lambda content: content["instance_types"].update({"g99.large": {"note": "odd"}}))
    facts.edit("corrections", lambda content: content["instance_types"]["trn2.48xlarge"].update(reported=1))
    assert build_catalogue.build().stale == (
        "corrections.json: trn2.48xlarge is reported with 524288, not with 1",
        "families.json: there is no g99 any more",
        "remarks.json: there is no g99.large any more",
    )


def test_a_general_family_of_another_quota_is_not_taken_for_standard(facts: Facts) -> None:
    names = ("x9.large", "u9-6tb1.metal", "hpc9a.96xlarge", "mac-m9.metal")
    facts.dump.update(dict.fromkeys(names, ec2_dump.instance_types()["m7i.large"]))
    families = (each.partition(".")[0] for each in names)
    assert {f"{each}: quota is not curated (tools/curated/quotas.json)" for each in families} <= {
        *in_words(build_catalogue.build().gaps)
    }
