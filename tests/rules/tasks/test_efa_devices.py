"""EFA devices that containers are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN, Fleet, NetworkInterface, Pool, PoolKind, Scheduler, Task
from gpu_constructs.fleet.host import efa_layout
from gpu_constructs.rules import Rule, Severity
from gpu_constructs.rules.tasks.devices import given_devices, sees_efa
from tests.rules.given import GPU_TASK, a_pool, a_task, container, gpu, on_launch_type, only, running_on, said

P4D = efa_layout(instance_type("p4d.24xlarge"))
PLAIN = NetworkInterface()
NOT_KNOWN = NetworkInterface(card=1, type=UNKNOWN)


def given(*indexes: int, path: str = "/dev/infiniband/uverbs") -> Task:
    paths = tuple(f"{path}{index}" for index in indexes)
    return replace(GPU_TASK, containers=tuple(replace(each, devices=paths) for each in GPU_TASK.containers))


@pytest.mark.parametrize(
    ("pool", "task", "words"),
    [
        (
            a_pool("p4d.24xlarge", interfaces=(PLAIN,)),
            given(0),
            "is given /dev/infiniband/uverbs0, and the launch template of Hosts asks for no EFA interface",
        ),
        (a_pool("p4d.24xlarge", interfaces=P4D[:4]), given(*range(4)), "asks for 3 EFA interfaces"),
        # 8 devices of EFA and 2 of NVLink controllers
        (a_pool("p6-b200.48xlarge"), given(10), "uverbs10, and p6-b200.48xlarge has 8 at most"),
        (
            a_pool("g6.xlarge"),
            given(1, path="/dev/nvidia"),
            "/dev/nvidia1, and g6.xlarge has 1 at most, from nvidia0 on",
        ),
    ],
)
def test_a_device_that_no_host_has_is_an_error(pool: Pool, task: Task, words: str) -> None:
    finding = only(given_devices, running_on(pool, task=task))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU132", Severity.ERROR, "chat-service")
    assert words in finding.message


def alone(gpus: str = "8", **changes: Any) -> Task:
    """A task whose container certainly has no device of its host but its GPUs."""
    return a_task(gpus, containers=(replace(container(gpu(gpus)), may_have_other_devices=False, **changes),))


def on_p4d(task: Task, **changes: Any) -> Fleet:
    pool = a_pool("p4d.24xlarge", interfaces=P4D, max_instances=changes.pop("max_instances", 4))
    return running_on(pool, task=task, **{"desired_count": 2, **changes})


@pytest.mark.parametrize("gpus", ["8", "ALL"])
def test_whole_hosts_with_adapters_that_no_container_is_given_are_a_warning(gpus: str) -> None:
    finding = only(sees_efa, on_p4d(alone(gpus)))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU311", Severity.WARNING, "train")
    assert "container main is given no EFA device" in finding.message
    assert finding.fix == (
        "/dev/infiniband/uverbs0 to uverbs3 in LinuxParameters.Devices, or hosts without EFA interfaces"
    )


B200, P5EN = a_pool("p6-b200.48xlarge"), a_pool("p5en.48xlarge", name="Others")


@pytest.mark.parametrize(
    ("rule", "fleet"),
    [
        (given_devices, running_on(a_pool("g6.8xlarge"), task=given(0))),
        (given_devices, running_on(a_pool("p4d.24xlarge", interfaces=(PLAIN, NOT_KNOWN)), task=given(*range(4)))),
        (given_devices, running_on(a_pool("p4d.24xlarge", has_unknown_types=True, interfaces=(PLAIN,)), task=given(0))),
        (given_devices, on_launch_type(a_pool("g6.xlarge"), task=given(0))),
        (given_devices, running_on(a_pool("g6.xlarge"), task=given(0, path="/dev/nvidia"))),
        (given_devices, running_on(a_pool("g6.xlarge", "g6.12xlarge"), task=given(1, path="/dev/nvidia"))),
        # Other devices are those of EFA.
        (given_devices, running_on(a_pool("p6e-gb200.36xlarge"), task=given(0))),
        (given_devices, Fleet(pools=(B200, P5EN), tasks=(given(0),))),
        (sees_efa, on_p4d(alone(devices=("/dev/infiniband/uverbs0",)))),
        (sees_efa, on_p4d(alone("1"))),  # hosts that several tasks share
        (sees_efa, on_p4d(alone(), max_instances=1)),
    ],
)
def test_tasks_that_need_no_adapter_or_may_have_one_are_silent(rule: Rule, fleet: Fleet) -> None:
    assert said(rule, fleet) == []


_WITH_NVLINK, _WITHOUT = a_pool("p6-b200.48xlarge"), a_pool("p5.48xlarge", name="Others")


@pytest.mark.parametrize(
    ("fleet", "count"),
    [
        (running_on(_WITH_NVLINK, task=given(0)), 1),
        (Fleet(pools=(_WITH_NVLINK,), tasks=(given(0),)), 1),
        (Fleet(pools=(_WITH_NVLINK, _WITHOUT), tasks=(given(0),)), 0),  # who runs it may choose the others
    ],
)
def test_a_device_that_may_be_one_of_nvlink_is_a_warning(fleet: Fleet, count: int) -> None:
    assert [each.severity for each in said(given_devices, fleet)] == [Severity.WARNING] * count


def _as_jobs(fleet: Fleet, **changes: Any) -> Fleet:
    """The same hosts and tasks in AWS Batch, where nothing but the job definition says what runs."""
    pools = tuple(replace(each, kind=PoolKind.BATCH, has_provider=False) for each in fleet.pools)
    task = fleet.workloads[0].task
    assert task is not None
    return Fleet(pools=pools, tasks=(replace(task, scheduler=Scheduler.BATCH, **changes),), is_whole=True)


@pytest.mark.parametrize(
    ("rule", "fleet", "is_found"),
    [
        (given_devices, _as_jobs(running_on(a_pool("g6.xlarge"), task=given(0))), True),
        (given_devices, replace(_as_jobs(running_on(a_pool("g6.xlarge"), task=given(0))), is_whole=False), False),
        (given_devices, _as_jobs(running_on(a_pool("p6-b200.48xlarge"), task=given(0))), True),
        (sees_efa, _as_jobs(on_p4d(alone()), nodes=2), True),
    ],
)
def test_jobs_of_batch_are_asked_too(rule: Rule, fleet: Fleet, is_found: bool) -> None:
    assert bool(said(rule, fleet)) is is_found
