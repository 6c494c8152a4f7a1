"""Hosts prove their GPUs before they take tasks: the script in a real shell, with a real curl."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from gpu_constructs.cluster.capacity.boot_check import boot_commands
from gpu_constructs.facts import instance_type

from tests.rules.given import a_pool

from .booting_host import BootingHost

needs_curl = pytest.mark.skipif(shutil.which("curl", path="/usr/bin:/bin") is None, reason="no curl")

# As nvidia-smi prints indices with --format=csv,noheader; a GPU that fell off the bus is a line of another kind.
FOUR = "0\n1\n2\n3\n"
LOST = "0\n1\n2\nUnable to determine the device handle for GPU3: 0000:00:1E.0: Unknown Error\n"
NONE = "No devices were found\n"


def script_for(name: str) -> str:
    lines = boot_commands(a_pool(instance_types=(instance_type(name),), checks_gpus=True))
    start = lines.index("cat <<'EOF' > /usr/local/sbin/gpu-check") + 1
    return "\n".join(lines[start : lines.index("EOF", start)]) + "\n"


G6 = script_for("g6.12xlarge")  # four L4


@needs_curl
def test_a_host_with_all_gpus_starts_its_agent(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR])
    assert host.start_agent(G6)
    assert host.actions == ["CompleteLifecycleAction"]
    assert host.calls[-1] == {
        "host": "autoscaling.us-east-1.amazonaws.com",
        "Action": "CompleteLifecycleAction",
        "Version": "2011-01-01",
        "LifecycleHookName": "gpu-check",
        "AutoScalingGroupName": "Stack-ClusterL4GroupASG-1A2B3C",
        "InstanceId": "i-0123456789abcdef0",
        "LifecycleActionResult": "CONTINUE",
    }
    assert (host.switched, host.pauses) == ([], 0)


@needs_curl
@pytest.mark.parametrize("found", [LOST, NONE, None, "", "4 GPUs\n"])
def test_a_host_without_one_is_counted_abandoned_and_powered_off(tmp_path: Path, found: str | None) -> None:
    host = BootingHost(tmp_path, smi=[found])
    assert not host.start_agent(G6)
    metric, completed = (each for each in host.calls if each["Action"] != "DescribeAutoScalingInstances")
    assert completed["LifecycleActionResult"] == "ABANDON"
    assert metric == {
        "host": "monitoring.us-east-1.amazonaws.com",
        "Action": "PutMetricData",
        "Version": "2010-08-01",
        "Namespace": "GpuConstructs",
        "MetricData.member.1.MetricName": "HostsWithMissingGpus",
        "MetricData.member.1.Value": "1",
        "MetricData.member.1.Unit": "Count",
        "MetricData.member.1.Dimensions.member.1.Name": "AutoScalingGroupName",
        "MetricData.member.1.Dimensions.member.1.Value": "Stack-ClusterL4GroupASG-1A2B3C",
    }
    assert host.switched == ["--no-block poweroff"]


@needs_curl
def test_a_driver_that_loads_late_is_waited_for(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[None, NONE, "0\n", FOUR])
    assert host.start_agent(G6)
    assert host.pauses == 3


@needs_curl
def test_it_does_not_wait_for_ever(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[NONE])
    assert not host.start_agent(G6)
    assert host.pauses == 15


@needs_curl
def test_an_answer_before_the_group_waits_would_be_lost(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], states=["Pending", "Pending", "Pending:Wait"])
    assert host.start_agent(G6)
    assert (host.actions, host.pauses) == (["CompleteLifecycleAction"], 2)


@needs_curl
def test_a_refused_answer_is_repeated_until_the_permission_is_there(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], refusals=2)
    assert host.start_agent(G6)
    assert host.actions == ["CompleteLifecycleAction"] * 3


@needs_curl
def test_without_an_answer_the_agent_does_not_start_and_the_host_stays_for_another_try(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], refusals=99)
    assert not host.start_agent(G6)
    assert host.switched == []
    host.refusals = 0
    assert host.start_agent(G6)


@needs_curl
def test_a_missing_gpu_is_counted_once_however_often_the_answer_is_refused(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[LOST], refusals=1)
    assert not host.start_agent(G6)
    assert host.actions.count("PutMetricData") == 1


@needs_curl
def test_a_host_in_service_has_nothing_to_complete_and_leaves_when_a_gpu_is_missing(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], states=["InService"])
    assert host.start_agent(G6)
    assert host.actions == []
    host.reboot()
    host.smi = [LOST]
    assert not host.start_agent(G6)
    assert (host.actions, host.switched) == (["PutMetricData"], ["--no-block poweroff"])


@needs_curl
def test_an_agent_that_restarts_under_running_tasks_is_not_stopped(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR])
    assert host.start_agent(G6)
    before = len(host.calls)
    host.smi = [LOST]
    assert host.start_agent(G6)
    assert len(host.calls) == before


@needs_curl
def test_a_host_from_the_warm_pool_answers_twice(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], states=["Warmed:Pending:Wait"])
    assert host.start_agent(G6)
    host.reboot()
    host.states = ["Pending:Wait"]
    assert host.start_agent(G6)
    assert host.actions == ["CompleteLifecycleAction"] * 2


@pytest.mark.parametrize(
    ("name", "gpus"),
    [("g6.xlarge", 1), ("g6f.large", 1), ("g5.24xlarge", 4), ("p5.48xlarge", 8), ("p5.4xlarge", 1), ("p3.16xlarge", 8)],
)
def test_as_many_gpus_as_the_type_has_are_expected(name: str, gpus: int) -> None:
    assert re.findall(r'"\$gpus" -ge (\d+)', script_for(name)) == [str(gpus)] * 2
