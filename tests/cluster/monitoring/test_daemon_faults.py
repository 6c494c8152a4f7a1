"""Faults that the daemon finds: what it does while the driver hangs or is gone, and who can read what it found."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cluster.monitoring import driver, ecs_host
from gpu_constructs.cluster.monitoring.collector import MINUTES_GONE, MINUTES_REPEATED
from gpu_constructs.cluster.monitoring.driver import Driver
from gpu_constructs.cluster.monitoring.ecs_host import EcsHost
from gpu_constructs.cluster.monitoring.readings import Reading, Unreadable
from tests.cluster.monitoring.daemon_host import GPU, INSTANCE, TASK, Ecs, Host, task
from tests.cluster.monitoring.test_readings import recorded

NO_DRIVER = b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
LOST = "NVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus"


def details(ecs: Ecs) -> list[dict[str, Any]]:
    return [json.loads(each["Detail"]) for each in ecs.events]


def host_line(said: list[str]) -> dict[str, Any]:
    """What was said last of the host."""
    lines: list[dict[str, Any]] = [json.loads(each) for each in said]
    return [each for each in lines if "UnhealthyGPUs" in each][-1]


@pytest.fixture
def ecs() -> Ecs:
    return Ecs(task(1, "service:chat", GPU.format(1)))


def test_nvidia_smi_that_cannot_be_killed_holds_nothing_up_and_is_a_fault(
    tmp_path: Path, ecs: Ecs, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def kill(process: subprocess.Popen[bytes]) -> None:  # as in state D, which no signal ends
        started.append(process)

    monkeypatch.setattr(subprocess.Popen, "kill", kill)
    host = Host(tmp_path, ecs)
    daemon, said = host.daemon()
    daemon.minute(0)
    monkeypatch.setattr(driver, "SECONDS_OF_DRIVER", 0.2)
    host.shows(b"", before="exec sleep 60")
    host.logs(LOST)
    began = time.monotonic()
    for minute in range(1, MINUTES_GONE + 1):
        daemon.minute(60 * minute)
    assert time.monotonic() - began < 5
    assert len(started) == 1
    reason = "the driver does not answer: nvidia-smi has not ended after 0.2 seconds"
    assert [(each["xid"], each["reason"]) for each in details(ecs)] == [(79, "Xid 79 on PCI 0:00:1e"), (None, reason)]
    monkeypatch.undo()
    started[0].kill()
    started[0].wait()
    host.shows(recorded("t4.xml"))
    daemon.minute(600)
    assert (host_line(said)["UnreadableHosts"], host_line(said)["Faults"]) == (0, ["Xid 79 on PCI 0:00:1e"])


def test_a_fatal_xid_is_sent_before_the_driver_is_asked(tmp_path: Path, ecs: Ecs) -> None:
    host = Host(tmp_path, ecs)
    daemon, _ = host.daemon()
    daemon.minute(0)
    host.logs(LOST)
    sent: list[int] = []

    def gpus() -> Reading:
        sent.append(len(ecs.events))
        return Reading()

    daemon.driver.gpus = gpus  # type: ignore[method-assign]
    daemon.minute(60)
    assert sent == [1]
    assert details(ecs)[0]["gpuUuid"] == GPU.format(1)


@pytest.mark.parametrize(
    ("was_read", "ends_with", "is_fault"), [(False, 9, True), (False, 15, True), (False, 12, False), (True, 255, True)]
)
def test_a_driver_that_is_gone_is_a_fault_after_some_minutes(
    tmp_path: Path, ecs: Ecs, was_read: bool, ends_with: int, is_fault: bool
) -> None:
    host = Host(tmp_path, ecs)
    daemon, said = host.daemon()
    if was_read:
        daemon.minute(0)
    host.shows(NO_DRIVER, ends_with=ends_with)
    for minute in range(1, MINUTES_GONE):
        daemon.minute(60 * minute)
    assert (host_line(said)["UnreadableHosts"], ecs.events) == (1, [])
    daemon.minute(600)
    reason = f"the driver does not answer: nvidia-smi ended with {ends_with}: {NO_DRIVER.decode()}"
    assert [each["reason"] for each in details(ecs)] == ([reason] if is_fault else [])
    assert host_line(said)["UnhealthyGPUs"] == 0


def test_a_host_without_nvidia_smi_says_so_and_is_not_replaced(tmp_path: Path, ecs: Ecs) -> None:
    host = Host(tmp_path, ecs)
    (tmp_path / "nvidia-smi").unlink()
    daemon, said = host.daemon()
    for minute in range(2 * MINUTES_GONE):
        daemon.minute(60 * minute)
    (problem,) = (json.loads(each) for each in said if "problem" in each)
    assert problem["text"].startswith("the host has no nvidia-smi in ")
    assert (problem["InstanceId"], ecs.events) == ("i-0123456789abcdef0", [])


def test_xids_that_ecs_does_not_look_at_are_counted_and_logged_too(tmp_path: Path, ecs: Ecs) -> None:
    host = Host(tmp_path, ecs)
    daemon, said = host.daemon()
    daemon.minute(0)
    host.logs(*(f"NVRM: Xid (PCI:0000:00:1e): {each}, pid=1" for each in (119, 119, 154, 43, 31)))
    daemon.minute(60)
    line = host_line(said)
    assert {name: line[name] for name in line if name.endswith("Xids")} == {
        "FatalXids": 0,
        "ApplicationXids": 1,
        "OtherXids": 4,
    }
    found = [each for each in map(json.loads, said) if "Xid" in each]
    assert [(each["Xid"], each["Times"]) for each in found] == [(119, 2), (154, 1), (43, 1), (31, 1)]
    assert ecs.events == []


def test_the_log_says_which_gpu_it_was_and_who_had_it(tmp_path: Path, ecs: Ecs) -> None:
    host = Host(tmp_path, ecs)
    daemon, said = host.daemon()
    daemon.minute(0)
    host.logs(LOST)
    daemon.minute(60)
    (found,) = (each for each in map(json.loads, said) if "Xid" in each)
    where = {"ClusterName": "gpus", "InstanceId": "i-0123456789abcdef0", "CapacityProviderName": "L4"}
    of_gpu = {"GpuIndex": "0", "GpuUuid": GPU.format(1), "Tasks": [TASK.format(1)]}
    assert found == {"Xid": 79, "Times": 1, "Pci": "0:00:1e", "ContainerInstanceArn": INSTANCE, **where, **of_gpu}
    daemon.minute(120)
    line = host_line(said)
    assert (line["UnhealthyGPUs"], line["Faults"]) == (1, ["Xid 79 on PCI 0:00:1e"])
    assert line["ContainerInstanceArn"] == INSTANCE


def test_a_fault_is_sent_again_each_hour_until_it_is_gone(tmp_path: Path) -> None:
    ecs = Ecs(gpus="2")
    host = Host(tmp_path, ecs)
    daemon, _ = host.daemon()
    daemon.minute(0)
    host.logs(LOST)
    # What nvidia-smi prints is the same in each minute, for which it need not be started.
    read = daemon.driver.gpus()
    daemon.driver.gpus = lambda: read  # type: ignore[method-assign]
    for minute in range(1, MINUTES_REPEATED + 2):
        daemon.minute(60 * minute)
    missing = "the driver shows 1 of 2 GPUs"
    assert [each["reason"] for each in details(ecs)] == ["Xid 79 on PCI 0:00:1e", missing] * 2
    host.shows_gpus(2)
    both = type(daemon.driver).gpus(daemon.driver)
    daemon.driver.gpus = lambda: both  # type: ignore[method-assign]
    for minute in range(MINUTES_REPEATED + 2):
        daemon.minute(60 * minute)
    assert [each["xid"] for each in details(ecs)] == [79, None, 79, None, 79]


def test_a_minute_of_a_gpu_is_less_than_a_kilobyte_of_log(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs(*(task(each, "service:chat", GPU.format(each)) for each in range(1, 9)), gpus="8"))
    host.shows_gpus(8)
    daemon, said = host.daemon()
    daemon.minute(60)
    # CloudWatch bills 26 bytes for each line more: https://aws.amazon.com/cloudwatch/pricing/
    assert 900 < sum(len(each) + 26 for each in said) / 8 < 1000


def test_an_agent_that_answers_a_byte_at_a_time_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ecs_host, "SECONDS_OF_AGENT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            asked, _ = server.accept()
            with asked, suppress(OSError):
                asked.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
                while True:
                    asked.sendall(b" ")
                    time.sleep(0.2)

        threading.Thread(target=answer, daemon=True).start()
        host = EcsHost("gpus", f"http://127.0.0.1:{server.getsockname()[1]}", lambda _: None)
        began = time.monotonic()
        with pytest.raises(Unreadable, match="something else than JSON"):
            host.ask_agent()
        assert time.monotonic() - began < 5


def test_a_flood_of_the_kernel_log_is_read_in_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = iter([b"6,1234,5678,-;" + b"x" * 85 + b"\n"] * 90_000)
    monkeypatch.setattr(os, "read", lambda *_: next(records))
    (tmp_path / "kmsg").write_text("")
    log = Driver(root="/", programs="", kernel_log=str(tmp_path / "kmsg"), lasting=frozenset())
    began = time.monotonic()
    assert not log.xids()
    assert time.monotonic() - began < 3
    # It goes on in the next minute.
    assert next(records)
