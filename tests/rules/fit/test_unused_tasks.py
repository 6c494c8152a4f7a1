"""GPU tasks that no service runs, and tasks that nothing can run."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import Architecture, instance_type
from gpu_constructs.fleet import Fleet, Task
from gpu_constructs.rules import Severity
from tests.rules.given import (
    FIT_RULES,
    a_pool,
    a_task,
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
