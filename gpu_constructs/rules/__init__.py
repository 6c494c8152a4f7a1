"""What cannot work, what may not, and what is worth knowing: rules with stable ids over a fleet.

A rule is a question with a severity, the mechanism behind it and the page that says so; ``docs/rules.md`` is made of
them. `check` asks all of them::

    from gpu_constructs.rules import check

    for finding in check(fleet):
        print(finding.severity, finding.rule, finding.message, finding.fix)

Each module with ``RULES`` holds the rules of one topic; `catalogue` puts them together. What several of them ask is
worked out once: `copies` says how many copies have room, `expressions` what placement expressions mean, `fixes` what
would help, `parts` what a fleet consists of, `wording` how lists are written.
"""

from gpu_constructs.rules.catalogue import RULES, check, find_rule
from gpu_constructs.rules.finding import Finding, Severity
from gpu_constructs.rules.rule import Problem, Rule, rule

__all__ = ["RULES", "Finding", "Problem", "Rule", "Severity", "check", "find_rule", "rule"]
