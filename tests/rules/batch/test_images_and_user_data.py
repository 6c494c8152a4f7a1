"""What AWS Batch refuses though ECS takes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, HostImage, LaunchDetails, Pool, PoolKind, UserData, UserDataFormat
from gpu_constructs.rules import rules_of
from gpu_constructs.rules.batch import jobs_and_environments
from gpu_constructs.rules.hosts import images
from tests.rules.given import a_pool, asked, of_image

RULES = rules_of(jobs_and_environments)


def _environment(*types: str, image: str = "al2023-gpu", release: str | None = None, form: object = None) -> Pool:
    user_data = UserData(format=form or UserDataFormat.NONE)  # type: ignore[arg-type]
    return a_pool(*types, kind=PoolKind.BATCH, image=of_image(image, release=release), user_data=user_data)


@pytest.mark.parametrize(("image", "fix"), [("al2-gpu", "ECS_AL2023_NVIDIA"), ("al2", "ECS_AL2023")])
def test_a_new_environment_on_amazon_linux_2_is_refused(image: str, fix: str) -> None:
    found = asked(RULES, _environment("g5.xlarge", image=image))
    assert list(found) == ["GPU105"]
    assert f"refuses new compute environments on {image} since 2026-06-30" in found["GPU105"].message
    assert found["GPU105"].fix == f"imageType {fix}"


def test_an_image_of_ones_own_is_not_refused() -> None:
    assert asked(RULES, _environment("g5.xlarge", image="al2-gpu", release="custom")) == {}
    assert asked(RULES, a_pool("g5.xlarge", kind=PoolKind.BATCH, image=UNKNOWN)) == {}
    named = replace(_environment("g5.xlarge", image="al2-gpu"), details=LaunchDetails(names_image=True))
    assert asked(RULES, named) == {}
    assert asked(rules_of(images), named)["GPU003"].fix.startswith("image al2023-gpu")


def test_a_newer_type_has_as_many_gpus_and_the_network_of_the_old_one() -> None:
    efa = asked(RULES, _environment("p3dn.24xlarge"))["GPU106"]
    assert efa.fix.startswith("a newer type, such as p4d.24xlarge")


@pytest.mark.parametrize("name", ["p3.2xlarge", "g3.4xlarge"])
def test_old_types_are_not_on_the_list_of_the_gpu_image(name: str) -> None:
    found = asked(RULES, _environment(name, "g5.xlarge"))
    assert list(found) == ["GPU106"]
    assert f"does not support {name} on ECS_AL2023_NVIDIA" in found["GPU106"].message
    assert asked(RULES, _environment("g5.xlarge", "g4dn.xlarge")) == {}
    pinned = replace(_environment(name), details=LaunchDetails(names_image=True))
    assert list(asked(RULES, pinned)) == ["GPU106"]
    assert asked(RULES, _environment(name, release="custom")) == {}


@pytest.mark.parametrize("form", [UserDataFormat.SHELL, UserDataFormat.CLOUD_CONFIG])
def test_user_data_that_batch_cannot_merge_is_refused(form: UserDataFormat) -> None:
    found = asked(RULES, _environment(form=form))
    assert list(found) == ["GPU107"]
    assert f"is a {form.value}, and AWS Batch takes a MIME multi-part archive only" in found["GPU107"].message


@pytest.mark.parametrize("form", [UserDataFormat.MIME, UserDataFormat.NONE, UserDataFormat.OTHER, UNKNOWN])
def test_user_data_that_batch_merges_or_nobody_knows_is_fine(form: object) -> None:
    assert asked(RULES, _environment(form=form)) == {}


def test_ecs_itself_takes_all_of_that() -> None:
    shell = UserData(format=UserDataFormat.SHELL)
    old: HostImage = of_image("al2-gpu")
    assert asked(RULES, a_pool("p3.2xlarge", user_data=shell)) == {}
    assert asked(RULES, a_pool("g5.xlarge", image=old, user_data=shell)) == {}
