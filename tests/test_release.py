"""What leaves the house: versions and metadata of the distributions, lines of the changelog, workflows of GitHub."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from gpu_constructs.errors import __version__
from tests.synthesis import ROOT
from tools.release import VERSIONED, gathered, main, problems

CHANGELOG = "# Changelog\n\n## 0.2.0\n\n### Tasks, jobs\n\n- Old.\n\n### Costs\n\n- Old.\n\n## 0.1.0\n\n- First.\n"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in ROOT.glob(".github/workflows/*.yml")}
BASH = shutil.which("bash") or "bash"
STEPS = [
    (f"{file}, {name}", step)
    for file, workflow in WORKFLOWS.items()
    for name, job in workflow["jobs"].items()
    for step in job["steps"]
]


def test_all_distributions_have_one_version_which_the_changelog_begins_with() -> None:
    waiting = {
        f"changes/{path.name}: not in CHANGELOG.md yet; fix: make changelog" for path in ROOT.glob("changes/*.md")
    }
    assert set(problems(f"v{__version__}", ROOT)) == waiting
    wrong = problems("v9.0", ROOT)
    assert [f"{name}: the version is {__version__}, the tag v9.0" in wrong for name in VERSIONED] == [True] * 3


@pytest.mark.parametrize("name", VERSIONED)
def test_metadata_say_what_an_index_shows(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert 'license = "Apache-2.0"' in text
    assert 'requires-python = ">=3.10"' in text
    assert "Programming Language :: Python :: 3" in text
    assert "[project.urls]" not in text, "the project has no address yet; when it has one, all three name it"


def test_lines_go_to_the_end_of_their_section_of_the_newest_version() -> None:
    text, wrong = gathered(CHANGELOG, {"b.tasks-jobs.md": "- New,\n  long.\n", "a.costs.md": "- Cheap.\n"})
    assert wrong == []
    assert text == CHANGELOG.replace("- Old.\n\n###", "- Old.\n- New,\n  long.\n\n###").replace(
        "- Old.\n\n## 0.1", "- Old.\n- Cheap.\n\n## 0.1"
    )


def test_lines_without_a_section_stay_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    for name, line in {"a.cost.md": "- X.\n", "b.costs.md": "X.\n", "c.md": "- X.\n"}.items():
        (tmp_path / "changes" / name).write_text(line, "utf-8")
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        "changes/a.cost.md: no section cost; one of: tasks-jobs, costs",
        "changes/b.costs.md: has to begin with '- '",
        "changes/c.md: no section (none); one of: tasks-jobs, costs",
    ]
    assert (tmp_path / "CHANGELOG.md").read_text("utf-8") == CHANGELOG
    assert len(list((tmp_path / "changes").iterdir())) == 3


def test_the_lines_that_wait_have_a_section() -> None:
    fragments = {path.name: path.read_text("utf-8") for path in ROOT.glob("changes/*.md")}
    text, wrong = gathered((ROOT / "CHANGELOG.md").read_text("utf-8"), fragments)
    assert wrong == []
    assert all(line.strip() in text for line in fragments.values())


def test_workflows_may_no_more_than_they_need() -> None:
    def of(permissions: dict[str, str] | None) -> set[str]:
        return {name for name, level in (permissions or {}).items() if level != "read"}

    assert all("permissions" in each and not of(each["permissions"]) for each in WORKFLOWS.values())
    writing = {
        (file, name): of(job["permissions"])
        for file, workflow in WORKFLOWS.items()
        for name, job in workflow["jobs"].items()
        if of(job.get("permissions"))
    }
    assert writing == {
        ("docs", "publish"): {"pages", "id-token"},
        ("release", "publish"): {"id-token", "attestations"},
        ("catalogue", "catalogue"): {"contents", "pull-requests"},
    }
    assert [name for name, step in STEPS if "${{" in step.get("run", "")] == [], "texts of others are never shell code"
    assert [name for name, job in WORKFLOWS["release"]["jobs"].items() if not job.get("needs")] == ["build"]
    assert WORKFLOWS["release"]["jobs"]["build"]["if"] == "vars.RELEASES == 'on'"
    assert "vars.PAGES == 'on'" in WORKFLOWS["docs"]["jobs"]["publish"]["if"]


def test_their_shell_steps_parse_and_call_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for name, step in STEPS:
        script = step.get("run", "")
        parsed = subprocess.run([BASH, "-n"], input=script, capture_output=True, text=True, check=False)
        assert (name, parsed.stderr) == (name, "")
        assert {each[-1] for each in re.findall(r"^\s*make (--silent )?(\w+)", script, re.MULTILINE)} <= targets


@pytest.mark.parametrize("is_open", [False, True])
def test_the_catalogue_opens_one_pull_request_or_renews_it(is_open: bool, tmp_path: Path) -> None:
    """With git as it is, and commands that stand in for make and gh."""
    steps = [step["run"] for name, step in STEPS if name.startswith("catalogue") and "run" in step]
    (tmp_path / "bin").mkdir()
    for name, script in {
        "make": 'case "$*" in *catalogue) echo "g6: new"; echo 1 >data.json; exit 1; esac',
        "gh": f'echo "$2" >>{tmp_path}/asked; [ "$2" = edit ] || exit {int(is_open)}',
    }.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    world: dict[str, Any] = {
        "PATH": os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]),
        "RUNNER_TEMP": str(tmp_path),
        "HOME": str(tmp_path),
    }
    begin = "git init -q --bare origin && git clone -q origin work 2>/dev/null"
    for script, place in [(begin, tmp_path), *((step, tmp_path / "work") for step in steps)]:
        ended = subprocess.run([BASH, "-c", script], cwd=place, env=world, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
    text = (tmp_path / "text.md").read_text("utf-8")
    assert text.startswith("Facts are missing")
    assert "g6: new" in text
    assert (tmp_path / "asked").read_text("utf-8").split() == (["create", "edit"] if is_open else ["create"])
    tree = ["git", "--git-dir", "origin", "ls-tree", "--name-only", "catalogue"]
    assert subprocess.run(tree, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "data.json\n"
