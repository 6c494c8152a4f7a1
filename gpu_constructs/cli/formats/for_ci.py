"""A check for a CI: annotations of GitHub Actions, a Code Quality report of GitLab, and test results as JUnit has them.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from gpu_constructs.cli.formats import UNREAD, Checked, fingerprint, place_of
from gpu_constructs.cli.output import json_text
from gpu_constructs.errors import brief, clean, counted
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.facts.values import grouped
from gpu_constructs.rules import Finding, Severity, all_rules
from gpu_constructs.rules.finding import with_fix
from gpu_constructs.rules.fit.unchecked import UNCHECKED

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MOST = 10
"""Annotations of one level that GitHub shows of a step; it drops the others silently
(actions/toolkit, docs/problem-matchers.md)."""

_IN_A_VALUE = str.maketrans({"%": "%25", ":": "%3A", ",": "%2C"})


def github(checked: Checked) -> str:
    """As many annotations as GitHub shows, errors first, and a line that counts the others."""
    seen: Counter[Severity] = Counter()
    lines = []
    for each in checked.shown:
        seen[each.severity] += 1
        if seen[each.severity] <= _MOST:
            lines.append(_annotation(each))
    more = {_LEVELS[each]: number - _MOST for each, number in seen.items() if number > _MOST}
    if more:
        counts = ", ".join(counted(number, f"more {level}") for level, number in more.items())
        lines.append(f"{counts} without an annotation: GitHub shows {_MOST} of each level in a step")
    return "".join(f"{each}\n" for each in lines)


def _annotation(finding: Finding) -> str:
    file, line, column = place_of(finding)
    places = {"title": finding.rule, "file": file, "line": line, "col": column}
    given = ",".join(
        f"{name}={clean(str(value)).translate(_IN_A_VALUE)}" for name, value in places.items() if value is not None
    )
    text = clean(brief(with_fix(finding), MESSAGE)).replace("%", "%25")
    return f"::{_LEVELS[finding.severity]} {given}::{text}"


_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def gitlab(checked: Checked) -> str:
    """One object for each finding; GitLab drops those that have the fingerprint of another, or no file."""
    seen: Counter[str] = Counter()
    first = next(iter(checked.review.files), "-")
    issues = []
    for each in checked.shown:
        file, line, _ = place_of(each)
        issues.append(
            {
                "description": f"{each.rule} {with_fix(each)}",  # GitLab does not show the name of a check
                "check_name": each.rule,
                "fingerprint": fingerprint(each, seen),
                "severity": _SEVERITIES[each.severity],
                "location": {"path": clean(file or first), "lines": {"begin": line or 1}},
            }
        )
    return json_text(issues)


_SUITE = "gpu-constructs"


def junit(checked: Checked) -> str:
    """Rules that make the exit code 1 fail; those that are ignored, accepted, old or not to be checked are skipped."""
    ids = {each.id for each in all_rules()}
    found = grouped((each.rule, each) for each in (*checked.unread, *checked.review.findings))
    cases = [
        *(_case(each.id, f"{each.id} {each.question}", checked, found.get(each.id, [])) for each in all_rules()),
        *(_case(each, each, checked, of_rule) for each, of_rule in found.items() if each not in ids),
    ]
    counts = f'tests="{len(cases)}" failures="{sum("<failure" in each for each in cases)}" errors="0"'
    skipped = sum("<skipped" in each for each in cases)
    text = "\n".join(cases)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="{_SUITE}" {counts}>\n<testsuite name="{_SUITE}" {counts} skipped="{skipped}">\n{text}\n'
        "</testsuite>\n</testsuites>\n"
    )


def _case(id_: str, name: str, checked: Checked, found: list[Finding]) -> str:
    start = f"<testcase classname={_attribute(_SUITE)} name={_attribute(name)}"
    inside = "".join(_inside(id_, checked, found))
    return f"{start}>{inside}</testcase>" if inside else f"{start}/>"


def _inside(id_: str, checked: Checked, found: list[Finding]) -> Iterator[str]:
    failing = [each for each in found if each.rule == UNREAD or checked.fails(each)]
    reasons = [each.reason for each in checked.review.acknowledged if each.finding.rule == id_]
    reasons += ["in the baseline" for each in checked.review.baselined if each.rule == id_]
    if failing:
        yield f"<failure type={_attribute(str(failing[0].severity))} message={_attribute(failing[0].message)}>"
        yield f"{_text(failing)}</failure>"
    elif id_ in checked.ignored:
        yield '<skipped message="ignored"/>'
    elif found and id_ == UNCHECKED:
        yield f"<skipped message={_attribute(found[0].message)}/>"
    elif reasons and not found:
        yield f"<skipped message={_attribute('; '.join(dict.fromkeys(reasons)))}/>"
    if others := [each for each in found if each not in failing]:
        yield f"<system-out>{_text(others)}</system-out>"


def _text(found: list[Finding]) -> str:
    return escape("\n".join(f"{_at(each)}: {each.severity}: {clean(with_fix(each))}" for each in found))


def _at(finding: Finding) -> str:
    return clean(":".join(str(each) for each in place_of(finding) if each is not None)) or finding.subject


def _attribute(text: str) -> str:
    return quoteattr(clean(text))
