"""Whatever a template says, it has a plan that can be shown."""

from __future__ import annotations

import json

from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.in_words import over_budget, summary
from gpu_constructs.check.planning.plan_difference import difference
from gpu_constructs.check.planning.updates import Update
from gpu_constructs.check.report import check_files
from gpu_constructs.cli import plan_report
from gpu_constructs.cli.output import unstyled
from gpu_constructs.fleet import Unknown, known
from gpu_constructs.template import UnreadableError
from tests.examples import times
from tests.synthesis import ROOT

FILES = sorted(each for each in (ROOT / "tests" / "acceptance").rglob("*") if each.suffix in {".json", ".yaml", ".yml"})


def fills(lines: list[str]) -> bool:
    """Whether lines stay within 80 columns, as far as words are not longer."""
    return max(map(len, lines), default=0) <= 80 or any(len(word) > 50 for each in lines for word in each.split())


def test_a_template_has_a_plan() -> None:
    looked_at = 0
    for file in FILES[:: max(1, 5 // times(1))]:
        try:
            fleet = check_files([file], rules=()).fleet
        except UnreadableError:
            continue
        found = plan(fleet)
        json.dumps(plan_report.facts_of(found))
        for lines in (
            plan_report.lines(found, width=80),
            plan_report.difference_lines(difference(plan(fleet), found), Update(), [found], width=80),
            plan_report.budget_lines(1, over_budget(found, 1), width=80),
        ):
            shown = list(map(unstyled, lines))
            assert fills(shown), file
        assert difference(found, found).is_empty
        assert all(each.isprintable() for each in summary(found)), file
        for each in found.pools:
            assert isinstance(each.desired.hosts, Unknown) or known(each.minimum.hosts) <= each.desired.hosts, file
        looked_at += 1
    assert looked_at > len(FILES) // 10
