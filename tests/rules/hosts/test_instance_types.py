"""Types that do not exist, do not go together, or have no GPUs for ECS, and requirements that select none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import accelerated, general
from gpu_constructs.fleet import UNKNOWN, Fleet, InstanceRequirements, Pool, PoolKind, Task, satisfies
from gpu_constructs.rules import Severity, check, rules_of
from gpu_constructs.rules.hosts import instance_types
from gpu_constructs.rules.hosts.instance_types import in_catalogue, nvidia_only, satisfiable
from tests.rules.given import GPU_TASK, a_pool, a_task, asked, container, running_on, said, task_of

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


def test_a_gpu_task_on_hosts_with_other_accelerators_is_never_placed() -> None:
    found = asked(RULES, running_on(a_pool("g4ad.xlarge", "g4ad.2xlarge")))
    assert list(found) == ["GPU054"]
    assert found["GPU054"].message == (
        "chat-service asks for GPUs, and g4ad.xlarge and g4ad.2xlarge carry Radeon Pro V520: ECS hands out NVIDIA "
        "GPUs only"
    )
    assert "types with NVIDIA GPUs, such as g" in found["GPU054"].fix


OF_REQUIREMENTS = (satisfiable, nvidia_only, in_catalogue)


def _chosen_by(**wanted: Any) -> Pool:
    requirements = InstanceRequirements(**wanted)
    return a_pool(
        kind=PoolKind.MANAGED_INSTANCES,
        requirements=requirements,
        instance_types=tuple(each for each in (*accelerated(), *general()) if satisfies(each, requirements)),
        image=UNKNOWN,
        max_instances=UNKNOWN,
    )


def test_allowed_types_that_something_else_keeps_out_are_said() -> None:
    found = asked(OF_REQUIREMENTS, _chosen_by(allowed_instance_types=("m5.xlarge",), instance_generations=("current",)))
    assert list(found) == ["GPU100"]
    assert found["GPU100"].severity is Severity.WARNING
    assert found["GPU100"].fix == "without AllowedInstanceTypes or InstanceGenerations there would be some"


@pytest.mark.parametrize(("task", "rules"), [(task_of(container()), set()), (GPU_TASK, {"GPU101"})])
def test_requirements_of_vcpus_and_memory_are_for_gpus_where_a_task_asks_for_one(task: Task, rules: set[str]) -> None:
    pool = _chosen_by(vcpus=(1, None), memory_mib=(2048, None))
    assert asked(nvidia_only, pool) == {}
    assert set(asked(nvidia_only, running_on(pool, task=task))) == rules


def test_a_pattern_that_matches_nothing_may_be_newer() -> None:
    found = asked(OF_REQUIREMENTS, _chosen_by(allowed_instance_types=("p9.*",), accelerator_count=(1, None)))
    assert list(found) == ["GPU051"]
    assert "'p9.*' does not match any type" in found["GPU051"].message


@given(
    st.tuples(st.none() | st.integers(0, 32), st.none() | st.integers(0, 32)),
    st.lists(st.sampled_from(["t4", "l4", "a100", "inferentia"]), max_size=2),
    st.lists(st.sampled_from(["nvidia", "amd", "amazon-web-services"]), max_size=2),
)
def test_it_is_said_exactly_if_nothing_with_accelerators_satisfies_them(
    count: tuple[int | None, int | None], names: list[str], manufacturers: list[str]
) -> None:
    pool = _chosen_by(
        accelerator_count=count, accelerator_names=tuple(names), accelerator_manufacturers=tuple(manufacturers)
    )
    found = {each.rule for each in check(Fleet(pools=(pool,)), rules=OF_REQUIREMENTS)}
    assert ("GPU100" in found) is (not pool.instance_types)


NONE_YET = InstanceRequirements(accelerator_names=("t4",), accelerator_manufacturers=("amd",))


@pytest.mark.parametrize(
    "what",
    [
        _chosen_by(accelerator_names=("l4",), accelerator_count=(8, 8)),
        _chosen_by(vcpus=(1, 2), memory_mib=(4_000_000, None)),
        _chosen_by(accelerator_types=("gpu",), accelerator_manufacturers=("nvidia",)),
        _chosen_by(accelerator_types=("gpu",), excluded_instance_types=("g4ad.*",)),
        a_pool(requirements=NONE_YET, instance_types=(), has_unknown_types=True),
        running_on(a_pool("g4ad.xlarge", has_unknown_types=True)),
        running_on(a_pool("g6f.large")),  # ECS hands out parts of a GPU
    ],
)
def test_types_that_may_be_right_are_fine(what: Fleet | Pool) -> None:
    assert said(RULES, what) == []
