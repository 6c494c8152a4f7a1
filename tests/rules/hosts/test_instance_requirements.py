"""Requirements that select nothing, too much, or are not in the API."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import accelerated, general
from gpu_constructs.fleet import UNKNOWN, Fleet, InstanceRequirements, Pool, PoolKind, Task, satisfies
from gpu_constructs.rules import Severity, check
from gpu_constructs.rules.hosts.instance_types import in_catalogue, nvidia_only, satisfiable
from tests.rules.given import GPU_TASK, a_pool, asked, container, running_on, task_of

RULES = (satisfiable, nvidia_only, in_catalogue)


def _chosen_by(**wanted: Any) -> Pool:
    requirements = InstanceRequirements(**wanted)
    return a_pool(
        kind=PoolKind.MANAGED_INSTANCES,
        requirements=requirements,
        instance_types=tuple(each for each in (*accelerated(), *general()) if satisfies(each, requirements)),
        image=UNKNOWN,
        max_instances=UNKNOWN,
    )


@pytest.mark.parametrize(
    "wanted",
    [{"accelerator_names": ("l4",), "accelerator_count": (8, 8)}, {"vcpus": (1, 2), "memory_mib": (4_000_000, None)}],
)
def test_requirements_that_some_type_satisfies_or_a_cpu_host_may_are_fine(wanted: dict[str, Any]) -> None:
    assert asked(RULES, _chosen_by(**wanted)) == {}


def test_allowed_types_that_something_else_keeps_out_are_said() -> None:
    found = asked(RULES, _chosen_by(allowed_instance_types=("m5.xlarge",), instance_generations=("current",)))
    assert list(found) == ["GPU100"]
    assert found["GPU100"].severity is Severity.WARNING
    assert found["GPU100"].fix == "without AllowedInstanceTypes or InstanceGenerations there would be some"


def test_types_of_the_deploy_may_satisfy_them() -> None:
    requirements = InstanceRequirements(accelerator_names=("t4",), accelerator_manufacturers=("amd",))
    pool = a_pool(requirements=requirements, instance_types=(), has_unknown_types=True)
    assert asked(RULES, pool) == {}


@pytest.mark.parametrize(("task", "rules"), [(task_of(container()), set()), (GPU_TASK, {"GPU101"})])
def test_requirements_of_vcpus_and_memory_are_for_gpus_where_a_task_asks_for_one(task: Task, rules: set[str]) -> None:
    pool = _chosen_by(vcpus=(1, None), memory_mib=(2048, None))
    assert asked(nvidia_only, pool) == {}
    assert set(asked(nvidia_only, running_on(pool, task=task))) == rules


@pytest.mark.parametrize(
    "wanted",
    [
        {"accelerator_types": ("gpu",), "accelerator_manufacturers": ("nvidia",)},
        {"accelerator_types": ("gpu",), "excluded_instance_types": ("g4ad.*",)},
    ],
)
def test_requirements_that_only_nvidia_or_no_gpu_satisfies_are_fine(wanted: dict[str, Any]) -> None:
    assert asked(RULES, _chosen_by(**wanted)) == {}


def test_a_pattern_that_matches_nothing_may_be_newer() -> None:
    found = asked(RULES, _chosen_by(allowed_instance_types=("p9.*",), accelerator_count=(1, None)))
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
    found = {each.rule for each in check(Fleet(pools=(pool,)), rules=RULES)}
    assert ("GPU100" in found) is (not pool.instance_types)
