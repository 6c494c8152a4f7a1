"""Tasks that fit none of the hosts here, where hosts of other files may take them."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import NEURON_DEVICE, Fleet, Pool, ResourceRequirement, Task
from tests.rules.given import (
    FIT_RULES,
    a_pool,
    a_task,
    container,
    found,
    member_of,
    on_launch_type,
    said,
    task_of,
)

SMALL, CPU = a_pool("g5.xlarge", managed_scaling=False), a_pool("m6i.large", name="Cpu", managed_scaling=False)


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
