"""EFA devices that containers are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, NetworkInterface, Pool, Scheduler, Task
from gpu_constructs.fleet.efa import efa_layout
from gpu_constructs.hardware import instance_type
from gpu_constructs.rules import Severity
from gpu_constructs.rules.tasks.devices import given_efa, reachable
from tests.rules.given import GPU_TASK, a_pool, on_launch_type, only, running_on, said

P4D = efa_layout(instance_type("p4d.24xlarge"))
PLAIN = NetworkInterface()
NOT_KNOWN = NetworkInterface(card=1, type=UNKNOWN)


def given(*indexes: int) -> Task:
    paths = tuple(f"/dev/infiniband/uverbs{index}" for index in indexes)
    return replace(GPU_TASK, containers=tuple(replace(each, devices=paths) for each in GPU_TASK.containers))


@pytest.mark.parametrize(
    ("pool", "task", "words"),
    [
        (a_pool("g6.xlarge"), given(0), "is given /dev/infiniband/uverbs0, and g6.xlarge does not support EFA"),
        (a_pool("g6.xlarge", "g5.xlarge"), given(0), "g6.xlarge or g5.xlarge does not support EFA"),
        (a_pool("g6.8xlarge"), given(0, 1), "is given /dev/infiniband/uverbs1, and g6.8xlarge has 1 at most"),
        (a_pool("p4d.24xlarge"), given(*range(8)), "uverbs7, and p4d.24xlarge has 4 at most"),
        (
            a_pool("p4d.24xlarge", interfaces=P4D),
            given(*range(8)),
            "uverbs7, and p4d.24xlarge has 4 at most, from uverbs0 on",
        ),
        (
            a_pool("p4d.24xlarge", interfaces=(PLAIN,)),
            given(0),
            "is given /dev/infiniband/uverbs0, and the launch template of Hosts asks for no EFA interface",
        ),
        (
            a_pool("p4d.24xlarge", interfaces=P4D[:2]),
            given(0, 1),
            "uverbs1, and the launch template of Hosts asks for 1 EFA interface",
        ),
        (a_pool("p4d.24xlarge", interfaces=P4D[:4]), given(*range(4)), "asks for 3 EFA interfaces"),
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
        running_on(a_pool("p4d.24xlarge", interfaces=P4D), task=given(*range(4))),
        running_on(a_pool("p4d.24xlarge", interfaces=P4D[:2]), task=given(0)),
        running_on(a_pool("p4d.24xlarge", interfaces=(PLAIN, NOT_KNOWN)), task=given(*range(4))),
        running_on(a_pool("p4d.24xlarge", has_unknown_types=True, interfaces=(PLAIN,)), task=given(0)),
        running_on(a_pool("g6.8xlarge", "g6.xlarge"), task=given(0)),
        running_on(a_pool("g6.xlarge", has_unknown_types=True), task=given(0)),
        running_on(a_pool("g6.xlarge")),
        on_launch_type(a_pool("g6.xlarge"), task=given(0)),
    ],
)
def test_a_host_that_has_it_and_hosts_from_elsewhere_are_silent(fleet: Fleet) -> None:
    assert said(given_efa, fleet) == []


def in_mode(task: Task, mode: Any, **changes: Any) -> Fleet:
    pool = a_pool("p4d.24xlarge", interfaces=P4D)
    return running_on(pool, task=replace(task, network_mode=mode, **changes))


@pytest.mark.parametrize("mode", ["bridge", "none"])
def test_ranks_that_no_other_host_can_reach_are_a_warning(mode: str) -> None:
    finding = only(reachable, in_mode(given(*range(4)), mode))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU150", Severity.WARNING, "chat")
    assert f"in network mode {mode}" in finding.message
    assert finding.fix == "network mode host, or awsvpc"


@pytest.mark.parametrize(
    "fleet",
    [
        in_mode(given(*range(4)), "host"),
        in_mode(given(*range(4)), "awsvpc"),
        in_mode(given(*range(4)), UNKNOWN),
        in_mode(given(), "bridge"),
        in_mode(given(0), "bridge", scheduler=Scheduler.BATCH),
    ],
)
def test_ranks_with_an_address_and_tasks_without_efa_are_silent(fleet: Fleet) -> None:
    assert said(reachable, fleet) == []
