"""A family that AWS has never had: with a line in the dump and in each curated table, everything else knows it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools import build_catalogue

from tests.facts.invented_family import DATA, Facts
from tests.kernel import started_directly


def test_a_family_that_only_the_data_names_works_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = Facts(tmp_path / "curated", monkeypatch)
    facts.add_quota()
    facts.add_model()
    facts.add_family()
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    for name, text in build_catalogue.build().files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tests.e2e.new_family_app", str(folder)]
    with started_directly():
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
