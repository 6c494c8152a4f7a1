"""The self-test on the emulator: it runs on the hosts that are asked for, says what is wrong, and stops its tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from ecs_emulator.local import Deployed, Local
from gpu_constructs.account import live_cluster
from gpu_constructs.account import self_test as run_module
from gpu_constructs.account.calls import Clients
from gpu_constructs.account.live.self_test import FAMILY
from gpu_constructs.account.self_test import Request, SelfTestEnd, run_self_test
from gpu_constructs.cli.program import main
from gpu_constructs.errors import GpuConstructsError

from .templates import cluster_template

TWO = "<gpu id='0'><fb_memory_usage><total>22888 MiB</total></fb_memory_usage></gpu>" * 2


class Asked:
    """Clients of the emulator that note each call, and refuse some."""

    def __init__(self, cloud: Local, *refused: str) -> None:
        self.calls: set[str] = set()
        self._cloud, self._refused = cloud, refused

    def __call__(self, service: str, _: str | None) -> Any:
        client = self._cloud.account.client(service)

        def note(model: Any, **_: Any) -> None:
            call = f"{service}:{model.name}"
            self.calls.add(call)
            if call in self._refused:
                raise ClientError({"Error": {"Code": "AccessDeniedException"}}, model.name)

        client.meta.events.unregister(f"before-call.{service}", unique_id="asked")
        client.meta.events.register(f"before-call.{service}", note, unique_id="asked")
        return client


@pytest.fixture
def stack(cloud: Local) -> Iterator[Deployed]:
    """A cluster without hosts, whose self-tests end well."""
    cloud.switch(f"ends/{FAMILY}", "0")
    made = cloud.deploy(cluster_template(max_size=1), "demo")
    yield made
    assert not any(each.family == FAMILY for each in cloud.account.tasks(made.outputs["Cluster"]))
    assert cloud.account.client("ecs").list_task_definitions(familyPrefix=FAMILY)["taskDefinitionArns"] == []
    cloud.account.stop_all(made.outputs["Cluster"])
    logs = cloud.account.client("logs")
    for each in logs.describe_log_groups(logGroupNamePrefix=FAMILY)["logGroups"]:
        logs.delete_log_group(logGroupName=each["logGroupName"])
    cloud.destroy(made)


def run_in(
    cloud: Local, stack: Deployed, *, told: list[str] | None = None, clients: Clients | None = None, **request: Any
) -> SelfTestEnd:
    """A run whose waiting takes no time."""
    time = [0.0]
    told = [] if told is None else told

    def sleep(seconds: float) -> None:
        time[0] += seconds

    return run_self_test(
        clients or Asked(cloud),
        Request(cluster=stack.outputs["Cluster"], **request),
        tell=told.append,
        sleep=sleep,
        clock=lambda: time[0],
    )


def with_host(cloud: Local, stack: Deployed) -> None:
    """Starts a host, which the task that it was started for still holds."""
    assert cloud.run(stack.outputs["Cluster"], stack.outputs["Task"], stack.outputs["Provider"]) == "RUNNING"


def found(end: SelfTestEnd) -> dict[str, bool | None]:
    return {each.name: each.passed for each in end.checks}


def test_a_capacity_provider_starts_a_host(cloud: Local, stack: Deployed) -> None:
    told: list[str] = []
    capacity = (stack.outputs["Provider"],)
    end = run_in(cloud, stack, told=told, capacity=capacity)
    assert end.succeeded
    assert found(end) == {
        "self-test": True,
        "GPUs of the driver": True,
        "devices of CUDA": None,
        "memory of each GPU": True,
    }
    assert all(each.about.endswith("(g6.xlarge)") for each in end.checks)
    assert f"{capacity[0]}: is PROVISIONING" in told
    assert end.left == (
        f"task definition {FAMILY}:1, which is inactive",
        f"log group {FAMILY}, which keeps logs for 7 days",
        "hosts that managed scaling started for it, until it ends them",
    )


def test_a_host_that_is_busy_is_waited_for_and_then_said_to_be_untested(cloud: Local, stack: Deployed) -> None:
    with_host(cloud, stack)
    end = run_in(cloud, stack, minutes=1)
    (check,) = end.checks
    assert (end.succeeded, check.about, check.passed) == (False, "g6.xlarge", None)
    assert check.text == "waits until a host takes it (RESOURCE:GPU on 1); it did not end in 1 minute"
    assert [each.status for each in cloud.account.tasks(stack.outputs["Cluster"])] == ["RUNNING"]


def test_a_host_that_becomes_free_is_tested(cloud: Local, stack: Deployed) -> None:
    with_host(cloud, stack)
    (host,) = cloud.account.hosts(stack.outputs["Cluster"])
    told: list[str] = []

    class Freeing(list[str]):
        def append(self, line: str) -> None:
            told.append(line)
            if "RESOURCE:GPU" in line:
                cloud.account.stop_all(stack.outputs["Cluster"])

    end = run_in(cloud, stack, told=Freeing(), hosts=(host.instance_id,))
    assert end.succeeded
    assert told[0] == f"{host.instance_id} (g6.xlarge): waits until a host takes it (RESOURCE:GPU on 1)"


@pytest.mark.parametrize(
    ("switches", "failed", "text"),
    [
        ({"ends": "1"}, "self-test", "Essential container in task exited; self-test exited 1"),
        ({"ends": "start"}, "self-test", "CannotPullContainerError: pull access denied"),
        ({"logs": "nothing"}, "log of the self-test", "is empty"),
        ({"logs": "\x1b[2J Failed to initialize NVML"}, "log of the self-test", "shows no GPU; its last line is: "),
        ({"logs": "<gpu id=\n" * 300}, "log of the self-test", "shows no GPU; its last line is: <gpu id="),
        ({"logs": TWO}, "GPUs of the driver", "nvidia-smi shows 2 of 1"),
    ],
)
def test_what_fails_is_said(cloud: Local, stack: Deployed, switches: dict[str, str], failed: str, text: str) -> None:
    for name, value in switches.items():
        cloud.switch(f"{name}/{FAMILY}", value)
    end = run_in(cloud, stack, capacity=(stack.outputs["Provider"],))
    assert not end.succeeded
    assert [each.name for each in end.checks if each.passed is False][:1] == [failed]
    assert any(text in each.text for each in end.checks)


def test_an_interruption_stops_the_tasks_and_says_what_is_left(cloud: Local, stack: Deployed) -> None:
    told: list[str] = []

    class Interrupting(list[str]):
        def append(self, line: str) -> None:
            told.append(line)
            if "RUNNING" in line:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in(cloud, stack, told=Interrupting(), capacity=(stack.outputs["Provider"],))
    assert told[-3] == f"task definition {FAMILY}:1, which is inactive"


def test_what_the_credentials_may_not_do_is_said(cloud: Local, stack: Deployed) -> None:
    with pytest.raises(GpuConstructsError, match="may not call ecs:RunTask; fix: .* --policy"):
        run_in(cloud, stack, clients=Asked(cloud, "ecs:RunTask"), capacity=(stack.outputs["Provider"],))
    with pytest.raises(GpuConstructsError, match="may not call ecs:ListContainerInstances"):
        run_in(cloud, stack, clients=Asked(cloud, "ecs:ListContainerInstances"))
    with pytest.raises(
        GpuConstructsError, match=r"GPUs: the credentials may not call ecs:DescribeClusters; fix: .* --po"
    ):
        run_in(cloud, stack, clients=Asked(cloud, "ecs:DescribeClusters"), capacity=(stack.outputs["Provider"],))
    cloud.switch(f"ends/{FAMILY}", "late")
    refused = Asked(cloud, "ecs:StopTask")
    end = run_in(cloud, stack, clients=refused, capacity=(stack.outputs["Provider"],), minutes=3)
    assert "which may still run: the credentials may not call ecs:StopTask" in end.left[0]
    Asked(cloud)("ecs", None)
    for each in cloud.account.tasks(stack.outputs["Cluster"]):
        cloud.account.client("ecs").stop_task(cluster=stack.outputs["Cluster"], task=each.arn)


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({}, "has no host with a whole NVIDIA GPU; fix: --capacity"),
        ({"hosts": ("i-1",)}, "no host of the cluster is 'i-1'"),
        ({"capacity": ("other",)}, "the cluster has no capacity provider 'other'"),
        ({"minutes": 0}, "expects a time above 0, got 0 minutes"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_anything_changes(
    cloud: Local, stack: Deployed, request_: dict[str, Any], problem: str
) -> None:
    with pytest.raises(GpuConstructsError, match=problem):
        run_in(cloud, stack, **request_)
    assert cloud.account.client("logs").describe_log_groups()["logGroups"] == []


def test_the_command_tells_its_steps_and_ends_with_what_is_left(
    cloud: Local, stack: Deployed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_cluster, "clients_of", lambda _: Asked(cloud))
    monkeypatch.setattr(run_module, "_POLL_SECONDS", 0)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["run-self-test", "demo", "--capacity", stack.outputs["Provider"]]) == 0
    said = capsys.readouterr()
    assert f"gpu-constructs: {stack.outputs['Provider']}: is PROVISIONING\n" in said.err
    assert "  ok          GPUs of the driver: i-" in said.out
    assert said.out.endswith("  left behind:   hosts that managed scaling started for it, until it ends them\n")
    assert main(["run-self-test", "demo", "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["left_behind"] == [
        f"task definition {FAMILY}:2, which is inactive",
        f"logs of 1 task in log group {FAMILY}",
    ]
    assert [each["passed"] for each in facts["clusters"][0]["checks"]] == [True, True, None, True]
