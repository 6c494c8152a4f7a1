"""The report as SARIF."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.report import Report
from gpu_constructs.rules import Finding, all_rules
from tests.cli.reports import CHOSEN, FOUND, GRAVE, HERE, MADE, NOTHING, NOWHERE, REPORT, REPORT_OF_AN_APP, in_form


def sarif(report: Report, *, verbose: bool = False) -> dict[str, Any]:
    (run,) = json.loads(in_form("sarif", report, verbose=verbose))["runs"]
    return dict(run)


def test_scanners_get_every_rule_with_its_help() -> None:
    driver = sarif(NOTHING)["tool"]["driver"]
    assert driver["name"] == "gpu-constructs"
    assert [each["id"] for each in driver["rules"]] == [each.id for each in all_rules()]
    described = driver["rules"][0]
    assert described["shortDescription"]["text"] == all_rules()[0].question
    assert all_rules()[0].because in described["help"]["text"]
    assert f"gpu-constructs rules {all_rules()[0].id}" in described["help"]["text"]
    assert described["helpUri"] == all_rules()[0].source


def test_a_result_points_at_its_rule_file_line_and_resource() -> None:
    warned = replace(FOUND, rule="gpu-constructs::cpu-units")
    run = sarif(replace(REPORT, findings=(*REPORT.findings, warned, warned)), verbose=True)
    rules, result = run["tool"]["driver"]["rules"], run["results"][1]
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    assert len({each["id"] for each in rules}) == len(rules) == len(all_rules()) + 1
    assert "helpUri" in rules[result["ruleIndex"]]
    assert result["ruleId"] == "GPU009"
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


def fingerprints(*findings: Finding) -> list[str]:
    results = sarif(replace(REPORT, findings=findings, acknowledged=()))["results"]
    return [each["partialFingerprints"]["ruleAndProperty/v1"] for each in results]


def test_a_fingerprint_stays_when_lines_move_and_is_another_one_for_each_finding() -> None:
    moved = replace(FOUND, origin=replace(HERE, line=99, column=1), message="other words")
    elsewhere = replace(FOUND, origin=replace(HERE, path=("Resources", "Hosts", "Properties", "MinSize")))
    assert fingerprints(FOUND) == fingerprints(moved)
    assert len(set(fingerprints(FOUND, FOUND, GRAVE, elsewhere, NOWHERE))) == 5


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


def test_what_was_acknowledged_is_suppressed_with_the_reason_where_that_is_asked_for() -> None:
    assert not any("suppressions" in each for each in sarif(REPORT)["results"])  # GitHub opens an alert of each
    *open_, suppressed = sarif(REPORT, verbose=True)["results"]
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
    "invocations": ({"executionSuccessful"}, set()),
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
    "log",
    [
        in_form("sarif", REPORT_OF_AN_APP),
        in_form("sarif", NOTHING),
    ],
)
def test_a_log_is_built_as_the_schema_of_sarif_2_1_0_says(log: str) -> None:
    for name, found in objects(json.loads(log)):
        required, optional = STRUCTURE[name]
        assert required <= set(found) <= required | optional, name
        for key, allowed in VALUES.items():
            assert key not in found or name == "driver" or found[key] in allowed
    assert json.loads(log)["version"] == "2.1.0"


def test_code_scanners_get_a_warning_at_the_parameter() -> None:
    (result,) = sarif(CHOSEN)["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
