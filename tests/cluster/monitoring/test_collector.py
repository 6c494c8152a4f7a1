"""The daemon's program: what it prints and sends, minute after minute, and that nothing ends it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cluster.monitoring.collector import MINUTES_REPEATED
from gpu_constructs.cluster.monitoring.daemon_task import PROGRAM
from tests.cluster.monitoring.daemon_host import ALL, CLUSTER, GPU, INSTANCE, POOL, TASK, Ecs, Host, task
from tests.cluster.monitoring.emf import SETS, Values, values_in


def metrics(lines: list[dict[str, Any]]) -> Values:
    found: Values = {}
    for line in lines:
        values = values_in(json.dumps(line))
        assert not values.keys() & found.keys()
        found |= values
    return found


def test_a_minute_of_a_host_with_a_service_and_a_job(tmp_path: Path) -> None:
    ecs = Ecs(task(1, "service:chat", GPU.format(1)), task(2, "family:train", GPU.format(2)), gpus="4")
    host = Host(tmp_path, ecs, gpus=4)
    of_host = host.minute(1000)
    assert {each["_aws"]["Timestamp"] for each in host.said} == {60_000_000}
    expected = {"GPUs": 4, "GPUsReserved": 2, "MissingGPUs": 0, "UnhealthyGPUs": 0, "ApplicationXids": 0}
    assert {name: of_host[name] for name in expected} == expected
    assert (of_host["UnreadableHosts"], of_host["Faults"], of_host["Problems"]) == (0, [], [])
    of_gpus = [each for each in host.said if "GpuIndex" in each]
    assert [(each["GpuIndex"], each["Tasks"]) for each in of_gpus] == [
        ("0", [TASK.format(1)]),
        ("1", [TASK.format(2)]),
        ("2", []),
        ("3", []),
    ]
    assert {dimensions for _, dimensions in metrics(of_gpus[:1])} == {(ALL,), (ALL, POOL)}
    assert metrics([each for each in host.said if "ServiceName" in each]) == {
        (name, (ALL, ("ServiceName", "chat"))): value
        for name, value in (
            ("GPUUtilization", 0),
            ("GPUMemoryUtilization", 0),
            ("GPUMemoryUsed", 0),
            ("GPUPowerDraw", 9.815),
            ("GPUTemperature", 34),
        )
    }


def test_every_metric_of_the_table_is_printed_under_its_dimensions_and_no_other(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs(task(1, "service:chat", GPU.format(1))))
    host.minute(1)
    printed: dict[str, set[tuple[str, ...]]] = {}
    for name, dimensions in metrics(host.said):
        printed.setdefault(name, set()).add(tuple(each for each, _ in dimensions))
    assert printed == {name: {*sets} for name, sets in SETS.items()}


def test_a_gpu_that_services_share_counts_for_each_of_them_once(tmp_path: Path) -> None:
    gpu = GPU.format(1)
    host = Host(tmp_path, Ecs(task(1, "service:a", gpu), task(2, "service:a", gpu), task(3, "service:b", gpu)))
    assert host.minute(1)["GPUsReserved"] == 1
    assert sorted(each["ServiceName"] for each in host.said if "ServiceName" in each) == ["a", "b"]


def test_calls_follow_starts_of_tasks(tmp_path: Path) -> None:
    ecs = Ecs(*(task(each, "service:chat", GPU.format(1)) for each in range(150)))
    host = Host(tmp_path, ecs)
    for minute in range(3):
        host.minute(minute)
    assert [name for name, _ in ecs.calls] == ["DescribeContainerInstances", "DescribeTasks", "DescribeTasks"]
    ecs.tasks[TASK.format(999)] = task(999, "service:more")
    host.minute(4)
    assert ecs.calls[3:] == [("DescribeTasks", {"cluster": "gpus", "tasks": [TASK.format(999)]})]


def test_a_host_that_the_agent_calls_unhealthy_is_reported_and_again_after_hours(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs())
    assert host.minute(1)["UnhealthyGPUs"] == 0
    for minute in range(2, MINUTES_REPEATED + 3):
        of_host = host.minute(minute, healthy=False, unhealthy_reason="XID_79")
    assert (of_host["UnhealthyGPUs"], of_host["Faults"]) == (1, ["the ECS agent reports XID_79"])
    assert len(host.ecs.events) == 2
    sent = host.ecs.events[0]
    assert (sent["Source"], sent["DetailType"], sent["Resources"]) == ("gpu-constructs", "GPU Fault", [INSTANCE])
    assert json.loads(sent["Detail"]) == {
        "clusterArn": CLUSTER,
        "containerInstanceArn": INSTANCE,
        "ec2InstanceId": "i-0123456789abcdef0",
        "capacityProviderName": "L4",
        "reason": "the ECS agent reports XID_79",
    }
    # Nothing is measured now: what was wrong still is.
    assert host.silent_minute(MINUTES_REPEATED + 9)["UnhealthyGPUs"] == 1
    assert host.minute(MINUTES_REPEATED + 10)["Faults"] == []


def test_a_gpu_that_is_missing_is_reported_after_two_minutes(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs(gpus="2"))
    assert host.minute(1)["MissingGPUs"] == 1
    assert host.reasons == []
    host.minute(2)
    host.minute(3)
    assert host.reasons == ["1 of 2 GPUs are there"]


def test_a_fault_waits_until_it_can_be_sent(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs())
    host.minute(1)
    host.ecs.is_down = True
    assert host.minute(2, healthy=False)["Problems"] == ["OSError: the endpoint does not answer"]
    host.ecs.is_down = False
    host.minute(3, healthy=False)
    assert host.reasons == ["the ECS agent reports an unhealthy GPU"]


def test_xids_of_applications_count_once_each(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs())
    gpus = [{"gpu_uuid": GPU.format(1), "restart_app_xid_count": 3}]
    assert host.minute(1, gpus=gpus)["ApplicationXids"] == 3
    # The file is still the one of the minute before.
    assert host.silent_minute(2)["ApplicationXids"] == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("", "JSONDecodeError"),
        ("[" * 100_000, "RecursionError"),
        ("[]", "AttributeError"),
        ('{"timestamp": ""}', "KeyError: 'gpus'"),
        ('{"timestamp": "", "gpus": [1]}', "TypeError"),
        ('{"timestamp": "", "gpus": [{}]}', "KeyError: 'gpu_uuid'"),
        ('{"timestamp": "noon", "gpus": [{}], "connection_lost": true}', "no GPU was measured since noon"),
        ('{"timestamp": "noon", "gpus": []}', "no GPU was measured since noon"),
    ],
    ids=range(9),
)
def test_a_file_that_is_not_there_or_not_as_it_should_be_is_never_shown_as_fine(
    tmp_path: Path, text: str | None, why: str
) -> None:
    host = Host(tmp_path, Ecs())
    if text is not None:
        host.file.write_text(text)
    for minute in range(2):
        of_host = host.silent_minute(minute)
        assert of_host["UnreadableHosts"] == 1
        assert "GPUs" not in of_host
        (problem,) = of_host["Problems"]
        assert why in problem
        assert len(problem) <= 500


def test_a_file_that_is_not_written_any_more_says_nothing_of_now(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs())
    host.minute(1)
    assert [host.silent_minute(each)["UnreadableHosts"] for each in range(2, 6)] == [0, 0, 0, 1]
    assert host.said[-1]["Problems"] == ["ValueError: no GPU was measured since 2026-06-15T23:00:14Z"]


def test_gpus_are_measured_though_neither_agent_nor_ecs_answers(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs())
    host.ecs.is_down = True
    of_host = host.minute(1)
    assert (of_host["GPUs"], of_host["UnreadableHosts"]) == (1, 0)
    assert of_host["Problems"] == ["OSError: the endpoint does not answer"]
    host.ecs.get = lambda path: {"Tasks": 5, "ContainerInstanceArn": path}  # type: ignore[method-assign]
    assert host.minute(2)["GPUs"] == 1


def test_a_gpu_without_values_has_no_metrics(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs())
    host.minute(1, gpus=[{"gpu_uuid": GPU.format(1), "restart_app_xid_count": 0}])
    (line,) = host.said
    assert line["GPUs"] == 1


@pytest.mark.parametrize("count", ["0.125", "1"])
def test_a_part_of_a_gpu_is_one(tmp_path: Path, count: str) -> None:
    of_host = Host(tmp_path, Ecs(gpus=count)).minute(1)
    assert (of_host["MissingGPUs"], of_host["GPUs"]) == (0, 1)


def test_the_program_stands_on_the_standard_library_and_boto3_alone() -> None:
    lines = [each for each in PROGRAM.read_text().splitlines() if each.startswith(("import ", "from "))]
    assert {each.split()[1].partition(".")[0] for each in lines} <= {*sys.stdlib_module_names}


def test_a_minute_of_a_gpu_is_about_a_kilobyte_of_log(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs(*(task(each, "service:chat", GPU.format(each)) for each in range(1, 9))), gpus=8)
    host.minute(1)
    # CloudWatch bills 26 bytes for each line more: https://aws.amazon.com/cloudwatch/pricing/
    assert 1000 < sum(len(json.dumps(each, separators=(",", ":"))) + 26 for each in host.said) / 8 < 1500
