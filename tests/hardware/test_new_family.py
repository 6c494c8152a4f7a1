"""A family that AWS has never had: with a line in the dump and in each curated table, everything else knows it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

import gpu_constructs.hardware
from tools import build_catalogue, ec2_dump

DATA = Path(gpu_constructs.hardware.__file__).with_name("data")
SOURCE = {"source": "invented", "date": "2026-11-21"}
TRAITS = {"released_after_2022": True, "managed_instances": True, "device_rdma": True}


def described(like: str, name: str) -> ec2_dump.InstanceTypeInfo:
    """A type as DescribeInstanceTypes would describe it: like one that exists, with a GPU that does not."""
    info = cast("dict[str, Any]", deepcopy(ec2_dump.instance_types()[like]))
    info["InstanceType"] = name
    for gpu in info["GpuInfo"]["Gpus"]:
        gpu.update(Name="R200", MemoryInfo={"SizeInMiB": 288 * 1024})
    return cast("ec2_dump.InstanceTypeInfo", info)


class Facts:
    """A copy of the facts that the generator reads."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        shutil.copytree(build_catalogue.CURATED, folder)
        dump = dict(ec2_dump.instance_types())
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
    for name, text in build_catalogue.build().items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tests.hardware.new_family_app", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
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


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ((), "the compute capability of R200 is not known, add a line to tools/curated/models.json"),
        (
            (Facts.add_model,),
            "released_after_2022, managed_instances, device_rdma not known, add the family to tools/curated/families",
        ),
        ((Facts.add_model, Facts.add_family), "no quota group names its family, add it to tools/curated/quotas.json"),
    ],
)
def test_the_generator_says_which_line_is_missing(
    facts: Facts, known: tuple[Callable[[Facts], None], ...], message: str
) -> None:
    for add in known:
        add(facts)
    with pytest.raises(ValueError, match="g9") as refused:
        build_catalogue.build()
    assert message in str(refused.value)


def test_a_family_without_a_type_is_refused(facts: Facts) -> None:
    facts.edit("families", lambda content: content["families"].update(g99=TRAITS))
    facts.add_quota()
    facts.add_model()
    facts.add_family()
    with pytest.raises(ValueError, match=r"no type has the family.*g99"):
        build_catalogue.build()


@pytest.mark.parametrize("name", ["x9.large", "u9-6tb1.metal", "hpc9a.96xlarge", "mac-m9.metal"])
def test_a_general_family_of_another_quota_is_not_taken_for_standard(
    facts: Facts, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    del facts
    dump = {**ec2_dump.instance_types(), name: ec2_dump.instance_types()["m7i.large"]}
    monkeypatch.setattr(ec2_dump, "instance_types", lambda: {each: dump[each] for each in dump if "g9" not in each})
    with pytest.raises(ValueError, match=rf"{name}: not a Standard instance by its name"):
        build_catalogue.build()
