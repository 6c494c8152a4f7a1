"""``gpu-constructs check``: exit codes, formats, and where the report goes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.report import Report
from gpu_constructs.cli import inputs, main
from gpu_constructs.fleet import Fleet, Origin
from gpu_constructs.rules import Finding, Severity
from tests.checked_templates import GOOD
from tests.cli.templates import template, written


@pytest.fixture
def good(tmp_path: Path) -> str:
    return written(template(), tmp_path / "good.json")


def found(*severities: Severity) -> Report:
    origin = Origin(resource="Chat", file="t.json", line=3)
    return Report(
        fleet=Fleet(),
        findings=tuple(
            Finding(rule="GPU002", severity=each, subject="Chat", message=f"{each}", origin=origin)
            for each in severities
        ),
        files=("t.json",),
    )


def test_a_good_template_has_no_error(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", good]) == 0
    output = capsys.readouterr()
    assert output.out.splitlines()[-1].endswith("in 1 file; 1 pool, 1 task, 1 service looked at")
    assert output.err == ""


@pytest.mark.parametrize(
    ("severities", "fail_on", "code"),
    [
        ([], [], 0),
        ([Severity.ERROR], [], 1),
        ([Severity.WARNING, Severity.INFO], [], 0),
        ([Severity.INFO, Severity.ERROR], ["--fail-on", "error"], 1),
        ([Severity.WARNING], ["--fail-on", "warning"], 1),
        ([Severity.INFO], ["--fail-on", "warning"], 0),
        ([Severity.INFO], ["--fail-on", "info"], 1),
        ([Severity.ERROR], ["--fail-on", "never"], 0),
    ],
)
@pytest.mark.parametrize("kind", ["text", "json", "sarif"])
def test_the_exit_code_says_whether_something_as_grave_was_found(
    severities: Sequence[Severity], fail_on: list[str], code: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "check_worlds", lambda *_, **__: found(*severities))
    assert main(["check", "t.json", "--format", kind, *fail_on]) == code


def test_nothing_about_gpus_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}, tmp_path / "t.json")
    assert main(["check", file, "--fail-on", "info"]) == 0
    assert capsys.readouterr().out == f"no ECS capacity or task was found in {file}\n"


def test_a_template_comes_from_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(template()).encode())))
    assert main(["check", "-", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["pools"] == 1


LOOP = """\
Resources:
  Fn::ForEach::Tasks:
    - Name
    - [A, B]
    - Task${Name}: {Type: AWS::ECS::TaskDefinition, Properties: {RequiresCompatibilities: [FARGATE]}}
"""
OPEN = "Parameters:\n  Open: {Type: String}\n"


@pytest.mark.parametrize(
    "text",
    [
        OPEN + re.sub("ImageId: .*", "ImageId: !Ref Open", GOOD.removeprefix("Parameters:\n")),
        re.sub("ImageId: .*", "ImageId: !ImportValue golden", GOOD),
        re.sub("ImageId: .*", "ImageId: '{{resolve:ssm:/golden/ami}}'", GOOD),
        re.sub("linux-2023/gpu/.*/image_id", "linux-2031/gpu/recommended/image_id", GOOD),
        OPEN + GOOD.removeprefix("Parameters:\n").replace("Value: '1'", "Value: !Ref Open"),
        OPEN + GOOD.removeprefix("Parameters:\n").replace("DesiredCount: 1", "DesiredCount: !Ref Open"),
        LOOP,
    ],
)
def test_what_is_not_known_of_a_task_fails_where_that_is_asked_for(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("template.yaml").write_text(text)
    assert main(["check", "."]) == 0
    assert main(["check", ".", "--fail-on", "unchecked"]) == 1
    Path("template.yaml").write_text(GOOD)
    assert main(["check", ".", "--fail-on", "unchecked"]) == 0


def test_parameters_and_region_reach_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(
        inputs, "check_worlds", lambda worlds, asked, **_: seen.update(worlds=worlds, asked=asked) or found()
    )
    given = [word for each in ("A=1", "S:B=x=y", "C=") for word in ("--parameter", each)]
    main(["check", "a", "b", *given, "--region", "eu-west-1"])
    assert [each.inputs for each in seen["worlds"]] == [("a", "b")]
    assert seen["asked"].given == {"A": "1", "S:B": "x=y", "C": ""}
    assert (seen["asked"].region, seen["asked"].stdin) == ("eu-west-1", None)


def test_what_was_not_checked_fails_where_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = template()
    del body["Resources"]["Service"]
    alone = written({"Resources": {"Chat": body["Resources"]["Chat"]}}, tmp_path / "t.json")
    assert main(["check", alone]) == 0
    assert main(["check", alone, "--fail-on", "unchecked"]) == 1
    assert main(["check", alone, "--fail-on", "unchecked", "--hosts", "g6.xlarge=1"]) == 0
    capsys.readouterr()
    main(["check", alone, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["summary"]["unchecked"] == 1


@pytest.mark.parametrize(
    "hosts",
    [
        "g6.xlarge",
        "=4",
        "g6.xlarge=many",
        "g6.xlarge=0",
        "g6.xlarge=9999999",
        "g6.xlarge=\uff14",
        "g7=1",
    ],
)
def test_hosts_that_are_none_are_2(hosts: str, good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", good, "--hosts", hosts]) == 2
    assert "--hosts" in capsys.readouterr().err or hosts == "g7=1"


@pytest.mark.parametrize("command", [["check"], ["explain", "Chat"], ["plan"]])
@pytest.mark.parametrize(
    "region",
    ["eu_west_1", "eu-west-1 ", "EU-WEST-1", "eu-west-1a", "eu-west-11", "us-esat-1", "Ireland", "", "x" * 100_000],
)
def test_what_is_no_region_is_2(command: list[str], region: str, good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, good, "--region", region]) == 2
    message = capsys.readouterr().err
    assert message.startswith("gpu-constructs: --region: ")
    assert "is not a region; allowed: a name such as eu-west-1" in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "PATH"),
        (["t.json", "--format", "xml"], "'xml'"),
        (["t.json", "--fail-on", "always"], "'always'"),
        (
            ["t.json", "--parameter", "InstanceType"],
            "--parameter: a parameter has no value; allowed: NAME=",
        ),
        (["t.json", "--parameter", "=x"], "--parameter: a parameter has no name; allowed: NAME=VALUE"),
        (["t.json", "--parameter", "A=1", "--parameter", "A=2"], "--parameter: A has two values; allowed: one value"),
        (["t.json", "--ignore", "GPU999"], "no rule or warning 'GPU999'"),
        (["t.json", "--ignore", "gpu-constructs::cpu-unit"], "; fix: did you mean gpu-constructs::cpu-units?"),
        (["t.json", "--ignore", "cpu_units"], "no rule or warning 'cpu_units'; fix: did you mean gpu-constructs::cpu-"),
        (["t.json", "--ignore", "GPU-230"], "no rule or warning 'GPU-230'; fix: did you mean GPU230"),
        (["t.json", "--ignore", "budget-not-known"], "check has no rule or warning 'budget-not-known'"),
        (["t.json", "--for", "json"], "--for"),
    ],
)
def test_wrong_usage_is_2_and_says_what_is_allowed(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.out == ""


@pytest.mark.parametrize("given", [["Pw=SECRET1", "Pw=SECRET2"], ["=SECRET1"], ["SECRET1"]])
def test_no_value_of_a_parameter_is_shown(given: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t.json", *(word for each in given for word in ("--parameter", each))]) == 2
    assert "SECRET" not in capsys.readouterr().err
