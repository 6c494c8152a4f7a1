"""The rule pack through the command line of cfn-lint, with its line numbers."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cfnlint.config import ConfigMixIn
from cfnlint.runner import Runner

from tests.acceptance.recall import BROKEN, FOUND_BY_CFN_LINT
from tests.checked_templates import BAD, GOOD
from tests.cli.templates import template, written
from tests.linting import found_by
from tests.synthesis import ROOT

PACK = "gpu_constructs.lint"


def test_the_command_line_says_at_which_line_a_task_fits_no_host_and_nothing_of_a_good_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger("cfnlint"), "handlers", [])  # where the command puts one of its own
    Path("good.yaml").write_text(GOOD)
    Path("template.yaml").write_text(BAD)
    with pytest.raises(SystemExit) as ended:
        Runner(ConfigMixIn(["--format", "parseable", "*.yaml", "--append-rules", PACK])).cli()
    said = capsys.readouterr()
    assert said.err == ""
    assert isinstance(ended.value.code, int)
    assert ended.value.code & 2  # cfn-lint adds 4 for warnings
    assert "good.yaml" not in said.out
    (line,) = [each for each in said.out.splitlines() if ":E9560:" in each]
    number = BAD.splitlines().index("          ResourceRequirements:") + 1
    assert line.startswith(f"template.yaml:{number}:11:")
    assert ":E9560:GPU060: Train does not fit on Provider: GPUs: 8 asked, g5.xlarge has 1; fix: " in line


def test_a_configuration_file_may_name_the_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".cfnlintrc").write_text(f"append_rules: [{PACK}]\n")
    (tmp_path / "template.yaml").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    assert "E9560" in {each.rule.id for each in Runner(ConfigMixIn(["template.yaml"])).run()}


def test_it_finds_the_same_without_what_makes_it_faster_in_tests() -> None:
    files = [*(BROKEN / each for each in FOUND_BY_CFN_LINT), *sorted(BROKEN.parent.glob("good/*.yaml"))[::40]]
    command = (str(Path(sys.executable).with_name("cfn-lint")), "--format", "json", *map(str, files))
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    alone = [(each["Filename"], each["Rule"]["Id"], each["Message"]) for each in json.loads(ended.stdout)]
    here = [(str(file), each.rule.id, each.message) for file in files for each in found_by(file.read_text())]
    assert sorted(alone) == sorted(here)


def test_the_line_of_the_page_says_what_each_of_the_two_leaves_to_the_other(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "checking.md").read_text()
    (line,) = re.findall(r"^gpu-constructs check cdk\.out; cfn-lint .*$", page, re.MULTILINE)
    folder = tmp_path / "cdk.out"
    folder.mkdir()
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Demo.template.json"}}
    (folder / "manifest.json").write_text(json.dumps({"version": "1", "artifacts": {"Demo": artifact}}))
    body = template(gpus="8")
    body["Resources"]["Cluster"]["Properties"] = {"ClusterNam": "gpu"}
    written(body, folder / "Demo.template.json")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    ours, _, theirs = ended.stdout.partition("looked at\n")
    assert ("GPU060" in ours, "ClusterNam" in ours) == (True, False)
    assert ("ClusterNam" in theirs, "GPU" in theirs) == (True, False)
