"""A fix can be made where it is said to be: with everything that shares the place, and with the other fixes."""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import Any

import pytest

from bench.cli import cluster_of, resources_of
from gpu_constructs.check.at_places import Changes
from gpu_constructs.check.report import check_files
from gpu_constructs.cli.check import lines
from gpu_constructs.rules import Severity
from gpu_constructs.template import Inputs
from tests.checked_templates import GOOD
from tools.rule_examples import example_of

_NAMES = ("Launch", "Group", "Provider", "Train", "Service")


def _twice(default: str, allowed: str = "") -> str:
    """Two services on two pools of hosts, of which one parameter says the type."""
    start, _, rest = GOOD.partition("Resources:\n")
    cluster, _, parts = rest.partition("  Launch:\n")
    first = f"  Launch:\n{parts}"
    second = first
    for name in _NAMES:
        for end in (":\n", ".", "\n", "]", "}"):
            second = second.replace(f"  {name}{end}", f"  {name}2{end}").replace(f" {name}{end}", f" {name}2{end}")
    head, _, tail = second.partition("  Association:\n")
    second = head + tail[tail.index("  Train2:") :]
    second = second.replace("Value: '1'", "Value: '4'")
    listed = f"\n    AllowedValues: [{allowed}]" if allowed else ""
    start = start.replace("g6.xlarge\n    AllowedValues: [g6.xlarge]", f"{default}{listed}")
    return f"{start}Resources:\n{cluster}{first}{second}".replace("[!Ref Provider]", "[!Ref Provider, !Ref Provider2]")


