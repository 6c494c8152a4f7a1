"""The examples of the pages of rules are true: a rule finds its wrong one, and no rule objects to the right one."""

from __future__ import annotations

from gpu_constructs.check.report import Asked, now
from gpu_constructs.rules import Context, Severity, all_rules, catalogue, check
from gpu_constructs.rules.catalogue import every
from tests.reports import examples, of_right, of_wrong
from tools.rule_examples import BASES, EXAMPLES, example_of


def test_every_rule_has_an_example_and_every_template_is_used() -> None:
    assert sorted(each.stem for each in EXAMPLES.glob("*.yaml")) == [each.id for each in all_rules()]
    used = {name for each in all_rules() for name in example_of(each.id).base}
    assert {each.stem for each in BASES.iterdir()} == used


def test_a_rule_finds_the_wrong_example_and_no_other_rule_calls_it_an_error() -> None:
    said = {
        rule: {each.rule for each in of_wrong(rule).findings if each.severity is Severity.ERROR or each.rule == rule}
        for rule in examples()
    }
    assert said == {rule: {rule} for rule in examples()}


def test_no_rule_objects_to_the_right_example() -> None:
    objections = [
        (rule, each)
        for rule in examples()
        for each in of_right(rule).findings
        if each.severity is not Severity.INFO or each.rule == rule
    ]
    assert not objections


def test_rules_that_are_not_loaded_would_find_nothing() -> None:
    for rule in all_rules():
        files = Asked(rules=every).files(of_wrong(rule.id).stacks)
        loaded = {each.id for each in catalogue._rules_about(Context(files.fleet, now(), files))}
        left = [each for each in all_rules() if each.id not in loaded]
        assert (rule.id, check(files.fleet, rules=left, fixes=False, now=now(), files=files)) == (rule.id, ())
