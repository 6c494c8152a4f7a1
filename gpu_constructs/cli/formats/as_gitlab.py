"""A check as a Code Quality report of GitLab.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

from collections import Counter

from gpu_constructs.cli.formats import Checked, fingerprint, place_of, with_fix
from gpu_constructs.cli.output import json_text
from gpu_constructs.errors import clean
from gpu_constructs.rules import Severity

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def write(checked: Checked) -> str:
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
