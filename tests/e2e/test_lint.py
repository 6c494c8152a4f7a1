"""The rule pack in cfn-lint itself, with its ways of ignoring."""

from __future__ import annotations

import json
import re
from typing import Any

import gpu_constructs.lint
import pytest
from bench.fuzz_texts import TEMPLATE_TEXTS
from cfnlint.config import ConfigMixIn, ManualArgs
from cfnlint.decode.decode import decode_str
from cfnlint.rules import Rules
from cfnlint.runner import run_template_by_data
from cfnlint.template import Template
from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import Origin
from gpu_constructs.lint import GpuRule, lint_id
from gpu_constructs.rules import Severity, all_rules
from gpu_constructs.template import UnreadableError
from hypothesis import HealthCheck, given, settings
from tools.rule_examples import example_of
from tools.rule_pages import WHO_ELSE, rule_pages

from tests.acceptance.recall import BROKEN, FOUND_BY_CFN_LINT
from tests.checked_templates import BAD, GOOD
from tests.examples import times
from tests.linting import found_by

PACK = "gpu_constructs.lint"
PACKED = Rules.create_from_module(PACK)


def found(template: str) -> list[Any]:
    """Matches of the pack, and cfn-lint's own errors: the templates here are right but for the GPUs."""
    matches = list(found_by(template, PACK, regions=["us-east-1"]))
    assert [str(each) for each in matches if not each.message.startswith("GPU") and each.rule.severity == "error"] == []
    return [each for each in matches if each.message.startswith("GPU")]


def found_alone(template: str, **arguments: Any) -> list[Any]:
    """Matches of the pack without cfn-lint's own rules, which take most of the time."""
    decoded, _ = decode_str(template)
    return list(run_template_by_data(decoded, ConfigMixIn(**ManualArgs(**arguments)), PACKED))


def ids(template: str, **arguments: Any) -> set[str]:
    return {each.rule.id for each in found_alone(template, **arguments)}


def with_metadata(resource: str, metadata: dict[str, Any]) -> str:
    return BAD.replace(f"  {resource}:\n", f"  {resource}:\n    Metadata: {json.dumps(metadata)}\n")


def test_every_rule_is_there_with_its_question_its_reason_and_its_source() -> None:
    for rule in all_rules():
        made = PACKED[lint_id(rule.id, rule.severity)]
        assert made.shortdesc == f"{rule.id}: {rule.question}"
        assert made.description.lower() == rule.reason.lower()
        assert made.source_url in {rule.source, ""}
    assert {re.fullmatch("[EWI]9[5-9][0-9]{2}", each) is not None for each in PACKED.data} == {True}


def test_every_error_may_be_a_warning_for_another_value_of_a_parameter() -> None:
    errors = [each.id for each in all_rules() if each.severity is Severity.ERROR]
    assert [each for each in errors if lint_id(each, Severity.WARNING) not in PACKED] == []


def test_cfn_lint_finds_nothing_else_in_what_the_pack_finds_something_in() -> None:
    assert "E9560" in {each.rule.id for each in found(BAD)}


def test_cfn_lint_finds_what_is_left_to_it_in_broken_templates() -> None:
    for file, rule in FOUND_BY_CFN_LINT.items():
        assert rule in {each.rule.id for each in found_by((BROKEN / file).read_text())}, file


def test_what_was_not_checked_is_logged_once_and_a_finding_only_where_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    elsewhere = """\
Resources:
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      ContainerDefinitions:
        - {Name: a, Image: "a:1", Memory: 512, ResourceRequirements: [{Type: GPU, Value: "1"}]}
  Service:
    Type: AWS::ECS::Service
    Properties: {Cluster: prod, TaskDefinition: !Ref Task, LaunchType: EC2, DesiredCount: 1}
"""
    errors_and_warnings = ids(elsewhere)
    assert errors_and_warnings == set()
    (line,) = (each.getMessage() for each in caplog.records if "not checked" in each.getMessage())
    assert "gpu-constructs: not checked: these files do not define hosts of cluster prod" in line
    assert ids(elsewhere, include_checks=["I"]) == {"I9729"}


