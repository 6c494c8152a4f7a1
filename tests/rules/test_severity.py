"""The rule of severity (docs/checking.md): what cannot work is an error, what may work is a warning.

Why a rule is a warning, or only a warning in some cases, is one of a few reasons. A rule without one stands in no table
here, and fails: a new error that can be softer, and a new warning that says "never", need their reason.
"""

from __future__ import annotations

import re

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.rules import Severity, all_rules, find_rule
from gpu_constructs.rules.catalogue import one_of
from tests.acceptance.recall import BROKEN, GOOD
from tests.reports import examples, of_template, of_wrong

ELSEWHERE = "what decides it may be in other files, or on the host"
NEWER = "the record of this library may be older than what AWS has"
SOME = "it concerns some hosts, types, copies or calls, and the others work"
LATER = "it works at first: a later deploy, an interruption or a day of the calendar decides"
UNSAID = "no page of AWS or of the maker says that it cannot work"
COSTS = "it works, and at most is slow or costs money"
ORDER = "CloudFormation may make things in an order that works"
DEPLOY = "only the deploy knows a value"

SOFTER: dict[str, tuple[str, ...]] = {
    "GPU003": (LATER,),
    "GPU009": (ELSEWHERE,),
    "GPU032": (UNSAID, SOME),
    "GPU033": (SOME,),
    "GPU037": (COSTS,),
    "GPU042": (NEWER, ELSEWHERE),
    "GPU047": (UNSAID,),
    "GPU055": (LATER,),
    "GPU057": (UNSAID,),
    "GPU060": (ELSEWHERE, SOME),
    "GPU061": (ELSEWHERE,),
    "GPU062": (ELSEWHERE,),
    "GPU064": (UNSAID, ELSEWHERE),
    "GPU067": (SOME,),
    "GPU070": (SOME,),
    "GPU080": (LATER,),
    "GPU083": (ELSEWHERE,),
    "GPU084": (ELSEWHERE,),
    "GPU092": (SOME,),
    "GPU098": (DEPLOY,),
    "GPU100": (NEWER,),
    "GPU106": (SOME,),
    "GPU110": (ELSEWHERE, SOME),
    "GPU125": (UNSAID,),
    "GPU126": (SOME,),
    "GPU130": (NEWER,),
    "GPU132": (UNSAID, SOME),
    "GPU163": (DEPLOY,),
    "GPU170": (UNSAID,),
    "GPU200": (NEWER,),
    "GPU204": (UNSAID,),
    "GPU206": (ELSEWHERE, SOME),
    "GPU208": (ELSEWHERE, COSTS),
    "GPU217": (DEPLOY,),
    "GPU218": (ELSEWHERE,),
    "GPU221": (LATER,),
    "GPU228": (ELSEWHERE,),
    "GPU230": (UNSAID,),
    "GPU235": (ELSEWHERE, SOME),
    "GPU236": (COSTS, ELSEWHERE),
    "GPU257": (ELSEWHERE,),
    "GPU264": (ELSEWHERE,),
    "GPU269": (COSTS,),
    "GPU273": (SOME, ELSEWHERE),
    "GPU277": (ELSEWHERE,),
    "GPU298": (ORDER,),
    "GPU306": (LATER,),
    "GPU307": (ELSEWHERE, UNSAID),
    "GPU309": (ELSEWHERE,),
    "GPU310": (COSTS,),
    "GPU316": (ELSEWHERE,),
    "GPU317": (ELSEWHERE, UNSAID),
    "GPU351": (UNSAID,),
    "GPU376": (ELSEWHERE,),
    "GPU393": (ELSEWHERE,),
    "GPU394": (ELSEWHERE,),
    "GPU395": (ELSEWHERE,),
    "GPU396": (ELSEWHERE, UNSAID),
    "GPU397": (ELSEWHERE,),
}
"""Errors that are warnings in some cases, and why they are then."""

WARNINGS: dict[str, str] = {
    "GPU005": DEPLOY,
    "GPU010": LATER,
    "GPU012": DEPLOY,
    "GPU014": DEPLOY,
    "GPU034": LATER,
    "GPU053": SOME,
    "GPU069": SOME,
    "GPU071": SOME,
    "GPU072": SOME,
    "GPU074": COSTS,
    "GPU082": SOME,
    "GPU085": COSTS,
    "GPU097": NEWER,
    "GPU099": ELSEWHERE,
    "GPU101": SOME,
    "GPU104": SOME,
    "GPU117": SOME,
    "GPU140": UNSAID,
    "GPU162": UNSAID,
    "GPU164": SOME,
    "GPU166": COSTS,
    "GPU185": NEWER,
    "GPU195": ORDER,
    "GPU203": LATER,
    "GPU210": LATER,
    "GPU220": LATER,
    "GPU222": LATER,
    "GPU226": LATER,
    "GPU234": ELSEWHERE,
    "GPU259": ORDER,
    "GPU260": SOME,
    "GPU263": LATER,
    "GPU268": SOME,
    "GPU304": COSTS,
    "GPU312": UNSAID,
    "GPU321": LATER,
    "GPU342": LATER,
    "GPU391": LATER,
}
"""Warnings with words of certainty, and why they are no errors all the same."""

CERTAIN = re.compile(
    r"\b(?:never|refuses?d?|cannot|waits? for|supports? no|no request|no hosts?|not start|fails?"
    r"|(?:not|un)[ -]?support(?:ed)?)\b"
)
NO_ERRORS = {"GPU003", "GPU037", "GPU236"}
"""Rules whose example shows the warning."""


def test_an_error_that_can_be_softer_has_its_reason() -> None:
    assert [each.id for each in all_rules() if each.softer] == [*SOFTER]


def test_a_warning_that_speaks_of_what_cannot_be_has_its_reason() -> None:
    rules = {each.id: each for each in all_rules() if each.severity is Severity.WARNING}
    texts = [(each.id, f"{each.question} {each.because}") for each in rules.values()]
    files = [each for room in (BROKEN, GOOD) for each in room.iterdir() if each.name != "expected"]
    reports = (*(of_wrong(each.id) for each in all_rules()), *map(of_template, files))
    texts += [(each.rule, each.message) for report in reports for each in report.findings if each.rule in rules]
    assert sorted({rule for rule, text in texts if CERTAIN.search(text)}) == [*WARNINGS]


@pytest.mark.parametrize("partial", [False, True])
def test_of_the_example_of_an_error_it_is_certain_or_something_else_may_decide(partial: bool) -> None:
    found = {
        rule: {each.severity for each in found.findings if each.rule == rule}
        for rule, example in examples().items()
        if find_rule(rule).severity is Severity.ERROR
        for text in [example.file(example.wrong).encode()]
        for found in [check_files(["-"], stdin=text, partial=True, rules=one_of(rule)) if partial else of_wrong(rule)]
    }
    less = {rule for rule, severities in found.items() if Severity.ERROR not in severities}
    if not partial:
        assert less == NO_ERRORS
    # With files that are not there, an error stays one, is silent, or is softer for that reason.
    assert [rule for rule in less - NO_ERRORS if found[rule] and ELSEWHERE not in SOFTER[rule]] == []
