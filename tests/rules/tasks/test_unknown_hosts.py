"""GPU tasks on types of which nothing is known: an error only where they need them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import Fleet, Pool, PoolKind
from gpu_constructs.rules import Severity, check, find_rule
from tests.rules.given import GPU_TASK, a_pool, asked, running_on

RULES = (find_rule("GPU305"), find_rule("GPU051"), find_rule("GPU050"))


def undeclared(*names: str, **changes: object) -> Pool:
    return replace(a_pool(), instance_types=(), unknown_type_names=names, **changes)  # type: ignore[arg-type] # fields


@pytest.mark.parametrize(
    ("pool", "ids"),
    [
        (undeclared("g9.xlrge"), ["GPU050"]),
        (undeclared("g9.xlarge", has_unknown_types=True), ["GPU051"]),
        (undeclared("g9", kind=PoolKind.BATCH), ["GPU051"]),
        (replace(a_pool(), unknown_type_names=("g9.xlarge",)), ["GPU051"]),
        (a_pool(), []),
    ],
    ids=["no name", "a value of the deploy too", "AWS Batch", "a known type too", "known"],
)
def test_a_near_miss_is_not(pool: Pool, ids: list[str]) -> None:
    assert list(asked(RULES, running_on(pool, task=GPU_TASK))) == ids


def test_a_task_without_gpus_needs_nothing_of_them() -> None:
    plain = replace(GPU_TASK, containers=())
    assert list(asked(RULES, running_on(undeclared("g9.xlarge"), task=plain))) == ["GPU051"]


def test_a_task_that_a_known_pool_can_take_needs_nothing_of_the_other() -> None:
    fleet = Fleet(pools=(a_pool(), replace(undeclared("g9.xlarge"), name="new")), tasks=(GPU_TASK,), is_whole=True)
    assert [each.rule for each in check(fleet, rules=RULES)] == ["GPU051"]


def test_hosts_of_other_files_make_it_a_warning() -> None:
    fleet = Fleet(pools=(undeclared("g9.xlarge"),), tasks=(GPU_TASK,), is_whole=False)
    assert [(each.rule, each.severity) for each in check(fleet, rules=RULES)] == [("GPU305", Severity.WARNING)]
