"""The hook, the action and the template for CI: they parse, and what they run runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from gpu_constructs.cli import main

from tests.cli.templates import template, written
from tests.synthesis import ROOT

PAGE = (ROOT / "docs/ci.md").read_text()


def parsed(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with an error, and a command that runs the library from here where an installed one would be."""
    (tmp_path / "repository").mkdir()
    written(template(gpus="8"), tmp_path / "repository" / "gpu.json")
    command = tmp_path / "gpu-constructs/bin/gpu-constructs"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m gpu_constructs "$@"\n')
    command.chmod(0o755)
    return tmp_path / "repository"


def run(script: str, at: Path, **environment: str) -> tuple[int, str]:
    """Runs a script as GitHub runs a step, without anything else in the environment."""
    path = f"{at.parent}/gpu-constructs/bin{os.pathsep}/usr/bin{os.pathsep}/bin"
    words = [str(shutil.which("bash")), "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    ended = subprocess.run(
        words, cwd=at, env={"PATH": path, **environment}, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_the_hook_checks_the_repository(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (hook,) = parsed(".pre-commit-hooks.yaml")
    # https://pre-commit.com/#new-hooks
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert re.search(hook["files"], "infra/gpu.template.json")
    assert not re.search(hook["files"], "app.py")
    program, *arguments = hook["entry"].split()
    assert program == "gpu-constructs"
    monkeypatch.chdir(repository)
    assert main([*arguments, *hook["args"]]) == 1
    assert "gpu.json:" in capsys.readouterr().out


def step(name: str) -> dict[str, Any]:
    (found,) = (each for each in parsed("action.yml")["runs"]["steps"] if each["name"] == name)
    return dict(found)


def test_the_action_annotates_writes_sarif_and_a_summary_and_fails(repository: Path, tmp_path: Path) -> None:
    inputs = parsed("action.yml")["inputs"]
    written(template(), repository / "another.json")
    given = {"paths": "another.json\ngpu.json\n", "options": "--fail-on warning", "sarif": "gpu.sarif"}
    used = {name: re.findall(r"inputs\.(\w+)", value)[0] for name, value in step("Check")["env"].items()}
    assert {*used.values(), "python"} == set(inputs)
    summary = tmp_path / "summary.md"
    code, said = run(
        step("Check")["run"],
        repository,
        RUNNER_TEMP=str(tmp_path),
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_WORKSPACE=str(repository),
        **{name: given[value] for name, value in used.items()},
    )
    assert code == 1, said
    assert re.search(r"^gpu\.json:\d+:\d+  ", said, re.MULTILINE)
    assert re.search(r"^::error title=GPU\d+,file=gpu\.json,line=\d+", said, re.MULTILINE)
    assert json.loads((repository / "gpu.sarif").read_text())["runs"]
    assert "gpu.json:" in summary.read_text()


def test_the_action_fails_where_nothing_could_be_checked(repository: Path, tmp_path: Path) -> None:
    code, said = run(
        step("Check")["run"],
        repository,
        RUNNER_TEMP=str(tmp_path),
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
        PATHS="gone.json",
        OPTIONS="",
        SARIF="",
    )
    assert (code, "gone.json" in said) == (2, True), said


def test_the_job_of_gitlab_writes_the_reports_that_it_names(repository: Path) -> None:
    job = parsed("ci/gitlab/gpu-constructs.yml")["gpu-constructs"]
    (script,) = job["script"]
    code, said = run(script, repository, GPU_CONSTRUCTS_PATHS="gpu.json", GPU_CONSTRUCTS_OPTIONS="")
    assert code == 1, said
    assert job["artifacts"]["when"] == "always"
    assert all((repository / file).stat().st_size for file in job["artifacts"]["reports"].values())
    (install,) = job["before_script"]
    code, said = run(install, repository)
    assert (code != 0, "GPU_CONSTRUCTS_PACKAGE: set it to what pip installs" in said) == (True, True), said


def test_the_page_names_what_there_is() -> None:
    blocks = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    hooks, workflow, _, gitlab = blocks
    assert [each["id"] for each in hooks["repos"][0]["hooks"]] == [
        each["id"] for each in parsed(".pre-commit-hooks.yaml")
    ]
    action = workflow["jobs"]["gpu"]["steps"][1]
    assert set(action["with"]) <= set(parsed("action.yml")["inputs"])
    job = (ROOT / "ci/gitlab/gpu-constructs.yml").read_text()
    assert all(f"{each}" in job for each in gitlab["variables"])
    assert gitlab["include"][0]["remote"].endswith("/ci/gitlab/gpu-constructs.yml")


def test_a_repository_with_findings_begins_with_the_baseline_of_the_page(repository: Path) -> None:
    (begin,) = (each for each in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "init" in each)
    assert run("gpu-constructs check .", repository)[0] == 1
    code, said = run(begin, repository)
    assert code == 0, said
    written(template(gpus="4"), repository / "new.json")
    assert run("gpu-constructs check .", repository)[0] == 1
