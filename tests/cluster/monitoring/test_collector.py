"""The daemon's program: what it prints and sends, minute after minute, and that nothing ends it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cluster.monitoring.daemon_task import program
from tests.cluster.monitoring.daemon_host import ALL, CLUSTER, GPU, INSTANCE, POOL, TASK, Ecs, Host, task
from tests.cluster.monitoring.emf import OF_ONE_GPU, SERVICE, SETS, Values, values_in
from tests.cluster.monitoring.test_readings import recorded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def metrics(lines: list[str]) -> Values:
    found: Values = {}
    for line in lines:
        if "_aws" in line:
            values = values_in(line)
            assert not values.keys() & found.keys()
            found |= values
    return found


def test_a_minute_of_a_host_with_a_service_and_a_job(folder: Path) -> None:
    host = Host(folder, Ecs(task(1, "service:chat", GPU.format(1)), task(2, "family:train", GPU.format(2)), gpus="4"))
    host.shows_gpus(4)
    daemon, said = host.daemon()
    daemon.minute(1_700_000_059)
    assert {json.loads(line)["_aws"]["Timestamp"] for line in said} == {1_700_000_040_000}
    of_host = {
        "GPUs": 4,
        "GPUsReserved": 2,
        "MissingGPUs": 0,
        "UnhealthyGPUs": 0,
        "FatalXids": 0,
        "ApplicationXids": 0,
        "UncorrectedEccErrors": 0,
    }
    lines = [json.loads(line) for line in said]
    assert {name: lines[-1][name] for name in of_host} == of_host
    assert [each["GpuIndex"] for each in lines[:-1]] == ["0", "1", "2", "3"]
    assert lines[0]["Tasks"] == [TASK.format(1)]
    assert values_in(said[0])["GPUTemperature", (ALL, ("ServiceName", "chat"))] == 40
    assert {dimensions for _, dimensions in values_in(said[1])} == {(ALL,), (ALL, POOL)}
    assert "GPUs" in lines[-1]


def test_every_metric_of_the_table_is_printed_under_its_dimensions_and_no_other(folder: Path) -> None:
    host = Host(folder, Ecs(task(1, "service:chat", GPU.format(1))), per_gpu=True)
    daemon, said = host.daemon()
    daemon.minute(60)
    printed: dict[str, set[tuple[str, ...]]] = {}
    for name, dimensions in metrics(said):
        printed.setdefault(name, set()).add(tuple(each for each, _ in dimensions))
    assert printed == {name: {*sets, *([OF_ONE_GPU] if SERVICE in sets else [])} for name, sets in SETS.items()}


def test_a_gpu_that_services_share_counts_for_each_of_them_once(folder: Path) -> None:
    gpu = GPU.format(1)
    ecs = Ecs(task(1, "service:a", gpu), task(2, "service:a", gpu), task(3, "service:b", gpu))
    daemon, said = Host(folder, ecs).daemon()
    daemon.minute(60)
    services = [
        dict(dimensions)["ServiceName"]
        for name, dimensions in metrics(said)
        if len(dimensions) == 2 and dimensions[1][0] == "ServiceName" and name == "GPUUtilization"
    ]
    assert services == ["a", "b"]
    assert metrics(said)["GPUsReserved", (ALL,)] == 1


def test_calls_follow_starts_of_tasks(folder: Path) -> None:
    ecs = Ecs(*(task(each, "service:chat", GPU.format(1)) for each in range(150)))
    daemon, _ = Host(folder, ecs).daemon()
    for minute in range(3):
        daemon.minute(60 * minute)
    assert [name for name, _ in ecs.calls] == ["DescribeContainerInstances", "DescribeTasks", "DescribeTasks"]
    ecs.tasks[TASK.format(999)] = task(999, "service:more")
    daemon.minute(300)
    assert ecs.calls[3:] == [("DescribeTasks", {"cluster": "gpus", "tasks": [TASK.format(999)]})]


FAULT = {
    "clusterArn": CLUSTER,
    "containerInstanceArn": INSTANCE,
    "ec2InstanceId": "i-0123456789abcdef0",
    "capacityProviderName": "L4",
}


def details(ecs: Ecs) -> list[dict[str, Any]]:
    assert all((each["Source"], each["DetailType"]) == ("gpu-constructs", "GPU Fault") for each in ecs.events)
    return [json.loads(each["Detail"]) for each in ecs.events]


def test_a_fatal_xid_is_reported_once_and_others_are_counted(folder: Path) -> None:
    ecs = Ecs()
    host = Host(folder, ecs)
    daemon, said = host.daemon()
    daemon.minute(60)
    host.logs(
        *recorded("kernel.log").decode().splitlines(), "NVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus"
    )
    daemon.minute(120)
    counts = metrics(said[-2:])
    assert (counts["FatalXids", (ALL,)], counts["ApplicationXids", (ALL,)], counts["UnhealthyGPUs", (ALL,)]) == (
        3,
        3,
        3,
    )
    of_own = {**FAULT, "gpuIndex": 0, "gpuUuid": GPU.format(1), "xid": 79, "reason": "Xid 79 on PCI 0:00:1e"}
    assert of_own in details(ecs)
    assert [each["xid"] for each in details(ecs)] == [109, 79, 79]
    daemon.minute(180)
    host.logs("NVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus")
    daemon.minute(240)
    assert len(ecs.events) == 3
    assert metrics(said[-2:])["UnhealthyGPUs", (ALL,)] == 3


def test_a_fatal_xid_is_reported_though_the_driver_answers_no_more(folder: Path) -> None:
    ecs = Ecs()
    host = Host(folder, ecs)
    daemon, said = host.daemon()
    daemon.minute(60)
    host.shows(b"Unable to determine the device handle for GPU0: 0000:00:1E.0: GPU is lost.", ends_with=15)
    host.logs("NVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus")
    daemon.minute(120)
    assert [each["xid"] for each in details(ecs)] == [79]
    assert metrics(said[-1:])["FatalXids", (ALL,)] == 1
    assert any("nvidia-smi ended with 15: Unable to determine" in each for each in said)


@pytest.mark.parametrize("nothing", [False, True])
def test_a_gpu_that_is_missing_is_reported_after_two_minutes(folder: Path, nothing: bool) -> None:
    ecs = Ecs(gpus="2")
    host = Host(folder, ecs)
    if nothing:
        host.shows(b"No devices were found\n", ends_with=6)
    daemon, said = host.daemon()
    daemon.minute(60)
    seen = 0 if nothing else 1
    assert metrics(said)["MissingGPUs", (ALL,)] == 2 - seen
    assert ecs.events == []
    daemon.minute(120)
    daemon.minute(180)
    assert [(each["xid"], each["reason"]) for each in details(ecs)] == [(None, f"the driver shows {seen} of 2 GPUs")]


def test_a_fault_waits_until_it_can_be_sent(folder: Path) -> None:
    ecs = Ecs()
    host = Host(folder, ecs)
    daemon, said = host.daemon()
    daemon.minute(60)
    ecs.is_down = True
    host.logs("NVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus")
    daemon.minute(120)
    daemon.minute(180)
    assert len([each for each in said if "the endpoint does not answer" in each]) == 1
    ecs.is_down = False
    daemon.minute(240)
    assert len(ecs.events) == 1


def test_without_privileges_it_reads_what_the_agent_shares(folder: Path) -> None:
    ecs = Ecs(task(1, "service:chat", GPU.format(1)))
    host = Host(folder, ecs, privileged=False)
    daemon, said = host.daemon()
    daemon.minute(60)
    assert "shares no measurements" in said[0]
    shared = json.loads(recorded("agent.json"))
    for minute, (healthy, reason) in enumerate([(True, ""), (False, "XID_79"), (False, "XID_79")]):
        shared |= {"timestamp": str(minute), "healthy": healthy, "unhealthy_reason": reason}
        (folder / "gpu-metrics.json").write_text(json.dumps(shared))
        daemon.minute(120 + 60 * minute)
    assert metrics(said[-2:])["UnhealthyGPUs", (ALL,)] == 1
    assert [(each["xid"], each["gpuUuid"], each["reason"]) for each in details(ecs)] == [
        (79, None, "the ECS agent reports XID_79")
    ]
    for minute in range(4):
        daemon.minute(600 + 60 * minute)
    assert "has written no measurements since 2" in "".join(said[-3:])


def test_what_cannot_be_read_is_said_once_and_the_rest_goes_on(folder: Path) -> None:
    ecs = Ecs()
    host = Host(folder, ecs)
    host.ecs.get = lambda path: {"Tasks": 5, "ContainerInstanceArn": path}  # type: ignore[method-assign]
    host.shows(b"<nvidia_smi_log>", ends_with=1)
    (folder / "kmsg").unlink()
    daemon, said = host.daemon()
    for minute in range(3):
        daemon.minute(60 * minute)
    problems = [json.loads(each) for each in said if "problem" in each]
    assert sorted(each["problem"] for each in problems) == ["agent", "gpus", "kernel log"]
    assert all(len(each["text"]) <= 500 and "Traceback" not in each["text"] for each in problems)
    assert metrics(said[-1:])["FatalXids", (ALL,)] == 0


def test_the_program_stands_on_the_standard_library_and_boto3_alone() -> None:
    lines = [each for each in program().splitlines() if each.startswith(("import ", "from "))]
    known = {*sys.stdlib_module_names}
    assert {each.split()[1].partition(".")[0] for each in lines} <= known
    assert "gpu_constructs." not in "\n".join(lines)


def test_errors_in_memory_are_counted_as_they_come(folder: Path) -> None:
    host = Host(folder, Ecs())
    daemon, said = host.daemon()
    for errors in (2, 2, 5):
        text = recorded("t4.xml").decode().replace("<dram_uncorrectable>0", f"<dram_uncorrectable>{errors}")
        host.shows(text.encode())
        daemon.minute(60)
    assert [metrics([each])["UncorrectedEccErrors", (ALL,)] for each in said if "UncorrectedEcc" in each] == [0, 0, 3]


def test_of_what_was_logged_before_the_daemon_started_faults_of_programs_are_not_counted_again(folder: Path) -> None:
    host = Host(folder, Ecs())
    host.logs("NVRM: Xid (PCI:0000:00:1e): 31, pid=1", "NVRM: Xid (PCI:0000:00:1e): 48, pid=1")
    daemon, said = host.daemon()
    daemon.minute(60)
    assert (metrics(said)["ApplicationXids", (ALL,)], metrics(said)["FatalXids", (ALL,)]) == (0, 1)


@pytest.mark.parametrize(("count", "seen"), [("0.125", 1), ("1", 1)])
def test_a_part_of_a_gpu_is_one(folder: Path, count: str, seen: int) -> None:
    daemon, said = Host(folder, Ecs(gpus=count)).daemon()
    daemon.minute(60)
    assert (metrics(said)["MissingGPUs", (ALL,)], metrics(said)["GPUs", (ALL,)]) == (0, seen)
