"""A check as test results in the XML of JUnit: a case for each rule.

https://github.com/testmoapp/junitxml
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from gpu_constructs.cli.formats import Checked, place_of, with_fix
from gpu_constructs.errors import clean
from gpu_constructs.rules import Finding, Rule, catalogue
from gpu_constructs.rules.fit.unchecked import UNCHECKED

_SUITE = "gpu-constructs"


def write(checked: Checked) -> str:
    """Rules that make the exit code 1 fail; those that are ignored, accepted or could not be checked are skipped."""
    ids = {each.id for each in catalogue.RULES}
    found: dict[str, list[Finding]] = defaultdict(list)
    for each in checked.review.findings:
        found[each.rule].append(each)
    cases = [
        *(_case(each.id, _name(each), checked, found[each.id]) for each in catalogue.RULES),
        *(_case(each, each, checked, of_rule) for each, of_rule in found.items() if each not in ids),
    ]
    counts = (
        f'tests="{len(cases)}" failures="{sum("<failure" in each for each in cases)}" errors="0" '
        f'skipped="{sum("<skipped" in each for each in cases)}"'
    )
    text = "\n".join(cases)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="{_SUITE}" {counts}>\n<testsuite name="{_SUITE}" {counts}>\n{text}\n'
        "</testsuite>\n</testsuites>\n"
    )


def _name(rule: Rule) -> str:
    return f"{rule.id} {rule.question}"


def _case(id_: str, name: str, checked: Checked, found: list[Finding]) -> str:
    start = f"<testcase classname={_attribute(_SUITE)} name={_attribute(name)}"
    inside = "".join(_inside(id_, checked, found))
    return f"{start}>{inside}</testcase>" if inside else f"{start}/>"


def _inside(id_: str, checked: Checked, found: list[Finding]) -> Iterator[str]:
    failing = [each for each in found if checked.fails(each)]
    reasons = [each.reason for each in checked.review.acknowledged if each.finding.rule == id_]
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
