"""What cannot work, what may not, and what is worth knowing? Rules with stable ids over a fleet.

A rule is a question with a severity, the mechanism behind it and the page that says so; ``docs/rules.md`` is made of
them. `check` asks all of them::

    from gpu_constructs.rules import check

    for finding in check(fleet):
        print(finding.severity, finding.rule, finding.message, finding.fix)

Each room below holds the rules of one subject; `catalogue` finds them. `evidence` holds what several of them look at.
"""

from gpu_constructs.rules.catalogue import (
    ROOMS,
    RULES,
    check,
    check_alone,
    find_rule,
    known_id,
    rules_of,
    rules_without,
)
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import Finding, Severity
from gpu_constructs.rules.rule import Problem, Rule, error, info, warning

__all__ = [
    "ROOMS",
    "RULES",
    "Context",
    "Finding",
    "Problem",
    "Rule",
    "Severity",
    "check",
    "check_alone",
    "error",
    "find_rule",
    "info",
    "known_id",
    "rules_of",
    "rules_without",
    "warning",
]