def _fixes(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in check_files(["-"], stdin=text.encode()).findings:
        if each.severity is Severity.ERROR:
            found.setdefault(each.rule, set()).add(each.fix.partition(" (")[0])
    return found


def test_the_pair_is_right_with_a_type_for_both() -> None:
    assert not _fixes(_twice("g5.12xlarge"))


@pytest.mark.parametrize(
    ("default", "allowed", "fixes"),
    [
        ("p2.xlarge", "", dict.fromkeys(("GPU052", "GPU060"), "hosts of a type such as g4dn.12xlarge")),
        ("p2.xlarge", "g4dn.xlarge, g5.12xlarge", dict.fromkeys(("GPU052", "GPU060"), "Hosts g5.12xlarge")),
        ("g5.xlarge", "g5.xlarge, g5.12xlarge, g5g.metal", {"GPU060": "Hosts g5.12xlarge"}),
        ("g5.xlarge", "g5.xlarge, g5.2xlarge", {"GPU060": "GPUs no higher than 1"}),
    ],
)
def test_a_type_that_two_pools_share_is_one_that_both_can_have(
    default: str, allowed: str, fixes: dict[str, str]
) -> None:
    assert _fixes(_twice(default, allowed)) == {rule: {fix} for rule, fix in fixes.items()}


def test_the_table_of_a_default_that_is_broken_says_which_value_works() -> None:
    report = check_files(["-"], stdin=_twice("p2.xlarge", "p2.xlarge, g4dn.xlarge, g5.12xlarge").encode())
    (table,) = report.values
    said = [(each.value, each.is_default, each.finding and each.finding.rule) for each in table.outcomes]
    assert said == [("p2.xlarge", True, "GPU052"), ("g4dn.xlarge", False, "GPU060"), ("g5.12xlarge", False, None)]


def test_the_table_of_a_broken_default_is_told_below_the_files() -> None:
    text = GOOD.replace("MaxSize: '4'", "MaxSize: !Ref Most").replace("DesiredCount: 1", "DesiredCount: 3")
    declared = "  Most: {Type: Number, Default: 1, AllowedValues: [1, 2, 3]}\n"
    told = _text(text.replace("Parameters:\n", f"Parameters:\n{declared}"))
    start = told.index("(stdin):2  values of Most")
    rows = [each.strip() for each in told[start + 1 : start + 3]]
    assert rows == ["3: works", "1 (default) and 2: GPU009, see Service"]


def test_a_default_with_an_error_elsewhere_does_not_work() -> None:
    text = _twice("g5.12xlarge", "g5.12xlarge, g5.xlarge").replace("Memory: 4096", "Memory: 4194304", 1)
    report = check_files(["-"], stdin=text.encode())
    assert {each.subject for each in report.findings if each.severity is Severity.ERROR} == {"Train"}
    (table,) = (each for each in report.values if each.subject == "Service2")
    assert [(each.value, each.finding and each.finding.rule) for each in table.outcomes] == [
        ("g5.12xlarge", "GPU063"),
        ("g5.xlarge", "GPU060"),
    ]
    assert "g5.12xlarge (default): works but for GPU063 of Train" in "\n".join(_text(text))


def _text(text: str) -> list[str]:
    report = check_files(["-"], stdin=text.encode())
    return ["".join(part for part, _ in line) for line in lines(report, width=100)]


def test_what_one_value_breaks_in_several_places_is_told_once() -> None:
    told = _text(_twice("p2.xlarge", "p2.xlarge, g4dn.xlarge, g5.12xlarge"))
    assert len(told) <= 25
    for once in (
        "GPU052  image al2023-gpu cannot drive",
        "also: Launch2 (line ",
        "GPU001  p2.xlarge was",
        "also of Prov",
    ):
        assert sum(once in each for each in told) == 1, once


def test_what_one_of_several_places_lacks_besides_is_told() -> None:
    resources = cluster_of(1) | resources_of(0, "c7i.xlarge")
    for name in ("Task", "Service"):
        resources[f"{name}1"] = json.loads(json.dumps(resources[f"{name}0"]).replace('"Task0"', '"Task1"'))
    container = resources["Task1"]["Properties"]["ContainerDefinitions"][0]
    container |= {"Memory": 10_000, "Cpu": 5_000}
    told = " ".join(each.strip() for each in _text(json.dumps({"Resources": resources})))
    assert told.count("GPUs: 1 asked") == 2
    assert "CPU units: 5000 asked" in told


def test_no_verdict_of_a_table_is_longer_than_a_few_lines() -> None:
    types = ", ".join(f"g5.{size}xlarge" for size in (12, 2, 4, 8, 16))
    told = _text(_twice("g5.12xlarge", types).replace("Memory: 4096", "Memory: 100000"))
    verdicts = [len(list(lines)) for is_more, lines in groupby(told, lambda each: each.startswith(" " * 15)) if is_more]
    assert max(verdicts) <= 4
    assert sum("g5.2xlarge" in each for each in told) >= 2


def _apart(count: int) -> str:
    """Tasks with hosts of their own, which have too few GPUs."""
    resources = cluster_of(count)
    for number in range(count):
        resources |= resources_of(number, "g6.xlarge")
        container = resources[f"Task{number}"]["Properties"]["ContainerDefinitions"][0]
        container["ResourceRequirements"][0]["Value"] = "2"
    return json.dumps({"Resources": resources})


def test_fixes_of_errors_that_share_nothing_are_tried_together(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[object] = []
    read = Inputs.with_values

    def counted(inputs: Inputs, changes: Changes) -> Inputs:
        readings.append(changes)
        return read(inputs, changes)

    monkeypatch.setattr(Inputs, "with_values", counted)
    found = check_files(["-"], stdin=_apart(10).encode()).findings
    fixes = [each.fix for each in found if each.severity is Severity.ERROR]
    assert len(fixes) == 10
    assert all(each.startswith("hosts of a type such as g6.12xlarge") for each in fixes)
    assert all(each.endswith("or GPUs no higher than 1") for each in fixes)
    assert len(readings) == 2  # one for the hosts, one for the GPUs


_OF_G4 = "PlacementConstraints: [{Type: memberOf, Expression: 'attribute:ecs.instance-type =~ g4dn.*'}]"
_UNRUN = GOOD[: GOOD.index("  Service:\n")]


@pytest.mark.parametrize(
    ("text", "changes", "place", "fix"),
    [
        (_UNRUN, {"4096": "100000"}, "Memory", "memory no higher than 15400 MiB"),
        (_UNRUN, {"'1'": "'0.25'"}, "Value", "whole GPUs"),
        (_UNRUN, {"RequiresCompatibilities: [EC2]": _OF_G4}, "Expression", "a constraint that is true for hosts here"),
        (GOOD, {"RequiresCompatibilities: [EC2]": _OF_G4}, "Expression", "an expression that is true for hosts of"),
        (
            GOOD.replace("[g6.xlarge]", "[g6.xlarge, g4dn.xlarge]"),
            {"RequiresCompatibilities: [EC2]": _OF_G4},
            "Expression",
            "Hosts g4dn.xlarge",
        ),
        (GOOD, {"    DependsOn: Association\n": ""}, "Service", "DependsOn the AWS::ECS::ClusterCapacity"),
    ],
)
def test_a_finding_is_at_what_is_short_and_its_fix_follows_what_is_written(
    text: str, changes: dict[str, str], place: str, fix: str
) -> None:
    for old, new in changes.items():
        text = text.replace(old, new)
    (found,) = (each for each in check_files(["-"], stdin=text.encode()).findings if each.severity is not Severity.INFO)
    assert found.origin is not None
    assert next(each for each in reversed(found.origin.path) if isinstance(each, str)) == place
    assert found.fix.startswith(fix)


def test_what_has_to_wait_is_the_service_though_its_launch_template_waits_too() -> None:
    text = GOOD.replace("    DependsOn: Association\n", "").replace(
        "LaunchTemplate\n    P", "LaunchTemplate\n    DependsOn: Cluster\n    P"
    )
    (found,) = (each for each in check_files(["-"], stdin=text.encode()).findings if each.rule == "GPU259")
    assert found.origin is not None
    assert found.origin.resource == "Service"


_BATCH = """\
Parameters: {Type: {Type: String, Default: p3.2xlarge}}
Resources:
"""
_ENVIRONMENT = """\
  Hosts%(n)s:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources:
        Type: EC2
        AllocationStrategy: BEST_FIT_PROGRESSIVE
        MinvCpus: 0
        MaxvCpus: 256
        InstanceTypes: [!Ref Type]
        InstanceRole: ecsInstanceRole
        Subnets: [subnet-0a1b2c3d]
        SecurityGroupIds: [sg-0a1b2c3d]
  Queue%(n)s:
    Type: AWS::Batch::JobQueue
    Properties: {Priority: 1, ComputeEnvironmentOrder: [{Order: 1, ComputeEnvironment: !Ref Hosts%(n)s}]}
  Job%(n)s:
    Type: AWS::Batch::JobDefinition
    Properties:
      Type: container
      Timeout: {AttemptDurationSeconds: 3600}
      ContainerProperties:
        Image: nvidia/cuda:12.8.1-base-ubuntu24.04
        ResourceRequirements:
          - {Type: VCPU, Value: "4"}
          - {Type: MEMORY, Value: "%(memory)s"}
          - {Type: GPU, Value: "1"}
"""


def test_environments_that_share_a_type_are_told_one_that_runs_the_jobs_of_both() -> None:
    text = _BATCH + "".join(_ENVIRONMENT % {"n": n, "memory": memory} for n, memory in ((1, 8000), (2, 100_000)))
    told = dict.fromkeys(("GPU106", "GPU061"), "hosts of a type such as g6e.4xlarge")
    assert _fixes(text) == {rule: {fix} for rule, fix in told.items()}
    assert not _fixes(text.replace("p3.2xlarge", "g6e.4xlarge"))
    assert any("Job2 (ContainerProperties.ResourceRequirements[1].Value)" in each for each in _text(text))


@pytest.mark.parametrize(("image", "end"), [({"Ref": "Image"}, "Image is of other hosts too"), ("ami-1", "in TOML")])
def test_an_image_that_pools_share_is_replaced_for_one_of_them(image: object, end: str) -> None:
    template: Any = json.loads(example_of("GPU052").file(example_of("GPU052").right))
    written = re.sub(r'"(Template|Hosts|Provider)"', r'"\1Two"', json.dumps(template["Resources"]))
    template["Resources"] |= {name: each for name, each in json.loads(written).items() if name.endswith("Two")}
    launches = (template["Resources"][each]["Properties"] for each in ("Template", "TemplateTwo"))
    one, two = (each["LaunchTemplateData"] for each in launches)
    stored = {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": one["ImageId"].split(":")[2]}
    template["Parameters"]["Image"] = stored
    one["ImageId"], two["ImageId"], two["InstanceType"] = image, {"Ref": "Image"}, "g5g.xlarge"
    (fix,) = _fixes(json.dumps(template))["GPU052"]
    assert fix.endswith(end)
