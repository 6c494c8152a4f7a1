"""The rule pack in cfn-lint itself: through its command line, with its line numbers and its ways of ignoring."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint
from cfnlint.decode.decode import decode_str
from cfnlint.rules import Rules
from cfnlint.template import Template
from hypothesis import HealthCheck, given, settings

import gpu_constructs.lint
from bench.fuzz_texts import TEMPLATE_TEXTS
from gpu_constructs.checking.report import check_files
from gpu_constructs.fleet import Origin
from gpu_constructs.lint import GpuRule, lint_id
from gpu_constructs.rules import RULES, Severity
from gpu_constructs.template import UnreadableError
from tests.synthesis import ROOT

PACK = "gpu_constructs.lint"
RELEASE = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"

GOOD = f"""\
Parameters:
  Hosts:
    Type: String
    Default: g6.xlarge
    AllowedValues: [g6.xlarge]
Resources:
  Cluster:
    Type: AWS::ECS::Cluster
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: !Ref Hosts
        ImageId: '{{{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/{RELEASE}/image_id}}}}'
        UserData: !Base64
          Fn::Sub: |
            #!/bin/bash
            echo ECS_CLUSTER=${{Cluster}} >> /etc/ecs/ecs.config
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: '0'
      MaxSize: '4'
      AvailabilityZones: !GetAZs ''
      LaunchTemplate:
        LaunchTemplateId: !Ref Launch
        Version: !GetAtt Launch.LatestVersionNumber
  Provider:
    Type: AWS::ECS::CapacityProvider
    Properties:
      AutoScalingGroupProvider:
        AutoScalingGroupArn: !Ref Group
        ManagedScaling: {{Status: ENABLED}}
  Train:
    Type: AWS::ECS::TaskDefinition
    Properties:
      RequiresCompatibilities: [EC2]
      ContainerDefinitions:
        - Name: train
          Image: nvidia/cuda:12.8.1-base-ubuntu24.04
          Memory: 4096
          ResourceRequirements:
            - Type: GPU
              Value: '1'
  Service:
    Type: AWS::ECS::Service
    Properties:
      Cluster: !Ref Cluster
      TaskDefinition: !Ref Train
      DesiredCount: 1
      CapacityProviderStrategy:
        - CapacityProvider: !Ref Provider
          Weight: 1
"""
BAD = GOOD.replace("Value: '1'", "Value: '8'").replace("Default: g6.xlarge", "Default: g5.xlarge").replace("[g6", "[g5")


def line_of(text: str, template: str) -> int:
    (line,) = [number for number, line in enumerate(template.splitlines(), start=1) if line == text]
    return line


def found(template: str, **arguments: Any) -> list[Any]:
    """Matches of the pack, and cfn-lint's own errors: the templates here are right but for the GPUs."""
    matches = lint(template, config=ManualArgs(**{"append_rules": [PACK], "regions": ["us-east-1"], **arguments}))
    assert [str(each) for each in matches if not each.message.startswith("GPU") and each.rule.severity == "error"] == []
    return [each for each in matches if each.message.startswith("GPU")]


def ids(template: str, **arguments: Any) -> set[str]:
    return {each.rule.id for each in found(template, **arguments)}


def with_metadata(resource: str, metadata: dict[str, Any]) -> str:
    return BAD.replace(f"  {resource}:\n", f"  {resource}:\n    Metadata: {json.dumps(metadata)}\n")


def cfn_lint(folder: Path, template: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "template.yaml").write_text(template)
    return subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_line_says_at_which_line_a_task_fits_no_host(tmp_path: Path) -> None:
    ended = cfn_lint(tmp_path, BAD, "--format", "parseable", "template.yaml", "--append-rules", PACK)
    assert ended.stderr == ""
    assert ended.returncode & 2  # cfn-lint adds 4 for warnings
    (line,) = [each for each in ended.stdout.splitlines() if ":E9560:" in each]
    assert line.startswith(f"template.yaml:{line_of('  Service:', BAD)}:3:")
    assert ":E9560:GPU060: Train does not fit on Provider: GPUs: 8 asked, g5.xlarge has 1; fix: " in line


def test_the_command_line_is_silent_about_a_good_template(tmp_path: Path) -> None:
    ended = cfn_lint(tmp_path, GOOD, "template.yaml", "--append-rules", PACK)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


def test_a_configuration_file_may_name_the_pack(tmp_path: Path) -> None:
    (tmp_path / ".cfnlintrc").write_text(f"append_rules: [{PACK}]\n")
    assert "E9560" in cfn_lint(tmp_path, BAD, "template.yaml").stdout


def test_every_rule_is_there_with_its_question_its_reason_and_its_source() -> None:
    loaded = Rules.create_from_module(PACK)
    for rule in RULES:
        made = loaded[lint_id(rule.id, rule.severity)]
        assert made.shortdesc == f"{rule.id}: {rule.question}"
        assert made.description.lower() == rule.because.lower()
        assert made.source_url in {rule.source, ""}
    assert {re.fullmatch("[EWI]9[5-9][0-9]{2}", each) is not None for each in loaded.data} == {True}


def test_every_error_may_be_a_warning_for_another_value_of_a_parameter() -> None:
    loaded = Rules.create_from_module(PACK)
    errors = [each.id for each in RULES if each.severity is Severity.ERROR]
    assert [each for each in errors if lint_id(each, Severity.WARNING) not in loaded] == []


