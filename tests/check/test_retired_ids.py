"""Every door takes the id of a rule that is asked no more, and says in a line what became of it."""

from __future__ import annotations

import json
from pathlib import Path

import aws_cdk as cdk
import pytest

from gpu_constructs import GpuChecks
from gpu_constructs.check.report import check_files
from gpu_constructs.cli import main
from gpu_constructs.rules import other_ids
from gpu_constructs.testing import gpus
from tests.cli.templates import acknowledged, template, written
from tests.linting import found_by
from tests.synthesis import until_said

PART, MOVED, OF_ERROR = "GPU900", "GPU901", "GPU902"
PART_OF = f"{PART} is part of GPU039 now, and accepts no error of it"
NO_RULE = f"{MOVED} is retired; reported now by: cfn-lint E0000"


@pytest.fixture(autouse=True)
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(other_ids.PART_OF, PART, "GPU039")
    monkeypatch.setitem(other_ids.PART_OF, OF_ERROR, "GPU060")
    monkeypatch.setitem(other_ids.reported_by(), MOVED, "cfn-lint E0000")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    return written(template(gpus="8"), tmp_path / "t.json")


@pytest.mark.parametrize("in_file", [False, True], ids=["option", "configuration"])
def test_the_command_line_ignores_them(
    wrong: str, in_file: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ignored.json"
    file.write_text(json.dumps({"ignore": [PART.lower(), MOVED]} if in_file else {}), encoding="utf-8")
    named = [] if in_file else ["--ignore", PART.lower(), "--ignore", MOVED, "--ignore", MOVED]
    assert main(["check", wrong, "--config", str(file), "--format", "json", *named]) == 1
    said = capsys.readouterr()
    assert [each["rule"] for each in json.loads(said.out)["findings"]] == ["GPU060"]
    without_reason = f"{file}: ignore: {PART}, {MOVED} has no reason; fix: {{rule: {PART}, reason: …}}"
    told = (*([without_reason] if in_file else []), PART_OF, NO_RULE)
    assert said.err.splitlines() == [f"gpu-constructs: {each}" for each in told]


def test_no_door_takes_an_old_id_for_an_error(wrong: str) -> None:
    assert main(["check", wrong, "--ignore", OF_ERROR]) == 1
    report = check_files([acknowledged(template(gpus="8"), "Chat", **{OF_ERROR: "we wait"})])
    assert [each.rule for each in report.findings] == ["GPU060", "GPU039"]
    with pytest.raises(AssertionError, match="GPU060"):
        gpus(wrong).has_no_findings(ignore=[OF_ERROR])


def test_a_reason_in_a_template_counts_for_the_rule_that_asks_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = acknowledged(template(gpus="8"), "Chat", **{PART: "we wait", MOVED: "whatever"})
    assert main(["check", written(body, tmp_path / "t.json"), "--format", "json"]) == 1
    said = capsys.readouterr()
    assert [(each["rule"], each["reason"]) for each in json.loads(said.out)["acknowledged"]] == [("GPU039", "we wait")]
    assert said.err.splitlines() == [f"gpu-constructs: {each}" for each in (PART_OF, NO_RULE)]


def test_a_reason_under_the_new_id_counts_before_one_under_the_old() -> None:
    for reasons in ({PART: "old", "GPU039": "new"}, {"GPU039": "new", PART: "old"}):
        report = check_files([acknowledged(template(gpus="8"), "Chat", **reasons)])
        assert [each.reason for each in report.acknowledged] == ["new"]


def test_a_reason_in_an_app_counts_at_synth(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    app = cdk.App(outdir=str(tmp_path))
    stack = cdk.Stack(app, "Demo")
    resources = template(gpus="8")["Resources"]
    for name, each in resources.items():
        cdk.CfnResource(stack, name, type=each["Type"], properties=each.get("Properties"))
    GpuChecks.add_to(app)
    for each in (PART, OF_ERROR):
        cdk.Validations.of(stack).acknowledge(cdk.Acknowledgment(id=f"gpu-constructs::{each}", reason="we wait"))
    with pytest.raises(RuntimeError, match="GPU060"):
        app.synth()
    assert f"gpu-constructs: {PART_OF}" in until_said(PART_OF, capfd)
    (accepted,) = check_files([tmp_path]).acknowledged
    assert (accepted.finding.rule, accepted.reason) == ("GPU039", "we wait")


def test_cfn_lint_knows_reasons_under_old_ids(caplog: pytest.LogCaptureFixture) -> None:
    body = acknowledged(template(gpus="8"), "Chat", **{PART: "we wait"})
    found = found_by(json.dumps(body), "gpu_constructs.lint")
    assert [each.rule.id for each in found if each.rule.id[1:] in {"9539", "9560"}] == ["E9560"]
    assert PART_OF in caplog.text


def test_assertions_ignore_them_and_say_so_where_they_fail(wrong: str) -> None:
    gpus(wrong).has_no_findings(at_least="info", ignore=["GPU060", PART])
    with pytest.raises(AssertionError, match=NO_RULE):
        gpus(wrong).has_no_findings(ignore=[MOVED])


@pytest.mark.parametrize(("id_", "said"), [(PART, PART_OF), (MOVED, NO_RULE)])
def test_the_list_of_rules_says_what_became_of_them(id_: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", id_]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"{said}\n")
    assert ("GPU039 info" in output) is (id_ == PART)
