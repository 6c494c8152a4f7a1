"""Files in, findings out; other values of parameters are tried, and what was accepted is set aside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check import other_values
from gpu_constructs.check.report import Report, check_files, report_in
from gpu_constructs.facts.budget import READINGS, STEPS
from gpu_constructs.rules import Context, Problem, catalogue, error, warning
from gpu_constructs.template import REGION, Inputs, Stacks
from tests.cli.templates import acknowledged, app, template, with_choice, written


@error("GPU901", question="?", because="b", source="https://docs.aws.amazon.com/")
def no_g5(context: Context) -> Iterator[Problem]:
    for pool in context.fleet.pools:
        bad = [each.name for each in pool.instance_types if each.family == "g5"]
        if bad:
            yield Problem(about=pool, message=f"{bad[0]} is not a g6", fix="g6")


@warning("GPU902", question="?", because="b", source="https://docs.aws.amazon.com/")
def small(context: Context) -> Iterator[Problem]:
    for pool in context.fleet.pools:
        yield Problem(about=pool, message=f"max {pool.max_instances}")
    for task in context.fleet.tasks:
        yield Problem(about=task, message=f"{task.gpus} GPUs", container=task.containers[0])


RULES = (no_g5, small)


def reviewed(body: dict[str, Any], tmp_path: Path, **more: Any) -> Report:
    return check_files([written(body, tmp_path / "t.json")], rules=RULES, **more)


def told(report: Report) -> list[tuple[str, str, str]]:
    return [(each.rule, str(each.severity), each.message) for each in report.findings]


def test_findings_point_at_their_file_and_line_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = written(template(), tmp_path / "t.json")
    findings = check_files([Path(file)], rules=RULES).findings
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    pool, task = findings
    assert pool.origin is not None
    assert task.origin is not None
    assert pool.origin.file == task.origin.file == file
    assert task.origin.line is not None
    assert '"Name": "vllm"' in "".join(lines[task.origin.line - 1 : task.origin.line + 2])
    assert (pool.origin.line or 0) < task.origin.line


def test_an_error_that_only_another_allowed_value_brings_is_a_warning_that_names_it(tmp_path: Path) -> None:
    result = reviewed(with_choice("g5.xlarge"), tmp_path)
    assert ("GPU901", "warning", "with InstanceType=g5.xlarge: g5.xlarge is not a g6") in told(result)
    (finding,) = (each for each in result.findings if each.rule == "GPU901")
    assert finding.origin is not None
    assert (finding.origin.path, finding.origin.line) == (("Parameters", "InstanceType"), 3)
    assert (finding.fix, finding.parameter) == ("g6", "InstanceType")


def test_an_error_that_the_default_has_too_stays_one_error(tmp_path: Path) -> None:
    result = reviewed(with_choice("g5.2xlarge", default="g5.xlarge"), tmp_path)
    assert [each for each in told(result) if each[0] == "GPU901"] == [("GPU901", "error", "g5.xlarge is not a g6")]


def test_a_table_says_of_each_thing_with_which_values_it_works(tmp_path: Path) -> None:
    body = with_choice("g5.xlarge", "g6.2xlarge", default="g6.xlarge")
    (table,) = reviewed(body, tmp_path).values
    assert (table.parameter, table.subject, table.origin.line) == ("InstanceType", "Provider", 3)
    assert [(each.value, each.is_default, each.finding and each.finding.rule) for each in table.outcomes] == [
        ("g6.xlarge", True, None),
        ("g5.xlarge", False, "GPU901"),
        ("g6.2xlarge", False, None),
    ]


def test_the_default_works_where_only_another_value_brings_a_warning(tmp_path: Path) -> None:
    body = template(instance_type={"Ref": "It"}, gpus="8", Parameters={"It": ONE_OF_TWO})
    service = body["Resources"]["Service"]["Properties"]
    del service["CapacityProviderStrategy"]
    service["LaunchType"] = "EC2"
    file = written(body, tmp_path / "t.json")
    verdicts = [each.outcomes for each in check_files([file], partial=True).values if each.subject == "Service"]
    assert [[(each.value, each.finding is None) for each in of] for of in verdicts] == [
        [("p4d.24xlarge", True), ("p3.8xlarge", False)]
    ]


def test_a_type_without_enough_gpus_is_named_also_where_hosts_of_other_files_may_run_the_task(tmp_path: Path) -> None:
    body = template(instance_type={"Ref": "It"}, gpus="8", Parameters={"It": ONE_OF_TWO})
    del body["Resources"]["Service"]
    file = written(body, tmp_path / "t.json")
    (finding,) = (each for each in check_files([file]).findings if each.parameter)
    assert finding.message.startswith("with It=p3.8xlarge: ")
    assert finding.origin is not None
    assert finding.origin.path == ("Parameters", "It")


ONE_OF_TWO = {"Type": "String", "Default": "p4d.24xlarge", "AllowedValues": ["p4d.24xlarge", "p3.8xlarge"]}


def test_what_reaches_nothing_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    days = {"Type": "Number", "Default": 1, "AllowedValues": [1, 3, 5, 7, 14, 30]}
    name = {"Type": "String", "Default": "a", "AllowedValues": ["a", "b"]}
    body = with_choice("g5.xlarge")
    body["Parameters"] = {"Days": days, "Name": name, **body["Parameters"]}
    body["Resources"]["Logs"] = {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": {"Ref": "Days"}}}
    body["Resources"]["Cluster"]["Properties"] = {"ClusterName": {"Ref": "Name"}}
    readings = _readings(monkeypatch)
    assert reviewed(body, tmp_path).untried == {}
    assert readings == [{"t:Name": "b"}, {"t:InstanceType": "g5.xlarge"}]


def test_regions_are_tried_where_nothing_says_which_it_is(tmp_path: Path) -> None:
    types = {"us-east-1": {"Type": "g6.xlarge"}, "eu-west-1": {"Type": "g5.xlarge"}}
    body = template(
        instance_type={"Fn::FindInMap": ["Types", {"Ref": "AWS::Region"}, "Type"]}, Mappings={"Types": types}
    )
    review = reviewed(body, tmp_path)
    assert ("GPU901", "warning", "with AWS::Region=eu-west-1: g5.xlarge is not a g6") in told(review)
    (table,) = review.values
    assert table.origin.path == ("Mappings", "Types", "eu-west-1")
    assert table.origin in {each.origin for each in review.findings if each.parameter}
    there = told(reviewed(body, tmp_path, region="eu-west-1"))
    assert ("GPU901", "error", "g5.xlarge is not a g6") in there


@pytest.mark.parametrize("name", ["InstanceType", "t:InstanceType"])
def test_a_parameter_that_is_given_is_not_tried_with_other_values(name: str, tmp_path: Path) -> None:
    body = with_choice("g5.xlarge", "g6.2xlarge")
    found = reviewed(body, tmp_path, parameters={name: "g6.2xlarge"}).findings
    assert [each.rule for each in found] == ["GPU902"] * 2
    assert ("GPU901", "error", "g5.xlarge is not a g6") in told(
        reviewed(body, tmp_path, parameters={name: "g5.xlarge"})
    )


def test_no_more_values_are_tried_than_the_limit_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = _readings(monkeypatch)
    result = reviewed(with_choice(*(f"x{number}.large" for number in range(READINGS + 5))), tmp_path)
    assert len(readings) == READINGS
    assert result.untried == {"InstanceType": 5}


@pytest.mark.parametrize(
    ("of", "steps", "untried"),
    [
        ((other_values, "_STEPS_OF_RESOURCE"), STEPS // (len(template()["Resources"]) + 1) // 3 - 1_000, 2),
        # Two findings each time; the last reading ends without work that is left.
        ((catalogue, "_STEPS_OF_PROBLEM"), STEPS // 8, 3),
    ],
    ids=["a large app", "many findings"],
)
def test_what_uses_time_up_leaves_others_that_count_as_not_tried(
    of: tuple[object, str], steps: int, untried: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*of, steps)
    readings = _readings(monkeypatch)
    result = reviewed(with_choice(*(f"g6.{number}xlarge" for number in (2, 4, 8, 16, 24))), tmp_path)
    assert len(readings) == 3
    assert result.untried == {"InstanceType": untried}


def _readings(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The parameters of every other value that is tried from now on."""
    readings: list[dict[str, str]] = []
    stacks_with = Inputs.stacks

    def noted(inputs: Inputs, parameters: Mapping[str, str], *, region: str | None = None) -> Stacks:
        if parameters or region:
            readings.append({**parameters, **({REGION: region} if region else {})})
        return stacks_with(inputs, parameters, region=region)

    monkeypatch.setattr(Inputs, "stacks", noted)
    return readings