@pytest.mark.parametrize(
    ("severity", "expected"), [(Severity.ERROR, "E9560"), (Severity.WARNING, "W9560"), (Severity.INFO, "I9560")]
)
def test_an_id_is_made_of_severity_and_number(severity: Severity, expected: str) -> None:
    assert lint_id("GPU060", severity) == expected


def test_a_file_of_custom_rules_has_the_ids_below(tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("\n" * 59 + 'AWS::ECS::Service DesiredCount == 2 ERROR "two, please"\n')
    matches = lint(BAD, config=ManualArgs(append_rules=[PACK], custom_rules=str(rules), regions=["us-east-1"]))
    assert {"E9060", "E9560"} <= {each.rule.id for each in matches}


def test_a_rule_is_ignored_by_id() -> None:
    assert "E9560" in ids(BAD)
    assert "E9560" not in ids(BAD, ignore_checks=["E9560"])


def test_a_rule_is_ignored_in_the_metadata_of_a_resource() -> None:
    ignore = {"cfn-lint": {"config": {"ignore_checks": ["E9560"]}}}
    assert "E9560" not in ids(with_metadata("Service", ignore))
    assert "E9560" in ids(with_metadata("Cluster", ignore))


def test_what_is_acknowledged_with_a_reason_is_not_reported() -> None:
    accepted = {"gpu-constructs": {"Acknowledge": {"GPU060": "the hosts come from elsewhere"}}}
    assert "E9560" not in ids(with_metadata("Service", accepted))


def test_an_error_with_another_allowed_value_is_a_warning_that_names_the_value() -> None:
    template = BAD.replace("Default: g5.xlarge", "Default: g6.48xlarge").replace(
        "[g5.xlarge", "[g6.48xlarge, g6.xlarge"
    )
    (match,) = [each for each in found(template) if each.message.startswith("GPU060")]
    assert match.rule.id == "W9560"
    assert "with Hosts=g6.xlarge" in match.message


def test_values_of_a_parameter_file_take_the_place_of_defaults() -> None:
    template = GOOD.replace("Value: '1'", "Value: '8'").replace("[g6.xlarge]", "[g6.xlarge, g6.48xlarge]")
    assert "E9560" in ids(template)
    assert "E9560" not in ids(template, parameters=[{"Hosts": "g6.48xlarge"}])


def test_a_region_that_was_asked_for_counts_and_the_one_that_cfn_lint_assumes_does_not() -> None:
    template = GOOD.replace("g6.xlarge", "p6-b300.48xlarge")
    elsewhere = [each.message for each in lint(template, config=ManualArgs(append_rules=[PACK], regions=["eu-west-1"]))]
    assert any(each.startswith("GPU011") and "eu-west-1" in each for each in elsewhere)
    assert [each for each in lint(template, config=ManualArgs(append_rules=[PACK])) if "GPU011" in each.message] == []


def test_a_template_is_reviewed_once_for_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return check_files(*arguments, **named)

    monkeypatch.setattr(gpu_constructs.lint, "check_files", counted)
    assert len(found(BAD)) > 0
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("Resources", "Train", "Properties", "ContainerDefinitions", 0, "Name"), 6),
        (("Resources", "Train", "Properties", "ContainerDefinitions", 7, "Name"), 4),
        (("Resources", "Train", "Properties", "Nothing"), 3),
        (("Resources", "Train", "Type", "x"), 3),
        (("Resources", "Gone"), 1),
        ((), 2),
    ],
)
def test_a_place_that_the_template_does_not_have_is_the_nearest_above(
    path: tuple[str | int, ...], expected: int
) -> None:
    template, _ = decode_str(GOOD)
    found_path = gpu_constructs.lint._path(Origin(resource="Train", path=path), template)
    assert len(found_path) == expected
    assert tuple(found_path) == (path or ("Resources", "Train"))[:expected]
    assert Template("t", template).get_location_yaml(template, found_path) is not None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RecursionError("maximum recursion depth exceeded"), "RecursionError maximum recursion"),
        (UnreadableError("more than 20,000 resources", file="template"), "read: more than 20,000 resources"),
        (MemoryError(), "read: MemoryError"),
    ],
)
def test_a_template_that_the_pack_cannot_read_is_an_error_and_never_silence(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def unable(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(gpu_constructs.lint, "check_files", unable)
    (match,) = found(BAD)
    assert match.rule.id == "E9500"
    assert "no GPU was checked" in match.message
    assert words in match.message


def test_a_template_without_gpus_is_no_business_of_the_pack() -> None:
    assert found("Resources: {Queue: {Type: 'AWS::SQS::Queue'}}") == []


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEMPLATE_TEXTS)
def test_no_template_that_cfn_lint_reads_brings_the_pack_down(text: str) -> None:
    try:
        template, errors = decode_str(text)
        read = Template("t", template) if isinstance(template, dict) and not errors else None
    except Exception:  # noqa: BLE001 - what cfn-lint makes of it is its own business
        return
    if read is not None:
        for rule in Rules.create_from_module(PACK).data.values():
            assert isinstance(rule, GpuRule)
            assert all(isinstance(each.message, str) for each in rule.match(read))
