"""The examples of ``docs/rules.md`` are true: a rule finds its wrong one, and no rule objects to the right one."""

from __future__ import annotations

from gpu_constructs.checking.report import check_files
from gpu_constructs.rules import RULES, Finding, Severity
from tools.rule_examples import BASES, EXAMPLES, Example, example_of

IN_TEMPLATES = [each for each in RULES if not example_of(each.id).python]


def found(example: Example, part: str) -> tuple[Finding, ...]:
    return check_files(["-"], stdin=example.file(part).encode()).findings


def test_every_rule_has_an_example_and_every_template_is_used() -> None:
    assert sorted(each.stem for each in EXAMPLES.glob("*.yaml")) == [each.id for each in RULES]
    used = {name for each in RULES for name in example_of(each.id).base}
    assert {each.stem for each in BASES.iterdir()} == used


def test_a_rule_finds_the_wrong_example_and_no_other_rule_calls_it_an_error() -> None:
    said: dict[str, set[str]] = {}
    for rule in IN_TEMPLATES:
        example = example_of(rule.id)
        findings = found(example, example.wrong)
        said[rule.id] = {each.rule for each in findings if each.severity is Severity.ERROR or each.rule == rule.id}
    assert said == {rule.id: {rule.id} for rule in IN_TEMPLATES}


def test_no_rule_objects_to_the_right_example() -> None:
    objections = [
        (rule.id, each)
        for rule in IN_TEMPLATES
        for each in found(example_of(rule.id), example_of(rule.id).right)
        if each.severity is not Severity.INFO or each.rule == rule.id
    ]
    assert not objections
