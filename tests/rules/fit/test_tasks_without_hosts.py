"""GPU tasks that no service runs, that nothing can run, or that are on types of which nothing is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.facts import Architecture, instance_type
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, Task
from gpu_constructs.rules import Severity, check, find_rule
from tests.rules.given import (
    FIT_RULES,
    GPU_TASK,
    a_pool,
    a_task,
    asked,
    found,
    only,
    running_on,
    unpriced,
)

GPU, CPU = a_pool("g6.xlarge"), a_pool("c7i.large", name="Cpu")


@pytest.mark.parametrize(
    "fleet",
    [
        Fleet(pools=(GPU, CPU), tasks=(a_task("1"),)),
        Fleet(pools=(GPU, a_pool(name="Vague", has_unknown_types=True)), tasks=(a_task("4"),)),
        Fleet(pools=(GPU, a_pool("g5.xlarge", "g5.12xlarge", name="Mixed")), tasks=(a_task("4"),)),
    ],
)
def test_a_task_that_fits_somewhere_or_may_has_no_finding(fleet: Fleet) -> None:
    assert found(fleet) == []


def test_a_task_that_no_gpu_host_takes_is_an_error() -> None:
    finding = only(FIT_RULES, Fleet(pools=(GPU, CPU), tasks=(a_task("4"),), is_whole=True))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU061", Severity.ERROR, "train")
    assert finding.message == "train fits on none of the GPU hosts here (Hosts: GPUs: 4 asked, g6.xlarge has 1)"
    assert unpriced(finding.fix) == "hosts of a type such as g6.12xlarge, or GPUs no higher than 1"


def test_hosts_that_are_named_have_gpus_and_the_processor_of_most_images() -> None:
    assert only(FIT_RULES, Fleet(pools=(CPU,), tasks=(a_task("0"),))).fix == "hosts with GPUs"
    for task in (a_task("1"), a_task("0.25"), a_task("1", memory_limit_mib=6000)):
        fix = unpriced(only(FIT_RULES, Fleet(pools=(CPU,), tasks=(task,))).fix)
        fix = fix.partition(" and image ")[0]
        assert instance_type(fix.rpartition(" ")[2]).architecture is Architecture.X86_64


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (a_task("32"), "on one host it asks for 32 GPUs; the largest type on offer, p6-b300.48xlarge, has 8 GPUs"),
        (a_task("8", memory_limit_mib=5_000_000), "on one host it asks for 8 GPUs and 5000000 MiB of memory;"),
        (a_task("5", architecture=Architecture.ARM64), "on one host it asks for 5 GPUs, built for arm64;"),
        (a_task("0.75"), "instance types have these parts of a GPU: 0.125, 0.25 and 0.5"),
    ],
)
@pytest.mark.parametrize("with_pool", [False, True])
def test_a_task_that_no_type_can_run_is_one_error(task: Task, words: str, with_pool: bool) -> None:
    finding = only(FIT_RULES, running_on(GPU, task=task) if with_pool else Fleet(tasks=(task,)))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU063", Severity.ERROR, "train")
    assert words in finding.message
    assert "several smaller tasks" in finding.fix


def test_hosts_without_gpus_are_a_warning_where_there_may_be_others() -> None:
    assert only(FIT_RULES, Fleet(pools=(CPU,), tasks=(a_task("4"),))).severity is Severity.WARNING


OF_TYPES = (find_rule("GPU051"), find_rule("GPU050"))
OF_UNKNOWN = (*OF_TYPES, find_rule("GPU229"))


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
    found = {each.rule: each for each in check(replace(fleet, is_whole=is_whole), rules=OF_UNKNOWN)}
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
        (undeclared("m99.large"), ["GPU051"]),
        (replace(a_pool(), unknown_type_names=("g9.xlarge",)), ["GPU051"]),
        (a_pool(), []),
    ],
    ids=["no name", "a value of the deploy too", "AWS Batch", "no accelerators", "a known type too", "known"],
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
    found = asked(OF_UNKNOWN, running_on(a_pool(image=UNKNOWN, image_written=image), task=task))
    assert list(found) == ["GPU229"] * bool(missing)
    assert not missing or f"what is in the machine image {missing}" in found["GPU229"].message


def test_the_image_of_managed_instances_is_of_aws_and_that_of_batch_by_its_type() -> None:
    pool = a_pool(image=UNKNOWN, kind=PoolKind.MANAGED_INSTANCES)
    assert "GPU229" not in asked(OF_UNKNOWN, running_on(pool, task=GPU_TASK))
    found = asked(OF_UNKNOWN, running_on(replace(pool, kind=PoolKind.BATCH), task=GPU_TASK))
    assert "ImageType of AWS Batch: ECS_AL2023_NVIDIA" in found["GPU229"].fix


def test_a_task_without_gpus_needs_nothing_of_them() -> None:
    plain = replace(GPU_TASK, containers=())
    assert list(asked(OF_TYPES, running_on(undeclared("g9.xlarge"), task=plain))) == ["GPU051"]


def test_a_task_that_a_known_pool_can_take_needs_nothing_of_the_other() -> None:
    fleet = Fleet(pools=(a_pool(), replace(undeclared("g9.xlarge"), name="new")), tasks=(GPU_TASK,), is_whole=True)
    assert [each.rule for each in check(fleet, rules=OF_TYPES)] == ["GPU051"]
