"""One report, told to people, programs and code scanners."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.checking.other_values import ValueTable, Verdict
from gpu_constructs.checking.report import Acknowledged, Report
from gpu_constructs.cli import json_report, sarif_report, text_report
from gpu_constructs.cli.terminal import unstyled
from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    Origin,
    Pool,
    ResourceRequirement,
    SourceLine,
    Task,
    Workload,
)
from gpu_constructs.hardware import instance_type
from gpu_constructs.rules import RULES, Finding, Severity, find_rule

POOL = Pool(
    name="Hosts",
    instance_types=(instance_type("g6.xlarge"),),
    image=UNKNOWN,
    min_instances=0,
    max_instances=4,
)
TASK = Task(name="Chat", containers=(Container(name="vllm", requirements=(ResourceRequirement.gpus(1),)),))
HERE = Origin(
    resource="Hosts",
    file="infra/app one.json",
    path=("Resources", "Hosts", "Properties", "MaxSize"),
    line=17,
    column=9,
    construct_path="Demo/Hosts",
)
MADE = replace(HERE, source=SourceLine(file="app/stack.ts", line=25, column=4))
FOUND = Finding(
    rule="GPU002",
    severity=Severity.WARNING,
    subject="Hosts",
    message="image al2023-gpu follows the newest release",
    fix="pin a release",
    origin=HERE,
)
GRAVE = replace(FOUND, rule="GPU009", severity=Severity.ERROR, message="8 GPUs are asked, g6.xlarge has 1", fix="")
NOWHERE = replace(FOUND, rule="GPU013", severity=Severity.INFO, origin=None, fix="")
REPORT = Report(
    fleet=Fleet(pools=(POOL,), tasks=(TASK,), workloads=(Workload(name="Service", task=TASK),)),
    findings=(NOWHERE, GRAVE, FOUND),
    acknowledged=(Acknowledged(finding=replace(FOUND, rule="GPU003"), reason="until spring"),),
    files=("infra/app one.json",),
)
REPORT_OF_AN_APP = replace(REPORT, findings=(*REPORT.findings, replace(FOUND, origin=MADE)))
NOTHING = Report(fleet=Fleet(), findings=(), files=("a.json",))


def told(report: Report, width: int = 100, *, verbose: bool = True) -> str:
    return "\n".join(map(unstyled, text_report.lines(report, width=width, verbose=verbose)))


def sarif(report: Report) -> dict[str, Any]:
    (run,) = json.loads(sarif_report.text(report))["runs"]
    return dict(run)


def test_people_read_it_by_file_and_resource() -> None:
    assert told(replace(REPORT, findings=(GRAVE, FOUND))) == (
        "infra/app one.json\n"
        "  Hosts (line 17, MaxSize, Demo/Hosts)\n"
        "    error    GPU009  8 GPUs are asked, g6.xlarge has 1\n"
        "    warning  GPU002  image al2023-gpu follows the newest release\n"
        "                     fix: pin a release\n"
        "\n"
        "acknowledged: GPU003 of Hosts\n"
        "1 error, 1 warning, 1 acknowledged in 1 file; 1 pool, 1 task, 1 service looked at"
    )


def test_no_line_is_wider_than_the_terminal() -> None:
    long = replace(FOUND, message="a host registers less memory than its nominal size " * 5, fix="ask for less " * 9)
    assert max(map(len, told(replace(REPORT, findings=(long,)), width=72).splitlines()[:-1])) <= 72


def test_a_place_in_another_resource_says_what_it_is_for() -> None:
    elsewhere = replace(FOUND, origin=replace(HERE, resource="Template"), about=HERE)
    assert "  Template (line 17, MaxSize, for Hosts, Demo/Hosts)" in told(replace(REPORT, findings=(elsewhere,)))


def test_a_finding_without_a_place_is_told_all_the_same() -> None:
    assert "(no file)\n  Hosts\n    info     GPU013" in told(REPORT)


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


def test_stdin_is_called_so() -> None:
    assert told(replace(REPORT, findings=(replace(FOUND, origin=replace(HERE, file="-")),))).startswith("(stdin)\n")


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (REPORT, "1 error, 1 warning, 1 info, 1 acknowledged in 1 file; 1 pool, 1 task, 1 service looked at"),
        (
            replace(REPORT, findings=(GRAVE, GRAVE), files=("a", "b")),
            "2 errors, 1 acknowledged in 2 files; 1 pool, 1 task, 1 service looked at",
        ),
        (replace(REPORT, findings=()), "nothing found, 1 acknowledged in 1 file; 1 pool, 1 task, 1 service looked at"),
        (
            replace(REPORT, findings=(), fleet=Fleet(tasks=(Task(name="Web", containers=(Container(name="nginx"),)),))),
            "nothing found, 1 acknowledged in 1 file; 0 pools, 1 task, 0 services looked at, no GPU known among them",
        ),
        (NOTHING, "no ECS capacity or task was found in a.json"),
        (replace(NOTHING, files=()), "no ECS capacity or task was found in what was read"),
        (
            replace(NOTHING, findings=(NOWHERE,)),
            "1 info in 1 file; 0 pools, 0 tasks, 0 services looked at, no GPU known among them",
        ),
    ],
)
def test_the_last_line_sums_it_up(report: Report, line: str) -> None:
    assert told(report).splitlines()[-1] == line


def test_values_that_were_not_tried_are_said() -> None:
    assert "not tried: 3 values of Size and 1 value of Stage" in told(replace(REPORT, untried={"Size": 3, "Stage": 1}))


def test_a_name_cannot_write_lines_of_its_own() -> None:
    evil = replace(FOUND, message="bad\n::error file=x::owned\x1b[2J", origin=replace(HERE, resource="R\nS"))
    lines = told(replace(REPORT, findings=(evil,))).splitlines()
    assert not any(line.startswith(("::", "S")) for line in lines)
    assert "\x1b" not in "".join(lines)


def test_programs_get_the_fields_by_their_names() -> None:
    report = json.loads(json_report.text(REPORT))
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
        "pools": 1,
        "tasks": 1,
        "services": 1,
        "runs": 0,
        "untried_parameter_values": 0,
    }
    assert report["acknowledged"][0]["reason"] == "until spring"
    assert report["version"]


def test_programs_get_the_subject_where_nobody_knows_the_resource() -> None:
    (finding,) = json.loads(json_report.text(replace(REPORT, findings=(NOWHERE,))))["findings"]
    assert (finding["resource"], finding["file"], finding["line"]) == ("Hosts", None, None)


def test_scanners_get_every_rule_with_its_help() -> None:
    driver = sarif(NOTHING)["tool"]["driver"]
    assert driver["name"] == "gpu-constructs"
    assert [each["id"] for each in driver["rules"]] == [each.id for each in RULES]
    described = driver["rules"][0]
    assert described["shortDescription"]["text"] == RULES[0].question
    assert RULES[0].because in described["help"]["text"]
    assert described["helpUri"] == RULES[0].source


def test_only_an_address_is_a_help_uri() -> None:
    (described,) = (each for each in sarif(NOTHING)["tool"]["driver"]["rules"] if each["id"] == "GPU004")
    assert find_rule("GPU004").source.startswith("UNCONFIRMED")
    assert "helpUri" not in described


def test_scanners_get_the_levels_of_their_own_words() -> None:
    results = sarif(REPORT)["results"]
    assert [(each["ruleId"], each["level"]) for each in results[:3]] == [
        ("GPU013", "note"),
        ("GPU009", "error"),
        ("GPU002", "warning"),
    ]


def test_a_result_points_at_its_rule_file_line_and_resource() -> None:
    run = sarif(REPORT)
    result = run["results"][1]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "GPU009"
    assert result["locations"] == [
        {
            "logicalLocations": [{"name": "Hosts", "kind": "resource", "fullyQualifiedName": "Demo/Hosts"}],
            "physicalLocation": {
                "artifactLocation": {"uri": "infra/app%20one.json"},
                "region": {"startLine": 17, "startColumn": 9},
            },
        }
    ]


def test_a_result_points_at_the_line_of_the_app_where_that_is_known_and_names_the_template_too() -> None:
    result = sarif(replace(REPORT, findings=(replace(FOUND, origin=MADE),)))["results"][0]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "app/stack.ts"},
        "region": {"startLine": 25, "startColumn": 4},
    }
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"] == {"uri": "infra/app%20one.json"}
    assert json.loads(json_report.text(replace(REPORT, findings=(replace(FOUND, origin=MADE),))))["findings"][0][
        "source"
    ] == {"file": "app/stack.ts", "line": 25, "column": 4}
    assert "Hosts (line 17, MaxSize, Demo/Hosts, app/stack.ts:25)" in told(
        replace(REPORT, findings=(replace(FOUND, origin=MADE),))
    )


def fingerprints(*findings: Finding) -> list[str]:
    results = sarif(replace(REPORT, findings=findings, acknowledged=()))["results"]
    return [each["partialFingerprints"]["ruleAndProperty/v1"] for each in results]


def test_a_fingerprint_stays_when_lines_move_and_is_another_one_for_each_finding() -> None:
    moved = replace(FOUND, origin=replace(HERE, line=99, column=1), message="other words")
    elsewhere = replace(FOUND, origin=replace(HERE, path=("Resources", "Hosts", "Properties", "MinSize")))
    assert fingerprints(FOUND) == fingerprints(moved)
    assert len(set(fingerprints(FOUND, FOUND, GRAVE, elsewhere, NOWHERE))) == 5


def test_a_result_without_a_line_has_no_region_and_without_an_origin_no_location() -> None:
    report = replace(REPORT, findings=(NOWHERE, replace(FOUND, origin=replace(HERE, line=None, column=None))))
    nowhere, unlined, _ = sarif(report)["results"]
    assert "locations" not in nowhere
    assert "region" not in unlined["locations"][0]["physicalLocation"]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("/srv/app/t.json", "file:///srv/app/t.json"),
        ("c:d.json", "c%3Ad.json"),
        ("größe.yaml", "gr%C3%B6%C3%9Fe.yaml"),
        ("odd\udcff.json", "odd%FF.json"),
    ],
)
def test_a_file_is_a_valid_uri_whatever_it_is_called(file: str, uri: str) -> None:
    result = sarif(replace(REPORT, findings=(replace(FOUND, origin=replace(HERE, file=file)),)))["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_what_was_acknowledged_is_suppressed_with_the_reason() -> None:
    *open_, suppressed = sarif(REPORT)["results"]
    assert suppressed["suppressions"] == [{"kind": "inSource", "justification": "until spring"}]
    assert not any("suppressions" in each for each in open_)


# For each object of a log: keys that must be there, and keys that may; the schema allows no others.
# https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json
RESULT = {"ruleId", "ruleIndex", "level", "locations", "relatedLocations", "suppressions", "partialFingerprints"}
STRUCTURE: dict[str, tuple[set[str], set[str]]] = {
    "": ({"version", "runs"}, {"$schema"}),
    "runs": ({"tool"}, {"invocations", "columnKind", "results"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"version", "rules"}),
    "rules": ({"id"}, {"shortDescription", "fullDescription", "defaultConfiguration", "help", "helpUri"}),
    "shortDescription": ({"text"}, {"markdown"}),
    "fullDescription": ({"text"}, {"markdown"}),
    "help": ({"text"}, {"markdown"}),
    "defaultConfiguration": (set(), {"level"}),
    "invocations": ({"executionSuccessful"}, {"toolExecutionNotifications"}),
    "toolExecutionNotifications": ({"message"}, {"level"}),
    "results": ({"message"}, RESULT),
    "message": ({"text"}, {"markdown"}),
    "suppressions": ({"kind"}, {"justification"}),
    "partialFingerprints": ({"ruleAndProperty/v1"}, set()),
    "locations": (set(), {"logicalLocations", "physicalLocation"}),
    "relatedLocations": (set(), {"physicalLocation", "message"}),
    "logicalLocations": (set(), {"name", "kind", "fullyQualifiedName"}),
    "physicalLocation": ({"artifactLocation"}, {"region"}),
    "artifactLocation": (set(), {"uri"}),
    "region": (set(), {"startLine", "startColumn"}),
}
VALUES = {
    "version": {"2.1.0"},
    "level": {"none", "note", "warning", "error"},
    "kind": {"inSource", "external", "resource"},
    "columnKind": {"utf16CodeUnits", "unicodeCodePoints"},
}


def objects(value: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, list):
        for each in value:
            yield from objects(each, name)
    elif isinstance(value, dict):
        yield name, value
        for key, child in value.items():
            yield from objects(child, key)


@pytest.mark.parametrize(
    "log", [sarif_report.text(REPORT_OF_AN_APP), sarif_report.text(NOTHING), sarif_report.failure("why")]
)
def test_a_log_is_built_as_the_schema_of_sarif_2_1_0_says(log: str) -> None:
    for name, found in objects(json.loads(log)):
        required, optional = STRUCTURE[name]
        assert required <= set(found) <= required | optional, name
        for key, allowed in VALUES.items():
            assert key not in found or name == "driver" or found[key] in allowed
    assert json.loads(log)["version"] == "2.1.0"


def test_a_scanner_is_told_that_nothing_could_be_checked() -> None:
    (run,) = json.loads(sarif_report.failure("no such file"))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "no such file"
    assert run["results"] == []


PLACE = Origin(resource="Parameters/Size", file="infra/app one.json", line=3)
OTHER = replace(FOUND, message="with Size=large: too large", fix="", origin=PLACE, parameter="Size")
TABLE = ValueTable(
    parameter="Size",
    subject="Hosts",
    origin=PLACE,
    verdicts=(
        Verdict(value="small", is_default=True),
        Verdict(value="large", is_default=False, finding=replace(GRAVE, message="too large", fix="less")),
        Verdict(value="huge", is_default=False, finding=replace(GRAVE, message="far too large")),
        Verdict(value="odd", is_default=False, finding=replace(GRAVE, subject="Service")),
    ),
)
CHOSEN = replace(REPORT, findings=(OTHER,), acknowledged=(), values=(TABLE,))


def test_people_see_with_which_values_something_works() -> None:
    assert told(CHOSEN).startswith(
        "infra/app one.json\n"
        "  Parameters/Size (line 3)\n"
        "    warning  Hosts with other values of Size\n"
        "             value            verdict\n"
        "             small (default)  works\n"
        "             large and huge   GPU009 too large; fix: less\n"
        "             odd              GPU009, see Service\n"
    )


def test_programs_get_each_value_with_what_it_brings() -> None:
    (table,) = json.loads(json_report.text(CHOSEN))["parameter_values"]
    assert (table["parameter"], table["subject"], table["line"]) == ("Size", "Hosts", 3)
    assert [(each["value"], each["default"], each["works"]) for each in table["values"]] == [
        ("small", True, True),
        ("large", False, False),
        ("huge", False, False),
        ("odd", False, False),
    ]
    assert table["values"][1]["finding"]["rule"] == "GPU009"


def test_code_scanners_get_the_values_at_the_parameter() -> None:
    (result,) = sarif(CHOSEN)["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert result["properties"]["values"] == {
        "small": "works",
        "large": "GPU009: too large",
        "huge": "GPU009: far too large",
        "odd": "GPU009: 8 GPUs are asked, g6.xlarge has 1",
    }
