"""What cannot work, what may not, and what is worth knowing: rules with stable ids over a fleet.

A rule is a question with a severity, the mechanism behind it and the page that says so; ``docs/rules.md`` is made of
them. `check` asks all of them::

    from gpu_constructs.rules import check

    for finding in check(fleet):
        print(finding.severity, finding.rule, finding.message, finding.fix)

Each module holds the rules of one topic and lists them in its ``RULES``; `catalogue` puts them together.
"""

from gpu_constructs.rules.catalogue import RULES, check, find_rule
from gpu_constructs.rules.finding import Finding, Severity
from gpu_constructs.rules.rule import Problem, Rule, rule

__all__ = ["RULES", "Finding", "Problem", "Rule", "Severity", "check", "find_rule", "rule"]