def test_a_rule_is_ignored_by_id() -> None:
    assert "E9560" in ids(BAD)
    assert "E9560" not in ids(BAD, ignore_checks=["E9560"])


def test_a_rule_is_ignored_in_the_metadata_of_a_resource() -> None:
    ignore = {"cfn-lint": {"config": {"ignore_checks": ["E9560"]}}}
    assert "E9560" not in ids(with_metadata("Service", ignore))
    assert "E9560" in ids(with_metadata("Cluster", ignore))


def test_an_error_with_another_allowed_value_is_a_warning_that_names_the_value() -> None:
    template = BAD.replace("Default: g5.xlarge", "Default: g6.48xlarge").replace(
        "[g5.xlarge", "[g6.48xlarge, g6.xlarge"
    )
    (match,) = [each for each in found_alone(template) if each.message.startswith("GPU060")]
    assert match.rule.id == "W9560"
    assert "with Hosts=g6.xlarge" in match.message


def test_values_of_a_parameter_file_take_the_place_of_defaults() -> None:
    template = GOOD.replace("Value: '1'", "Value: '8'").replace("[g6.xlarge]", "[g6.xlarge, g6.48xlarge]")
    assert "E9560" in ids(template)
    assert "E9560" not in ids(template, parameters=[{"Hosts": "g6.48xlarge"}])


def test_a_region_that_was_asked_for_counts_and_the_one_that_cfn_lint_assumes_does_not() -> None:
    template = GOOD.replace("g6.xlarge", "p6-b300.48xlarge")
    elsewhere = [each.message for each in found_alone(template, regions=["eu-west-1"])]
    assert any(each.startswith("GPU011") and "eu-west-1" in each for each in elsewhere)
    assert [each for each in found_alone(template) if "GPU011" in each.message] == []


def test_a_template_is_reviewed_once_for_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return check_files(*arguments, **named)

    monkeypatch.setattr(gpu_constructs.lint, "check_files", counted)
    assert len(found_alone(BAD)) > 0
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
    (match,) = found_alone(BAD)
    assert match.rule.id == "E9500"
    assert "no GPU was checked" in match.message
    assert words in match.message


@settings(max_examples=times(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(TEMPLATE_TEXTS)
def test_no_template_that_cfn_lint_reads_brings_the_pack_down(text: str) -> None:
    try:
        template, errors = decode_str(text)
        read = Template("t", template) if isinstance(template, dict) and not errors else None
    except Exception:  # noqa: BLE001 - what cfn-lint makes of it is its own business
        return
    if read is not None:
        for rule in PACKED.data.values():
            assert isinstance(rule, GpuRule)
            assert all(isinstance(each.message, str) for each in rule.match(read))


@pytest.mark.parametrize("rule", [*WHO_ELSE["cfn-lint"], "GPU060", "GPU347"])
def test_the_page_of_a_rule_says_what_cfn_lint_finds_in_its_example(rule: str) -> None:
    example = example_of(rule)
    wrong, right = ({each.rule.id for each in found_by(example.file(part))} for part in (example.wrong, example.right))
    assert wrong - right == {WHO_ELSE["cfn-lint"].get(rule)} - {None}


def test_the_page_of_a_rule_says_who_else_finds_it() -> None:
    pages = rule_pages()
    assert {*WHO_ELSE["cfn-lint"], *WHO_ELSE["cdk-preflight"]} <= {rule.id for rule in all_rules()}
    assert "Who else finds it: cfn-lint in the example (E3628) (2026-11-28)." in pages["GPU050.md"]
    assert "Who else finds it: none of cfn-lint and cdk-preflight (2026-11-28)." in pages["GPU060.md"]
