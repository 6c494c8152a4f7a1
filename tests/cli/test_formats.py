"""The report for GitHub, GitLab and whatever reads JUnit, and several reports at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gpu_constructs.cli import main
from gpu_constructs.rules import all_rules
from gpu_constructs.template import UnreadableError
from tests.cli.reports import FOUND, GRAVE, HERE, MADE, NOWHERE, REPORT, REPORT_OF_AN_APP, in_form
from tests.cli.templates import template, written

UNCHECKED = replace(NOWHERE, rule="GPU229", message="Chat: its hosts are not here")


def test_github_gets_errors_first_at_file_line_and_column() -> None:
    assert in_form("github", replace(REPORT, findings=(GRAVE, FOUND, UNCHECKED))).splitlines() == [
        "::error title=GPU009,file=infra/app one.json,line=17,col=9::8 GPUs are asked, g6.xlarge has 1",
        (
            "::warning title=GPU002,file=infra/app one.json,line=17,col=9::"
            "image al2023-gpu follows the newest release; fix: pin a release"
        ),
        "::notice title=GPU229::Chat: its hosts are not here",
    ]


def test_github_gets_no_more_of_a_level_than_it_shows_and_the_log_says_how_many_there_are() -> None:
    lines = in_form("github", replace(REPORT, findings=(*[GRAVE] * 12, *[FOUND] * 11))).splitlines()
    assert sum(each.startswith("::error") for each in lines) == 10
    assert sum(each.startswith("::warning") for each in lines) == 10
    assert lines[-1].startswith("2 more errors, 1 more warning without an annotation")


def test_a_name_cannot_write_a_command_of_github() -> None:
    evil = replace(FOUND, message="100%0Abad\n::error::owned", origin=replace(HERE, file="a,line=1:b%.json"))
    (line,) = in_form("github", replace(REPORT, findings=(evil,))).splitlines()
    assert "file=a%2Cline=1%3Ab%25.json,line=17" in line
    assert "::100%250Abad\\n::error::owned" in line


def test_gitlab_gets_one_object_for_each_finding_with_a_fingerprint_of_its_own() -> None:
    issues = json.loads(in_form("gitlab", replace(REPORT, findings=(GRAVE, FOUND, FOUND, NOWHERE, UNCHECKED))))
    # https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format: all of them are required.
    for each in issues:
        assert set(each) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert each["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert each["location"]["path"] == "infra/app one.json"
        assert each["location"]["lines"]["begin"] >= 1
    assert len({each["fingerprint"] for each in issues}) == len(issues) == 4
    assert issues[0]["description"] == "GPU009 8 GPUs are asked, g6.xlarge has 1"


def test_junit_has_a_case_for_each_rule_and_skips_what_is_ignored_accepted_old_or_unknown() -> None:
    report = replace(REPORT, findings=(GRAVE, FOUND, UNCHECKED), baselined=(replace(FOUND, rule="GPU001"),))
    suite = ET.fromstring(in_form("junit", report, ignored=("GPU010",))).find("testsuite")  # noqa: S314 - ours
    assert suite is not None
    cases = {str(each.get("name")).split()[0]: each for each in suite.findall("testcase")}
    assert list(cases) == [each.id for each in all_rules()]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (str(len(all_rules())), "1", "4")
    failure = cases["GPU009"].find("failure")
    assert failure is not None
    assert failure.text == "infra/app one.json:17:9: error: 8 GPUs are asked, g6.xlarge has 1"
    skipped = {name: each.get("message") for name, case in cases.items() if (each := case.find("skipped")) is not None}
    assert skipped == {
        "GPU001": "in the baseline",
        "GPU010": "ignored",
        "GPU003": "until spring",
        "GPU229": "Chat: its hosts are not here",
    }
    assert "pin a release" in str(cases["GPU002"].findtext("system-out"))  # a warning alone does not fail


# For each element: attributes that may be there, and elements in it; the schema that Jenkins holds a report to allows
# no others (junit-10.xsd of its xUnit plugin). A case must have a name, and a suite its number of tests.
COUNTS = {"name", "time", "tests", "failures", "disabled", "errors"}
OF_JUNIT: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": (COUNTS, {"testsuite"}),
    "testsuite": ({*COUNTS, "skipped", "timestamp", "hostname", "id", "package"}, {"testcase", "system-out"}),
    "testcase": ({"name", "classname", "time", "file", "line"}, {"failure", "error", "skipped", "system-out"}),
    **dict.fromkeys(("failure", "error", "skipped"), ({"type", "message"}, set[str]())),
    "system-out": (set(), set()),
}


def test_junit_is_built_as_the_schema_of_jenkins_says() -> None:
    accepted = replace(FOUND, rule="GPU001")
    report = replace(REPORT, findings=(GRAVE, FOUND, UNCHECKED), baselined=(accepted,))
    for each in (report, replace(REPORT, findings=())):
        for element in ET.fromstring(in_form("junit", each, ignored=("GPU010",))).iter():  # noqa: S314 - ours
            attributes, inside = OF_JUNIT[element.tag]
            assert set(element.attrib) <= attributes, element.tag
            assert {child.tag for child in element} <= inside, element.tag
            assert element.get("name") or element.tag not in {"testcase", "testsuite"}
            assert str(element.get("tests", "0")).isdecimal()


def test_junit_is_xml_whatever_is_in_a_message() -> None:
    evil = replace(GRAVE, message='<&">\x00]]>\udcff')
    (failure,) = ET.fromstring(in_form("junit", replace(REPORT, findings=(evil,)))).iter("failure")  # noqa: S314
    assert str(failure.get("message")).startswith('<&">')


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_files_are_named_from_the_top_of_the_repository(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "infra").mkdir()
    monkeypatch.chdir(tmp_path / "infra")
    monkeypatch.setenv(variable, str(tmp_path))
    finding = replace(FOUND, origin=replace(HERE, file="./t.json"))
    assert "file=infra/t.json," in in_form("github", replace(REPORT, findings=(finding,)))
    outside = replace(FOUND, origin=replace(HERE, file="/etc/t.json"))
    assert "file=/etc/t.json," in in_form("github", replace(REPORT, findings=(outside,)))


def test_a_reader_is_led_to_the_line_of_the_app_where_it_is_known() -> None:
    report = replace(REPORT_OF_AN_APP, findings=(replace(FOUND, origin=MADE),))
    assert "file=app/stack.ts,line=25,col=4::" in in_form("github", report)
    (issue,) = json.loads(in_form("gitlab", report))
    assert issue["location"] == {"path": "app/stack.ts", "lines": {"begin": 25}}


def test_several_reports_are_written_beside_the_one_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(template(gpus="8"), tmp_path / "t.json")
    outputs = {kind: tmp_path / kind for kind in ("text", "json", "sarif", "gitlab", "junit")}
    options = [each for kind, path in outputs.items() for each in ("--output", f"{kind}={path}")]
    assert main(["check", file, *options, "--output", "github=-"]) == 1
    log = capsys.readouterr().out
    assert log.startswith(outputs["text"].read_text())
    assert log.splitlines()[-1].startswith("::")
    assert json.loads(outputs["json"].read_text())["summary"]["errors"] >= 1
    assert all(path.stat().st_size for path in outputs.values())


@pytest.mark.parametrize("given", ["gpu.sarif", "sarif", "sarif=", "html=a.html", "=a", ""])
def test_an_output_that_is_none_is_2_and_names_the_forms(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t.json", "--output", given]) == 2
    assert "FORMAT=FILE, with text, json, sarif, github, gitlab or junit for FORMAT" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_2_and_the_other_one_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(template(), tmp_path / "t.json")
    assert main(["check", file, "--output", f"sarif={tmp_path}/none/a.sarif"]) == 2
    captured = capsys.readouterr()
    assert "looked at" in captured.out
    assert "--output: cannot write" in captured.err
    assert "No such file or directory" in captured.err
    assert main(["check", file, "--output", "json=/dev/full"]) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_what_is_checked_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(template(), tmp_path / "t.json")
    before = Path(file).read_text()
    assert main(["check", file, "--output", f"json={tmp_path}/../{tmp_path.name}/t.json"]) == 2
    assert "is what is checked" in capsys.readouterr().err
    assert Path(file).read_text() == before


def test_a_file_that_could_not_be_read_is_an_error_in_every_report() -> None:
    error = UnreadableError("a value is missing", file="infra/bad.json", line=2, column=1)
    report = replace(REPORT, findings=(), unreadable=(error,))
    assert "::error title=unreadable,file=infra/bad.json,line=2,col=1::a value is missing" in in_form("github", report)
    (issue,) = json.loads(in_form("gitlab", report))
    assert (issue["check_name"], issue["severity"], issue["location"]["path"]) == (
        "unreadable",
        "critical",
        "infra/bad.json",
    )
    assert 'failures="1"' in in_form("junit", report)
    (run,) = json.loads(in_form("sarif", report))["runs"]
    assert not run["invocations"][0]["executionSuccessful"]
