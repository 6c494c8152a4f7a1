"""One report for people, and in JSON for programs."""

from __future__ import annotations

import json
from dataclasses import replace

from gpu_constructs.check.report import Report
from gpu_constructs.cli.check import lines
from gpu_constructs.cli.output import unstyled
from tests.cli.reports import CHOSEN, FOUND, GRAVE, HERE, MADE, NOWHERE, REPORT, in_form


def told(report: Report, width: int = 100, *, verbose: bool = True) -> str:
    return "\n".join(map(unstyled, lines(report, width=width, verbose=verbose)))


def test_people_read_it_by_file_and_resource() -> None:
    assert told(replace(REPORT, findings=(GRAVE, FOUND))) == (
        "infra/app one.json:17:9  Hosts (MaxSize, Demo/Hosts)\n"
        "    error    GPU009  8 GPUs are asked, g6.xlarge has 1\n"
        "    warning  GPU002  image al2023-gpu follows the newest release\n"
        "                     fix: pin a release\n"
        "\n"
        "acknowledged: GPU003 of Hosts: until spring\n"
        "1 error, 1 warning, 1 acknowledged in 1 file; 1 pool, 1 task, 1 service looked at"
    )


def test_no_line_is_wider_than_the_terminal() -> None:
    long = replace(FOUND, message="a host registers less memory than its nominal size " * 5, fix="ask for less " * 9)
    assert max(map(len, told(replace(REPORT, findings=(long,)), width=72).splitlines()[:-1])) <= 72


def test_infos_are_shown_where_they_are_asked_for() -> None:
    quiet = told(REPORT, verbose=False)
    assert "GPU013" not in quiet
    assert quiet.splitlines()[-1].startswith("1 error, 1 warning, 1 info (shown with -v), 1 acknowledged in 1 file;")


def test_what_was_not_checked_is_shown_without_asking_a_line_for_each_task() -> None:
    tasks = [
        replace(NOWHERE, rule="GPU229", subject=f"t{each}", message=f"t{each} fits", fix="help") for each in range(12)
    ]
    shown = told(replace(REPORT, findings=tuple(tasks)), verbose=False).splitlines()
    assert shown[0] == "not checked: t0 fits"
    assert shown[9:12] == ["not checked: t9 fits", "not checked: and 2 more tasks", "fix: help"]
    assert shown[-1].startswith("nothing found, 12 tasks not checked, 1 acknowledged in 1 file;")


def test_a_name_cannot_write_lines_of_its_own() -> None:
    evil = replace(FOUND, message="bad\n::error file=x::owned\x1b[2J", origin=replace(HERE, resource="R\nS"))
    lines = told(replace(REPORT, findings=(evil,))).splitlines()
    assert not any(line.startswith(("::", "S")) for line in lines)
    assert "\x1b" not in "".join(lines)


def test_programs_get_the_fields_by_their_names() -> None:
    report = json.loads(in_form("json", REPORT))
    assert report["findings"][1] == {
        "rule": "GPU009",
        "severity": "error",
        "resource": "Hosts",
        "file": "infra/app one.json",
        "line": 17,
        "subject": "Hosts",
        "construct_path": "Demo/Hosts",
        "message": "8 GPUs are asked, g6.xlarge has 1",
        "fix": "",
        "parameter": None,
        "path": ["Resources", "Hosts", "Properties", "MaxSize"],
        "column": 9,
        "source": None,
    }
    assert report["files"] == ["infra/app one.json"]
    assert report["summary"] == {
        "errors": 1,
        "warnings": 1,
        "infos": 1,
        "unchecked": 0,
        "acknowledged": 1,
        "in_baseline": 0,
        "pools": 1,
        "tasks": 1,
        "services": 1,
        "runs": 0,
        "skipped_jobs": 0,
        "skipped_files": 0,
        "unreadable_files": 0,
        "checked_apart": 1,
        "untried_parameter_values": 0,
    }
    assert report["acknowledged"][0]["reason"] == "until spring"
    assert report["version"]


def test_programs_get_the_subject_where_nobody_knows_the_resource() -> None:
    (finding,) = json.loads(in_form("json", replace(REPORT, findings=(NOWHERE,))))["findings"]
    assert (finding["resource"], finding["file"], finding["line"]) == ("Hosts", None, None)


def test_the_line_of_the_app_is_told_where_it_is_known() -> None:
    report = replace(REPORT, findings=(replace(FOUND, origin=MADE),))
    (finding,) = json.loads(in_form("json", report))["findings"]
    assert finding["source"] == {"file": "app/stack.ts", "line": 25, "column": 4}
    assert "infra/app one.json:17:9  Hosts (MaxSize, Demo/Hosts, app/stack.ts:25)" in told(report)


def test_people_see_with_which_values_something_works() -> None:
    assert told(CHOSEN).startswith(
        "infra/app one.json:3  Parameters/Size\n"
        "    warning  Hosts with other values of Size\n"
        "             small (default): works\n"
        "             large and huge: GPU009 too large; fix: less\n"
        "             odd: GPU009, see Service\n"
    )


def test_programs_get_each_value_with_what_it_brings() -> None:
    (table,) = json.loads(in_form("json", CHOSEN))["parameter_values"]
    assert (table["parameter"], table["subject"], table["line"]) == ("Size", "Hosts", 3)
    assert [(each["value"], each["default"], each["works"]) for each in table["values"]] == [
        ("small", True, True),
        ("large", False, False),
        ("huge", False, False),
        ("odd", False, False),
    ]
    assert table["values"][1]["finding"]["rule"] == "GPU009"
