"""What cannot work, what may not, and what is worth knowing? Rules with stable ids over a fleet.

A rule is a question with a severity, the mechanism behind it and the page that says so; each has a page of the site.
`check` asks all of them::

    from gpu_constructs.rules import check

    for finding in check(fleet):
        print(finding.severity, finding.rule, finding.message, finding.fix)

Each room below holds the rules of one subject; `catalogue` finds them. `evidence` holds what several of them look at.
"""

from gpu_constructs.rules.catalogue import Choice as Choice
from gpu_constructs.rules.catalogue import all_rules as all_rules
from gpu_constructs.rules.catalogue import check as check
from gpu_constructs.rules.catalogue import check_alone as check_alone
from gpu_constructs.rules.catalogue import find_rule as find_rule
from gpu_constructs.rules.catalogue import known_id as known_id
from gpu_constructs.rules.catalogue import narrowed as narrowed
from gpu_constructs.rules.catalogue import one_of as one_of
from gpu_constructs.rules.catalogue import rooms as rooms
from gpu_constructs.rules.catalogue import rules_of as rules_of
from gpu_constructs.rules.catalogue import rules_without as rules_without
from gpu_constructs.rules.finding import Finding as Finding
from gpu_constructs.rules.finding import Severity as Severity
from gpu_constructs.rules.rule import Context as Context
from gpu_constructs.rules.rule import Problem as Problem
from gpu_constructs.rules.rule import Rule as Rule
from gpu_constructs.rules.rule import error as error
from gpu_constructs.rules.rule import info as info
from gpu_constructs.rules.rule import warning as warning
