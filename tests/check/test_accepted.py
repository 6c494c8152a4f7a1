"""What a project has accepted: paths with a reason, severities of its own, and a baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.cli import main
from tests.cli.many_files import checked, put
from tests.cli.templates import acknowledged, template, with_choice

RULE = "GPU060"
"""What 9 GPUs on a host of one bring."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1793491200")  # 2026-10-31
    put("old/t.json", template(gpus="9"))
    put("new/t.json", template(gpus="9"))
    return tmp_path


def where(report: dict[str, Any], severity: str = "error") -> list[str]:
    return [each["file"] for each in report["findings"] if each["rule"] == RULE and each["severity"] == severity]


def ignoring(more: str = "") -> str:
    return f"ignore:\n- {{rule: {RULE}, path: old/, reason: frozen{more}}}\n"


def test_a_path_is_accepted_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    put("gpu-constructs.yaml", ignoring())
    _, report, said = checked(".", capsys=capsys)
    assert (where(report), said) == (["new/t.json"], "")
    assert [(each["rule"], each["file"], each["reason"]) for each in report["acknowledged"]] == [
        (RULE, "old/t.json", "frozen")
    ]
    main(["check", "."])
    assert f"acknowledged: {RULE} of Chat: frozen" in capsys.readouterr().out


def test_an_acceptance_that_ended_or_accepts_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    put("gpu-constructs.yaml", ignoring(", until: 2026-10-30"))
    _, report, said = checked(".", capsys=capsys)
    assert (len(where(report)), f"gpu-constructs.yaml:2: {RULE} was accepted until 2026-10-30" in said) == (2, True)
    put("gpu-constructs.yaml", ignoring(", resource: Other*"))
    told = f"gpu-constructs.yaml:2: {RULE} is accepted, and no finding matches"
    assert told in checked(".", capsys=capsys)[2]
    put("gpu-constructs.yaml", ignoring().replace("old/", "gone/"))
    assert [told in checked(each, capsys=capsys)[2] for each in (".", "new")] == [True, False]
    assert checked("new", capsys=capsys)[2] == ""


def test_severities_of_a_project_decide_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    put("gpu-constructs.yaml", f"severity: {{{RULE}: warning}}")
    code, report, _ = checked(".", capsys=capsys)
    assert (where(report, "warning"), where(report), code) == (["new/t.json", "old/t.json"], [], 0)


