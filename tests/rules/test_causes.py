"""One correction, one finding: over the examples of the rules and the templates of the tests, no cause has two."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, product

import pytest

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.rules import Severity, all_rules, find_rule
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.template.stacks import Input
from tests.acceptance.recall import good_files
from tests.examples import times
from tests.reports import examples, of_right, of_template, of_wrong
from tools.rule_examples import Example, base_paths

PAIRS = times(8)
"""Pairs of examples that are merged, of some thirteen thousand: evenly spread, and always the same."""


@cache
def on_bases() -> dict[str, Example]:
    return {rule: each for rule, each in examples().items() if each.base}


THREE_MISTAKES = {
    frozenset({"GPU003", "GPU032"}): "the older image has no driver for a part of a GPU either",
    frozenset({"GPU006", "GPU140"}): "the second provider has hosts of the same size",
    frozenset({"GPU032", "GPU200"}): "the release is also from before a driver for parts of a GPU",
    frozenset({"GPU034", "GPU057"}): "nothing is known of the image, so neither is its sharing",
    frozenset({"GPU034", "GPU200"}): "the agent of the release is also too old for sharing",
    frozenset({"GPU067", "GPU140"}): "the second provider has hosts of the same architecture",
    frozenset({"GPU083", "GPU084"}): "a port of the agent is also a port that copies take from each other",
    frozenset({"GPU083", "GPU230"}): "a port of the hosts is also a port that copies take from each other",
    frozenset({"GPU110", "GPU165"}): "protection, which one turns on, needs managed scaling, which the other turns off",
    frozenset({"GPU226", "GPU304"}): "the second service also waits for the Capacity Block",
}
"""Pairs of examples that have a third finding together, and which mistake that is."""


def found(template: Input) -> Counter[tuple[str, str]]:
    return said(check_files([template]), least=Severity.WARNING)


def said(report: Report, least: Severity = Severity.INFO) -> Counter[tuple[str, str]]:
    return Counter((each.rule, each.subject) for each in report.findings if each.severity.rank <= least.rank)


def closure(rule: str) -> frozenset[str]:
    """Every rule that a rule yields to, and those that they yield to; without an end in a circle."""
    preferred = find_rule(rule).unless
    return frozenset(preferred).union(*map(closure, preferred))


@cache
def paths(rule: str) -> frozenset[tuple[str, ...]]:
    return examples()[rule].paths


@cache
def paths_of_base(names: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return base_paths(names)


def touch(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    return any(a[: len(b)] == b or b[: len(a)] == a for a, b in product(one, other))


def common_base(one: str, other: str) -> tuple[str, ...] | None:
    """The shared templates of two examples, where one needs all that the other has and neither changes the same."""
    small, large = sorted((one, other), key=lambda each: len(examples()[each].base))
    base, whole = examples()[small].base, examples()[large].base
    more = tuple(each for each in whole if each not in base)
    if not set(base) <= set(whole) or touch(paths(small), paths(large) | paths_of_base(more)):
        return None
    return (*base, *more)


def test_a_correction_removes_one_finding() -> None:
    removed: dict[str, list[str]] = {}
    for rule in on_bases():
        gone = said(of_wrong(rule)) - said(of_right(rule))
        # What was not judged for want of a pool is no mistake of its own.
        removed[rule] = sorted(id_ for id_, _ in gone.elements() if id_ != UNCHECKED or rule == UNCHECKED)
    assert removed == {rule: sorted({rule, *example.also}) for rule, example in on_bases().items()}
    assert all(all(example.also.values()) for example in on_bases().values())


@pytest.mark.parametrize(
    ("rule", "more", "expected"),
    [
        ("GPU093", "efa-task", "GPU093"),
        ("GPU003", "sharing", "GPU033"),
        ("GPU130", "sharing", "GPU130"),
        ("GPU166", "types", "GPU160"),
    ],
)
def test_a_mistake_has_one_finding_where_it_also_hurts_something_else(rule: str, more: str, expected: str) -> None:
    example = examples()[rule]
    base = (*example.base, more)
    wrong, right = (found(example.template(part, base=base)) for part in (example.wrong, example.right))
    assert [id_ for id_, _ in (wrong - right).elements()] == [expected]


def test_two_mistakes_have_no_third_finding() -> None:
    # A second capacity provider for the same hosts (GPU124) doubles whatever is wrong with them.
    others = [each for each in on_bases() if each != "GPU124" and not examples()[each].also]
    pairs = [(one, other) for one, other in combinations(others, 2) if common_base(one, other) is not None]
    checked = 0
    for one, other in pairs[:: len(pairs) // PAIRS]:
        first, second, base = examples()[one], examples()[other], common_base(one, other)

        def with_parts(*parts: str, base: tuple[str, ...] | None = base) -> Counter[tuple[str, str]]:
            return found(examples()["GPU001"].template(*parts, base=base))

        if with_parts(first.right, second.right):
            continue  # the two do not go together even as they should be
        checked += 1
        alone = with_parts(first.wrong, second.right) + with_parts(first.right, second.wrong)
        together = with_parts(first.wrong, second.wrong)
        if frozenset({one, other}) not in THREE_MISTAKES:
            assert together.total() <= max(2, alone.total()), (one, other, together)
    assert checked > PAIRS // 2


def test_what_is_said_of_one_thing_is_said_once() -> None:
    reports = {path.stem: of_template(path) for path in good_files()} | {rule: of_wrong(rule) for rule in on_bases()}
    twice: list[tuple[str, str, str]] = []
    for name, report in reports.items():
        rules_of: dict[str, set[str]] = {}
        for rule, subject in said(report):
            rules_of.setdefault(subject, set()).add(rule)
        twice += [(name, rule, each) for each, rules in rules_of.items() for rule in rules if rules & closure(rule)]
    assert not twice


def test_a_rule_yields_to_others_that_are_as_grave_and_never_in_a_circle() -> None:
    for rule in all_rules():
        assert rule.id not in closure(rule.id)
        milder = {each for each in rule.unless if find_rule(each).severity.rank > rule.severity.rank}
        assert not milder
