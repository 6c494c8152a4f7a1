"""Tasks that fit none of the hosts here, where hosts of other files may take them."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import Architecture
from gpu_constructs.fleet import NEURON_DEVICE, Fleet, Pool, PoolKind, ResourceRequirement, Scheduler, Task
from gpu_constructs.rules import Severity
from tests.rules.given import (
    FIT_RULES,
    a_pool,
    a_task,
    container,
    found,
    member_of,
    mps,
    on_launch_type,
    only,
    running_on,
    said,
    task_of,
)

SMALL, CPU = a_pool("g5.xlarge", managed_scaling=False), a_pool("m6i.large", name="Cpu", managed_scaling=False)
BATCH = a_pool("g5.xlarge", name="Queue", kind=PoolKind.BATCH)


def test_a_service_that_fits_no_host_of_its_cluster_here_is_a_warning() -> None:
    finding = only(FIT_RULES, on_launch_type(CPU, task=a_task("1")))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU061", Severity.WARNING, "service")
    assert finding.message == (
        "train fits on no host of its cluster here (Cpu: GPUs: 1 asked, m6i.large has 0): it only starts if "
        "hosts of other files join the cluster"
    )
    assert finding.fix == "check the files that define its hosts together with these"


@pytest.mark.parametrize(
    ("task", "pool"),
    [(a_task("8"), SMALL), (a_task("8", scheduler=Scheduler.BATCH), BATCH)],
    ids=["a task", "a job"],
)
def test_a_task_that_nothing_here_runs_is_a_warning(task: Task, pool: Pool) -> None:
    finding = only(FIT_RULES, Fleet(pools=(pool,), tasks=(task,)))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU061", Severity.WARNING, "train")
    assert "GPUs: 8 asked, g5.xlarge has 1" in finding.message
    assert finding.message.endswith("no service here runs it: it needs hosts of other files")


@pytest.mark.parametrize(
    ("task", "word"),
    [
        (a_task("1", constraints=(member_of("attribute:ecs.instance-type == p4d.24xlarge"),)), "p4d.24xlarge"),
        (a_task("1", architecture=Architecture.ARM64), "built for arm64"),
        (task_of(container(mps(90_000))), "shared through MPS"),
    ],
    ids=["a constraint", "an architecture", "a share"],
)
def test_every_reason_is_told_by_it(task: Task, word: str) -> None:
    finding = only(FIT_RULES, on_launch_type(SMALL, task=task))
    assert finding.rule == "GPU061"
    assert word in finding.message


def test_a_strategy_that_names_a_pool_leaves_no_doubt() -> None:
    assert [rule for rule, _, _ in found(running_on(SMALL, task=a_task("8")))] == ["GPU060"]


def test_where_everything_was_read_there_are_no_other_hosts() -> None:
    assert [each[0] for each in found(on_launch_type(CPU, task=a_task("1"), is_whole=True))] == ["GPU060"]
    assert [each[0] for each in found(Fleet(pools=(SMALL,), tasks=(a_task("8"),), is_whole=True))] == ["GPU061"]


NEURON = task_of(container(ResourceRequirement(type=NEURON_DEVICE, value="ALL")))
CONTRADICTION = "attribute:ecs.instance-type == g6.xlarge and attribute:ecs.instance-type == g5.xlarge"


@pytest.mark.parametrize(
    ("task", "pool"),
    [
        (a_task("64"), SMALL),
        (a_task("1", operating_system="WINDOWS_SERVER_2022_CORE"), SMALL),
        (a_task("1", constraints=(member_of(CONTRADICTION),)), SMALL),
        (NEURON, a_pool("inf2.xlarge", managed_scaling=False)),
    ],
    ids=["GPU063", "GPU028", "GPU070", "GPU027"],
)
def test_what_no_host_anywhere_can_run_is_left_to_the_rule_that_says_so(task: Task, pool: Pool) -> None:
    assert "GPU061" not in {each.rule for each in said(FIT_RULES, on_launch_type(pool, task=task))}
