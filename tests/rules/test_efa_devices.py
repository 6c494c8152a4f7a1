"""EFA devices that containers are given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import Fleet, Pool, Task
from gpu_constructs.rules import Severity
from gpu_constructs.rules.efa_devices import given_efa
from tests.rules.given import GPU_TASK, a_pool, on_launch_type, only, running_on, said


def given(*indexes: int) -> Task:
    paths = tuple(f"/dev/infiniband/uverbs{index}" for index in indexes)
    return replace(GPU_TASK, containers=tuple(replace(each, devices=paths) for each in GPU_TASK.containers))


@pytest.mark.parametrize(
    ("pool", "task", "words"),
    [
        (a_pool("g6.xlarge"), given(0), "is given /dev/infiniband/uverbs0, and g6.xlarge supports no EFA"),
        (a_pool("g6.xlarge", "g5.xlarge"), given(0), "g6.xlarge or g5.xlarge supports no EFA"),
        (a_pool("g6.8xlarge"), given(0, 1), "is given /dev/infiniband/uverbs1, and g6.8xlarge has 1 at most"),
        (a_pool("p4d.24xlarge"), given(*range(8)), "uverbs7, and p4d.24xlarge has 4 at most"),
    ],
)
def test_a_device_that_no_host_has_is_an_error(pool: Pool, task: Task, words: str) -> None:
    finding = only(given_efa, running_on(pool, task=task))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU132", Severity.ERROR, "chat-service")
    assert words in finding.message


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(a_pool("g6.8xlarge"), task=given(0)),
        running_on(a_pool("p4d.24xlarge"), task=given(*range(4))),
        running_on(a_pool("p5.48xlarge"), task=given(*range(32))),
        running_on(a_pool("g6.8xlarge", "g6.xlarge"), task=given(0)),
        running_on(a_pool("g6.xlarge", has_unknown_types=True), task=given(0)),
        running_on(a_pool("g6.xlarge")),
        on_launch_type(a_pool("g6.xlarge"), task=given(0)),
    ],
)
def test_a_host_that_has_it_and_hosts_from_elsewhere_are_silent(fleet: Fleet) -> None:
    assert said(given_efa, fleet) == []
