"""Types that do not exist, do not go together, or have nothing that ECS can hand out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import accelerated, general
from gpu_constructs.fleet import UNKNOWN, Fleet, PoolKind
from gpu_constructs.rules import check, rules_of
from gpu_constructs.rules.hosts import images, instance_types
from tests.rules.given import FIT_RULES, GPU_TASK, a_pool, a_task, asked, of_image, running_on

RULES = rules_of(instance_types)


@pytest.mark.parametrize(
    ("name", "words", "fix"),
    [
        ("g5.gigantic", "EC2 has never had a size 'gigantic'", ""),
        ("g4dn.xlrge", "EC2 has never had a size 'xlrge'", "g4dn.xlarge"),
        ("g5.0xlarge", "EC2 has never had a size '0xlarge'", "g5."),
        ("g5", "a family, a dot and a size", "g5."),
        ("G5.xlarge", "in lower case", "g5.xlarge"),
        ("g5.xlarge ", "EC2 has never had a size", "g5.xlarge"),
        ("", "a family, a dot and a size", ""),
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


@pytest.mark.parametrize("name", ["g9.xlarge", "p7-b400.48xlarge", "g5.7xlarge", "g6.metal-64xl"])
def test_a_name_that_something_newer_may_have_is_a_warning(name: str) -> None:
    found = asked(RULES, a_pool(unknown_type_names=(name,)))
    assert list(found) == ["GPU051"]
    assert repr(name) in found["GPU051"].message
    assert "it may be newer, or misspelt" in found["GPU051"].message


def test_a_misspelt_family_is_told_the_nearest_names() -> None:
    assert "g6e.xlarge" in asked(RULES, a_pool(unknown_type_names=("g6w.xlarge",)))["GPU051"].fix


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


@pytest.mark.parametrize(
    ("types", "words"),
    [
        (("g5.xlarge", "g5.12xlarge"), "1 NVIDIA GPU, x86_64: g5.xlarge; 4 NVIDIA GPUs, x86_64: g5.12xlarge"),
        (("g6f.large", "g6f.2xlarge"), "0.125 of an NVIDIA GPU"),
        (("g5.xlarge", "c5.large"), "no accelerator, x86_64: c5.large"),
    ],
)
def test_types_of_several_shapes_never_scale_out_for_the_larger(types: tuple[str, ...], words: str) -> None:
    found = asked(RULES, a_pool(*types, image=UNKNOWN))
    assert list(found) == ["GPU053"]
    assert words in found["GPU053"].message
    assert found["GPU053"].fix == "a capacity provider for each shape"


@pytest.mark.parametrize(
    ("types", "ids"),
    [
        (("c7g.large", "c7i.large"), ["GPU052"]),
        (("g5.xlarge", "g5g.xlarge"), ["GPU052"]),
        (("g5.xlarge", "c5.large"), ["GPU288"]),
    ],
)
def test_a_shape_that_the_image_does_not_drive_is_reported_once(types: tuple[str, ...], ids: list[str]) -> None:
    assert list(asked((*RULES, *rules_of(images)), a_pool(*types))) == ids


@pytest.mark.parametrize(("gpus", "rules"), [("1", []), ("4", ["GPU053"])])
def test_a_task_that_is_known_decides_whether_shapes_matter(gpus: str, rules: list[str]) -> None:
    mixed = a_pool("g5.xlarge", "g5.12xlarge")
    assert list(asked(RULES, Fleet(pools=(mixed,), tasks=(a_task(gpus),)))) == rules
    assert asked(RULES, running_on(mixed, task=a_task("1"))) == {}


@pytest.mark.parametrize(("name", "count"), [("m99.large", 0), ("g99.xlarge", 1), ("trn9.xlarge", 1)])
def test_a_new_type_is_asked_about_where_it_may_have_accelerators(name: str, count: int) -> None:
    assert list(asked(RULES, a_pool(instance_types=(), unknown_type_names=(name,)))) == ["GPU051"] * count


def test_a_new_type_is_asked_about_where_a_gpu_task_may_go() -> None:
    pool = a_pool("g6.xlarge", unknown_type_names=("m99.large",))
    assert list(asked(RULES, running_on(pool, task=a_task("1")))) == ["GPU051"]


def test_a_new_type_says_how_it_is_declared() -> None:
    pool = a_pool(instance_types=(), unknown_type_names=("trn9.48xlarge",), image=of_image("al2023-neuron"))
    fix = asked(RULES, pool)["GPU051"].fix
    assert fix.startswith("trn2.48xlarge, or ")
    assert "DeclaredInstanceType('trn9.48xlarge', vcpus=…, memory_mib=…, neuron_devices=…, neuron_model=…)" in fix


def test_a_name_that_nothing_can_have_is_an_error_whatever_it_is_for() -> None:
    assert list(asked(RULES, a_pool(instance_types=(), unknown_type_names=("m5.gigantic",)))) == ["GPU050"]


@pytest.mark.parametrize(("least", "rule"), [(0, "GPU060"), (1, "GPU069")])
def test_a_task_that_only_a_larger_type_can_run_is_told_instead(least: int, rule: str) -> None:
    fleet = running_on(a_pool("g5.xlarge", "g5.12xlarge", min_instances=least), task=a_task("4"))
    assert list(asked((*RULES, *FIT_RULES), fleet)) == [rule]


@pytest.mark.parametrize(
    "changes",
    [{"managed_scaling": False}, {"has_provider": False}, {"kind": PoolKind.BATCH}],
    ids=str,
)
def test_shapes_do_not_matter_where_no_managed_scaling_compares_them(changes: dict[str, Any]) -> None:
    assert asked(RULES, a_pool("g5.xlarge", "g5.12xlarge", **changes)) == {}


def test_sizes_of_one_shape_and_cpu_sizes_go_together() -> None:
    assert asked(RULES, a_pool("g6.xlarge", "g6.16xlarge", "gr6.4xlarge")) == {}
    assert asked(RULES, a_pool("c7i.large", "m7i.24xlarge", image=of_image("al2023"))) == {}


def test_a_gpu_task_on_hosts_with_other_accelerators_is_never_placed() -> None:
    found = asked(RULES, running_on(a_pool("g4ad.xlarge", "g4ad.2xlarge")))
    assert list(found) == ["GPU054"]
    assert found["GPU054"].message == (
        "chat-service asks for GPUs, and g4ad.xlarge and g4ad.2xlarge carry Radeon Pro V520: ECS hands out NVIDIA "
        "GPUs only"
    )
    assert "types with NVIDIA GPUs, such as g" in found["GPU054"].fix


def test_other_accelerators_may_serve_tasks_that_ask_for_no_gpu() -> None:
    cpu_only = GPU_TASK.__class__(name="cpu")
    assert asked(RULES, running_on(a_pool("g4ad.xlarge"), task=cpu_only)) == {}
    assert asked(RULES, a_pool("g4ad.xlarge")) == {}


def test_nothing_is_said_of_hosts_that_may_be_another_type() -> None:
    assert asked(RULES, running_on(a_pool("g4ad.xlarge", has_unknown_types=True))) == {}


def test_a_part_of_a_gpu_is_one_that_ecs_hands_out() -> None:
    assert asked(RULES, running_on(a_pool("g6f.large"))) == {}