def test_the_nearest_configuration_in_the_repository_counts(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    put("gpu-constructs.yaml", "region: eu-west-1")
    Path("repo/.git").mkdir(parents=True)
    put("repo/a/b/t.json", template())
    put(
        "repo/pyproject.toml", '[project]\nname = "x"\n\n[tool.gpu-constructs]\nfail_on = "warning"\nexclude = ["b/"]\n'
    )
    assert found_configuration(paths=["repo/a/b/t.json"]).file == "repo/pyproject.toml"
    assert found_configuration(paths=["old"]).file == "gpu-constructs.yaml"
    put("repo/a/gpu-constructs.json", {"fail_on": "never"})
    assert found_configuration(paths=["repo/a/b"]).fail_on == "never"
    main(["check", "repo/a/b", "-v"])
    assert f"configuration: {Path('repo/a/gpu-constructs.json')}" in capsys.readouterr().err
    assert (here / "gpu-constructs.yaml").exists()


def test_a_table_of_pyproject_is_told_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    put("pyproject.toml", "[tool.gpu_constructs]\nregion = 'eu-west-1'\n")
    code, _, said = checked(".", capsys=capsys)
    assert (code, "pyproject.toml: [tool.gpu_constructs] is not read" in said) == (2, True)
    assert "; fix: [tool.gpu-constructs]" in said
    put("pyproject.toml", '[tool.x]\nregion = 1\n\n[tool.gpu-constructs]\nregion = "mars"\n')
    assert "pyproject.toml: region: got 'mars'; allowed: a name such as" in checked(".", capsys=capsys)[2]
    put("gpu-constructs.yaml", "region: eu-west-1")
    assert "gpu-constructs.yaml: there is pyproject.toml too" in checked(".", capsys=capsys)[2]


def test_a_baseline_tells_what_is_new_and_what_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    put("new/t.json", template())
    assert "no baseline is named" in checked(".", "--update-baseline", capsys=capsys)[2]
    assert checked(".", "--baseline", "base.json", capsys=capsys)[0] == 2
    assert checked(".", "--baseline", "base.json", "--update-baseline", capsys=capsys)[0] == 0
    held = Path("base.json").read_text(encoding="utf-8")
    assert "line" not in held

    put("old/t.json", "\n\n" + json.dumps(template(gpus="9")))
    code, report, _ = checked(".", "--baseline", "base.json", capsys=capsys)
    assert (code, where(report), report["summary"]["in_baseline"] > 0) == (0, [], True)
    put("new/t.json", template(gpus="9"))
    code, report, _ = checked(".", "--baseline", "base.json", capsys=capsys)
    assert (code, where(report)) == (1, ["new/t.json"])

    put("old/t.json", template())
    said = checked(".", "--baseline", "base.json", capsys=capsys)[2]
    assert said.startswith("gpu-constructs: base.json: no longer found: ")
    assert "GPU060 of Chat in old/t.json; fix: --update-baseline" in said
    assert "no longer found" not in checked("new", "--baseline", "base.json", capsys=capsys)[2]
    assert Path("base.json").read_text(encoding="utf-8") == held


def test_what_the_baseline_holds_is_in_no_table_of_values(capsys: pytest.CaptureFixture[str]) -> None:
    put("new/t.json", with_choice("g6.12xlarge", default="c7i.2xlarge"))
    main(["check", "new"])
    assert "values of InstanceType" in capsys.readouterr().out
    checked("new", "--baseline", "base.json", "--update-baseline", capsys=capsys)
    main(["check", "new", "--baseline", "base.json"])
    assert "values of InstanceType" not in capsys.readouterr().out


def test_an_update_keeps_what_was_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    put("gpu-constructs.yaml", "baseline: base.json")
    checked(".", "--update-baseline", capsys=capsys)
    before = json.loads(Path("base.json").read_text(encoding="utf-8"))
    put("new/t.json", template())
    checked("new", "--update-baseline", capsys=capsys)
    after = json.loads(Path("base.json").read_text(encoding="utf-8"))
    assert [each for each in before["findings"] if each["file"] == "old/t.json"] == [
        each for each in after["findings"] if each["file"] == "old/t.json"
    ]
    assert not [each for each in after["findings"] if each["rule"] == RULE and each["file"] == "new/t.json"]


def test_a_baseline_that_is_none_or_cannot_be_written_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    put("base.json", {"version": 1, "findings": [{"rule": RULE}]})
    assert "base.json:1: not an entry of a baseline" in checked(".", "--baseline", "base.json", capsys=capsys)[2]
    code, _, said = checked(".", "--baseline", "no/base.json", "--update-baseline", capsys=capsys)
    assert (code, "cannot write 'no/base.json': No such file or directory" in said) == (2, True)


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        ({"GPU9999": "why"}, "Acknowledge of Provider: check has no rule or warning 'GPU9999'"),
        ({"GPU002": " "}, "gives no reason for GPU002, and does not accept it; fix: GPU002: why it is all right"),
        ({"GPU100": "why"}, "Provider accepts GPU100, and no finding matches; fix: delete it"),
    ],
)
def test_a_reason_in_a_template_that_does_not_count_is_said(
    reasons: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put("one/t.json", acknowledged(template(), "Provider", **reasons))
    said = checked("one", capsys=capsys)[2]
    assert said.startswith("gpu-constructs: one/t.json: ")
    assert words in said


def test_init_writes_a_configuration_that_can_be_read_and_replaces_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    text = Path("gpu-constructs.yaml").read_text(encoding="utf-8")
    assert found_configuration().fail_on == "error"
    settings = [line.removeprefix("# ") for line in text.splitlines()[2:]]
    put("all/gpu-constructs.yaml", "\n".join(each for each in settings if not each[:1].isupper()))
    found = found_configuration("all/gpu-constructs.yaml")
    assert (found.region, found.exclude, len(found.accept)) == ("eu-west-1", ("legacy/",), 1)
    assert main(["init"]) == 2
    assert "gpu-constructs.yaml is there already; fix: change it, or delete it first" in capsys.readouterr().err
    assert Path("gpu-constructs.yaml").read_text(encoding="utf-8") == text
