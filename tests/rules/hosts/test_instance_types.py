"""Types that do not exist, do not go together, or have nothing that ECS can hand out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import accelerated, general
from gpu_constructs.fleet import Fleet, PoolKind
from gpu_constructs.rules import check, rules_of
from gpu_constructs.rules.hosts import instance_types
from tests.rules.given import a_pool, a_task, asked, running_on

RULES = rules_of(instance_types)


@pytest.mark.parametrize(
    ("name", "words", "fix"),
    [
        ("g5", "a family, a dot and a size", "g5."),
        ("G5.xlarge", "in lower case", "g5.xlarge"),
        ("ml.g5.xlarge", "a family, a dot and a size", "g5.xlarge"),
        ("g" * 100_000, "a family, a dot and a size", ""),
    ],
)
def test_a_name_that_nothing_can_have_is_an_error(name: str, words: str, fix: str) -> None:
    found = asked(RULES, a_pool(unknown_type_names=(name,)))
    assert list(found) == ["GPU050"]
    assert "cannot be an instance type" in found["GPU050"].message
    assert words in found["GPU050"].message
    assert fix in found["GPU050"].fix
    assert len(found["GPU050"].message) < 300


@pytest.mark.parametrize("name", ["p7-b400.48xlarge", "g5.7xlarge"])
def test_a_name_that_something_newer_may_have_is_a_warning(name: str) -> None:
    found = asked(RULES, a_pool(unknown_type_names=(name,)))
    assert list(found) == ["GPU051"]
    assert repr(name) in found["GPU051"].message
    assert "it may be newer, or misspelt" in found["GPU051"].message


def test_a_family_that_may_be_new_is_declared_and_a_misspelt_one_is_told_the_nearest_name() -> None:
    fix = asked(RULES, a_pool(unknown_type_names=("g6w.xlarge",)))["GPU051"].fix
    assert fix.startswith("if it is newer, declare_instance_types(DeclaredInstanceType('g6w.xlarge', ")
    assert fix.endswith("; if it is misspelt, g6.xlarge")


def test_every_type_of_the_catalogue_has_a_name_that_a_type_can_have() -> None:
    names = tuple(each.name for each in (*accelerated(), *general()))
    found = check(Fleet(pools=(a_pool(unknown_type_names=(*names, "mac-m4.metal", "m9g.metal-24xl")),)), rules=RULES)
    assert [each for each in found if each.rule == "GPU050"] == []


@pytest.mark.parametrize(("name", "ids"), [("optimal", []), ("g9", ["GPU051"]), ("best!", ["GPU050"])])
def test_batch_takes_families_and_its_own_words_too(name: str, ids: list[str]) -> None:
    assert list(asked(RULES, a_pool(unknown_type_names=(name,), kind=PoolKind.BATCH))) == ids


@given(st.text())
def test_any_text_is_judged_without_failing(name: str) -> None:
    (finding,) = check(Fleet(pools=(a_pool(unknown_type_names=(name,)),)), rules=RULES)
    assert finding.rule in {"GPU050", "GPU051"}


@pytest.mark.parametrize(("gpus", "rules"), [("1", []), ("4", ["GPU053"])])
def test_a_task_that_is_known_decides_whether_shapes_matter(gpus: str, rules: list[str]) -> None:
    mixed = a_pool("g5.xlarge", "g5.12xlarge")
    assert list(asked(RULES, Fleet(pools=(mixed,), tasks=(a_task(gpus),)))) == rules
    assert asked(RULES, running_on(mixed, task=a_task("1"))) == {}


def test_a_new_type_is_asked_about_where_a_gpu_task_may_go() -> None:
    pool = a_pool("g6.xlarge", unknown_type_names=("m99.large",))
    assert list(asked(RULES, running_on(pool, task=a_task("1")))) == ["GPU051"]


def test_a_gpu_task_on_hosts_with_other_accelerators_is_never_placed() -> None:
    found = asked(RULES, running_on(a_pool("g4ad.xlarge", "g4ad.2xlarge")))
    assert list(found) == ["GPU054"]
    assert found["GPU054"].message == (
        "chat-service asks for GPUs, and g4ad.xlarge and g4ad.2xlarge carry Radeon Pro V520: ECS hands out NVIDIA "
        "GPUs only"
    )
    assert "types with NVIDIA GPUs, such as g" in found["GPU054"].fix


def test_nothing_is_said_of_hosts_that_may_be_another_type() -> None:
    assert asked(RULES, running_on(a_pool("g4ad.xlarge", has_unknown_types=True))) == {}


def test_a_part_of_a_gpu_is_one_that_ecs_hands_out() -> None:
    assert asked(RULES, running_on(a_pool("g6f.large"))) == {}