def test_a_warning_of_another_value_can_be_acknowledged(tmp_path: Path) -> None:
    plain = reviewed(with_choice("g5.xlarge"), tmp_path)
    (finding,) = (each for each in plain.findings if each.rule == "GPU901")
    result = reviewed(acknowledged(with_choice("g5.xlarge"), finding.subject, GPU901="never chosen"), tmp_path)
    assert [each.finding.message for each in result.acknowledged] == [finding.message]
    assert result.values == ()


NOTES = {
    "/Demo/Train/Resource": [{"type": "aws:cdk:logicalId", "data": "Chat"}],
    "/Demo/Train": [{"type": "aws:cdk:acknowledged-rules", "data": {"gpu-constructs::GPU905": "we want it"}}],
}


@error("GPU905", question="?", because="b", source="https://docs.aws.amazon.com/")
def no_task(context: Context) -> Iterator[Problem]:
    yield from (Problem(about=each, message=f"{each.name} is there") for each in context.fleet.tasks)


def test_what_is_found_in_an_assembly_has_the_names_of_its_constructs_and_what_the_app_accepts(tmp_path: Path) -> None:
    body = template()
    del body["Resources"]["Chat"]["Metadata"]
    folder = app(tmp_path, NOTES, body=body)
    (found,) = report_in([folder], rules=[no_task]).findings
    assert (found.subject, found.message) == ("Train", "Train is there")
    seen = check_files([folder], rules=[no_task])
    assert (seen.findings, seen.acknowledged[0].finding, seen.acknowledged[0].in_app) == ((), found, True)
