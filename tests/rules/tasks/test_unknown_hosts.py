"""GPU tasks on types of which nothing is known: a warning, and not checked, because a type may be new."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, Task
from gpu_constructs.rules import Severity, check, find_rule
from tests.rules.given import GPU_TASK, a_pool, asked, running_on

OF_TYPES = (find_rule("GPU051"), find_rule("GPU050"))
RULES = (*OF_TYPES, find_rule("GPU229"))


def undeclared(*names: str, **changes: object) -> Pool:
    return replace(a_pool(), instance_types=(), unknown_type_names=names, **changes)  # type: ignore[arg-type] # fields


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize(
    "fleet",
    [
        running_on(undeclared("g9.xlarge"), task=GPU_TASK),
        Fleet(pools=(undeclared("g9.xlarge"),), tasks=(GPU_TASK,)),
    ],
    ids=["of a service", "started by hand"],
)
def test_a_task_on_a_type_that_may_be_new_is_not_checked(fleet: Fleet, is_whole: bool) -> None:
    found = {each.rule: each for each in check(replace(fleet, is_whole=is_whole), rules=RULES)}
    assert {rule: each.severity for rule, each in found.items()} == {
        "GPU051": Severity.WARNING,
        "GPU229": Severity.INFO,
    }
    assert "what is in a host of the type g9.xlarge" in found["GPU229"].message
    assert "DeclaredInstanceType('g9.xlarge'" in found["GPU051"].fix
    assert "declare the type: instance_types in gpu-constructs.yaml" in found["GPU229"].fix


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
def test_what_is_wrong_with_the_name_is_said_once(pool: Pool, ids: list[str]) -> None:
    assert list(asked(OF_TYPES, running_on(pool, task=GPU_TASK))) == ids


@pytest.mark.parametrize(
    ("image", "task", "missing"),
    [
        ("ami-0123456789abcdef0", GPU_TASK, "ami-0123456789abcdef0"),
        ("{{resolve:ssm:/our/own/image}}", GPU_TASK, "of Hosts"),
        ("ami-0123456789abcdef0", replace(GPU_TASK, containers=()), ""),
    ],
)
def test_what_is_in_an_image_of_ones_own_is_not_known(image: str, task: Task, missing: str) -> None:
    found = asked(RULES, running_on(a_pool(image=UNKNOWN, image_written=image), task=task))
    assert list(found) == ["GPU229"] * bool(missing)
    assert not missing or f"what is in the machine image {missing}" in found["GPU229"].message


def test_the_image_of_managed_instances_is_of_aws() -> None:
    pool = a_pool(image=UNKNOWN, kind=PoolKind.MANAGED_INSTANCES)
    assert "GPU229" not in asked(RULES, running_on(pool, task=GPU_TASK))


def test_a_task_without_gpus_needs_nothing_of_them() -> None:
    plain = replace(GPU_TASK, containers=())
    assert list(asked(OF_TYPES, running_on(undeclared("g9.xlarge"), task=plain))) == ["GPU051"]


def test_a_task_that_a_known_pool_can_take_needs_nothing_of_the_other() -> None:
    fleet = Fleet(pools=(a_pool(), replace(undeclared("g9.xlarge"), name="new")), tasks=(GPU_TASK,), is_whole=True)
    assert [each.rule for each in check(fleet, rules=OF_TYPES)] == ["GPU051"]
