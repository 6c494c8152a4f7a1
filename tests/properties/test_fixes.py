"""Every fix with a value does what it says: with it the finding is gone, and nothing else is broken.

The wrong example of each rule, the broken configurations of `tests/acceptance`, files and fleets at random: the
changes that findings carry are made, and the fleet is checked again from the beginning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

import pytest

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.facts import IMAGES, Architecture, accelerated, general
from gpu_constructs.fleet import (
    Fleet,
    InstanceRequirements,
    Pool,
)
from gpu_constructs.rules import Finding, Severity, all_rules, check
from gpu_constructs.rules.finding import changed
from tests.acceptance.recall import expectations
from tests.examples import times
from tests.properties.small_fleets import small_fleet
from tests.properties.small_templates import small_template
from tests.reports import examples, of_template, of_wrong
from tests.rules.given import a_pool, a_task, running_on


def _ids(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What the fixes of each error rule are. Values of their own have only those that are tried.
TRIED = _ids(
    """
    GPU003 GPU009 GPU020 GPU027 GPU028 GPU032 GPU033 GPU042 GPU050 GPU052 GPU054
    GPU060 GPU061 GPU062 GPU064 GPU067 GPU070 GPU080 GPU083 GPU084 GPU092 GPU106
    GPU130 GPU200 GPU218 GPU235
    GPU296 GPU309 GPU310
    GPU362
    """
)
READ_OFF = _ids(
    """
    GPU040 GPU047 GPU122 GPU125 GPU217
    GPU277 GPU317 GPU046 GPU267
    GPU089 GPU093 GPU100 GPU204 GPU221 GPU350
    """
)  # names and values of the file itself, or the only ones that AWS takes
SENTENCES = _ids(
    """
    GPU023 GPU037 GPU055 GPU057 GPU058 GPU063 GPU098 GPU107 GPU110
    GPU124 GPU126 GPU127 GPU132 GPU160 GPU163 GPU170 GPU190 GPU208 GPU228 GPU231
    GPU230 GPU264 GPU273 GPU294 GPU295
    GPU206 GPU236 GPU269 GPU306 GPU307 GPU316 GPU351 GPU359
    GPU237 GPU257 GPU275 GPU298 GPU376 GPU393
    GPU394 GPU395 GPU396 GPU397
    """
)  # what to do, without a value
TRIED_WARNINGS = _ids(
    """
    GPU006 GPU030 GPU051 GPU072 GPU074 GPU099 GPU117
    GPU234 GPU311 GPU312
    """
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A broken fleet, what is found in it, and the text that a reader has in front of them."""

    fleet: Fleet
    findings: tuple[Finding, ...]
    text: str = ""


def _of_files() -> Iterator[Shown]:
    for rule, example in examples().items():
        yield _of_report(of_wrong(rule), example.file(example.wrong))
    for each in expectations():
        report = of_template(each.path)
        yield _of_report(report, "".join(Path(file).read_text(encoding="utf-8") for file in report.stacks.documents))


def _of_report(report: Report, text: str) -> Shown:
    return Shown(fleet=report.fleet, findings=report.findings, text=text)


def _by_hand() -> Iterator[Shown]:
    """What neither has."""
    pool = Pool(
        name="Hosts", min_instances=0, max_instances=1, requirements=InstanceRequirements(accelerator_count=(4, 1))
    )
    for fleet in (Fleet(pools=(pool,)), running_on(a_pool(), task=a_task("1", architecture=Architecture.ARM64))):
        yield Shown(fleet=fleet, findings=check(fleet))


def _at_random() -> Iterator[Shown]:
    for seed in range(times(8)):
        random = Random(seed)  # noqa: S311 - no secret
        of_files = check_files([small_template(seed).template], rules=()).fleet
        for fleet in (of_files, replace(small_fleet(random)[0], is_whole=True)):
            yield Shown(fleet=fleet, findings=check(fleet))


@pytest.fixture(scope="module")
def of_files() -> tuple[Shown, ...]:
    return tuple(_of_files())


@pytest.fixture(scope="module")
def made(of_files: tuple[Shown, ...]) -> Counter[str]:
    """How many fixes of each rule were made, each of which did what it says."""
    made: Counter[str] = Counter()
    for each in (*of_files, *_by_hand(), *_at_random()):
        ways = [(finding, way) for finding in each.findings for way in finding.ways]
        assert all(way.text in finding.fix for finding, way in ways)
        tried = [(finding, way) for finding, way in ways if way.things]
        before = check(each.fleet, fixes=False) if tried else ()
        for finding, way in tried:
            after = check(changed(each.fleet, way.made()), fixes=False)
            assert _found(after, finding) < _found(before, finding), (finding, way.text)
            assert not (new := _wrong(after) - _wrong(before)), (finding, way.text, new)
            made[finding.rule] += 1
    return made


def _wrong(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((each.rule, each.subject) for each in findings if each.severity is Severity.ERROR)


def _found(findings: Iterable[Finding], finding: Finding) -> int:
    return sum((each.rule, each.subject) == (finding.rule, finding.subject) for each in findings)


def test_every_fix_that_is_told_works(made: Counter[str]) -> None:
    assert made.keys() >= TRIED | TRIED_WARNINGS


def test_no_other_error_rule_tries_its_fixes(made: Counter[str]) -> None:
    assert not made.keys() & (READ_OFF | SENTENCES)


def test_of_each_error_rule_it_is_known_where_its_values_are_from() -> None:
    errors = [each.id for each in all_rules() if each.severity is Severity.ERROR]
    assert sorted((*TRIED, *READ_OFF, *SENTENCES)) == errors


@cache
def _value() -> re.Pattern[str]:
    """A number, an instance type or a machine image: what can be wrong on these hosts."""
    names = [*(each.name for each in (*accelerated(), *general())), *(each.name for each in IMAGES)]
    number = r"(?<![\w.-])[0-9][0-9.]*(?![\w.-])"
    return re.compile(rf"{number}|(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")


def test_a_fix_that_was_not_tried_names_no_value_that_the_file_does_not_have(of_files: tuple[Shown, ...]) -> None:
    named = [
        (finding.rule, value, finding.fix)
        for each in of_files
        for finding in each.findings
        if finding.rule in TRIED | READ_OFF | SENTENCES
        for value in _value().findall(_untried(finding))
        if value not in f"{finding.message} {finding.allowed}" and (finding.rule in SENTENCES or value not in each.text)
    ]
    assert not named


def _untried(finding: Finding) -> str:
    return ", or ".join(each.text for each in finding.ways if not each.things) if finding.ways else finding.fix
