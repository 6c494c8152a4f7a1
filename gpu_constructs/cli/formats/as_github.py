"""A check as annotations of GitHub Actions, which a step makes by what it prints.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections import Counter

from gpu_constructs.cli.formats import Checked, place_of, with_fix
from gpu_constructs.errors import brief, clean
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.rules import Finding, Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MOST = 10
"""Annotations of one level that GitHub shows of a step; it drops the others silently
(actions/toolkit, docs/problem-matchers.md)."""

_IN_A_VALUE = str.maketrans({"%": "%25", ":": "%3A", ",": "%2C"})


def write(checked: Checked) -> str:
    """As many annotations as GitHub shows, errors first, and a line that counts the others."""
    seen: Counter[Severity] = Counter()
    lines = []
    for each in checked.shown:
        seen[each.severity] += 1
        if seen[each.severity] <= _MOST:
            lines.append(_annotation(each))
    more = {_LEVELS[each]: number - _MOST for each, number in seen.items() if number > _MOST}
    if more:
        counts = ", ".join(f"{number} more {level}{'' if number == 1 else 's'}" for level, number in more.items())
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
