"""What cannot work, what may not, and what is worth knowing? Rules with stable ids over a fleet.

A rule is a question with a severity, the mechanism behind it and the page that says so; each has a page of the site.
`check` asks all of them::

    from gpu_constructs.rules import check

    for finding in check(fleet):
        print(finding.severity, finding.rule, finding.message, finding.fix)

Each room below holds the rules of one subject; `catalogue` finds them. `evidence` holds what several of them look at.
"""

from gpu_constructs.rules.catalogue import (
    Choice,
    all_rules,
    check,
    check_alone,
    find_rule,
    known_id,
    narrowed,
    one_of,
    rooms,
    rules_of,
    rules_without,
)
from gpu_constructs.rules.finding import Finding, Severity
from gpu_constructs.rules.rule import Context, Problem, Rule, error, info, warning

__all__ = [
    "RULES",
    "Choice",
    "Context",
    "Finding",
    "Problem",
    "Rule",
    "Severity",
    "all_rules",
    "check",
    "check_alone",
    "error",
    "find_rule",
    "info",
    "known_id",
    "narrowed",
    "one_of",
    "rooms",
    "rules_of",
    "rules_without",
    "warning",
]

RULES: tuple[Rule, ...]
"""Every rule, in the order of the ids; all of them are loaded where it is asked for."""


def __getattr__(name: str) -> tuple[Rule, ...]:
    if name == "RULES":
        return all_rules()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
