"""The lines at synth, and a plan of whatever a template says."""

from __future__ import annotations

import json

from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.in_words import over_budget, summary
from gpu_constructs.check.planning.plan_difference import difference
from gpu_constructs.check.planning.updates import Update
from gpu_constructs.check.report import check_files
from gpu_constructs.cli import plan as command
from gpu_constructs.cli.output import unstyled
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, Unknown, known
from gpu_constructs.template import UnreadableError
from tests.check.planning.given import planned, pool, service
from tests.examples import times
from tests.synthesis import ROOT

WHY = (
    "ECS chooses the hosts, one g6.12xlarge from $4.60 an hour (on-demand list price, us-east-1, 2026-07-20) without "
    "the management fee of AWS, which no price list here has"
)
MANAGED = pool(name="Managed", kind=PoolKind.MANAGED_INSTANCES, max_instances=UNKNOWN)


def lines(*pools: Pool) -> tuple[str, ...]:
    return summary(planned(service(pool(), copies=9), pools=pools))


def test_each_line_says_one_thing() -> None:
    assert lines() == (
        "hosts 3, GPUs 12, an hour $13.80 at the desired counts",
        "hosts 10, GPUs 40, an hour $46.02 at MaxSize",
        "quotas, in vCPUs: L-DB2E81BA (on-demand G/VT) 480",
    )


def test_what_is_not_known_hides_nothing_that_is() -> None:
    assert lines(MANAGED)[1:] == (
        "hosts 10 and more, GPUs 40 and more, an hour $46.02 and more at MaxSize",
        f"not counted: Managed ({WHY})",
        "quotas, in vCPUs: L-DB2E81BA (on-demand G/VT) 480 and more",
    )


def test_a_service_that_fits_nowhere_is_said() -> None:
    found = summary(planned(service(pool(), gpus=9, name="large")))
    assert found[0] == "hosts not known, GPUs not known, an hour not known at the desired counts"
    assert "not counted: L4 (large does not fit on its hosts)" in found


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
        json.dumps(command.facts_of(found))
        for lines in (
            command.lines(found, width=80),
            command.difference_lines(difference(plan(fleet), found), Update(), [found], width=80),
            command.budget_lines(1, over_budget(found, 1), width=80),
        ):
            assert fills(list(map(unstyled, lines))), file
        assert difference(found, found).is_empty
        assert all(each.isprintable() for each in summary(found)), file
        for each in found.pools:
            assert isinstance(each.desired.hosts, Unknown) or known(each.minimum.hosts) <= each.desired.hosts, file
        looked_at += 1
    assert looked_at > len(FILES) // 10
