"""Hosts that do not join their cluster end themselves; the script is run with stand-ins for the host around it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import aws_cdk as cdk
import pytest

from gpu_constructs import (
    CapacityChoice,
    GpuBatchQueue,
    GpuConstructsError,
    GpuMachineImage,
    HostScaling,
    IncompatibleError,
    WarmHosts,
)
from tests.synthesis import Ground, Site, user_data

# The agent joins at the call that a file names; a host of a pool is in service from the third question on.
_CURL = """\
case "$*" in
  *51678*)
    echo agent >> "$STATE/calls"
    [ "$(grep -c agent "$STATE/calls")" -ge "$JOINS_AT" ] && echo '"arn:aws:ecs:r:1:container-instance/c/1"'
    ;;
  *target-lifecycle-state*)
    echo asked >> "$STATE/calls"
    [ "$(grep -c asked "$STATE/calls")" -ge 40 ] && echo InService || echo Warmed:Stopped
    ;;
esac"""


def _run(text: str, folder: Path, *, joins_at: int = 9999, curl: bool = True) -> list[str]:
    """What the script does on a host: what it calls."""
    script = text.partition("> /usr/local/sbin/join-deadline\n")[2].partition("\nEOF\n")[0]
    script = script.replace("/var/lib/cloud/instance", str(folder)).replace("/dev/console", f"{folder}/console")
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    stand_ins = {name: f'echo {name} "$@" >> "$STATE/calls"' for name in ("shutdown", "sleep")}
    stand_ins |= {"systemctl": 'echo "local-disks.service loaded failed failed Local NVMe disks"', "findmnt": ""}
    for name, body in {**stand_ins, **({"curl": _CURL} if curl else {})}.items():
        (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        (programs / name).chmod(0o755)
    for name in ("bash", "grep", "touch", "tail", "tee"):
        if not (programs / name).exists():
            (programs / name).symlink_to(shutil.which(name) or name)
    env = {**os.environ, "PATH": str(programs), "STATE": str(folder), "JOINS_AT": str(joins_at)}
    subprocess.run([programs / "bash", "-c", script], env=env, check=True, capture_output=True)
    calls = folder / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


def test_a_host_that_does_not_join_says_why_and_ends_itself_after_half_an_hour(site: Site, tmp_path: Path) -> None:
    site.capacity("g6.xlarge")
    calls = _run(user_data(site.launch_template()), tmp_path)
    assert calls.count("agent") == calls.count("sleep 10") == 180
    assert calls[-1] == "shutdown -h now"
    console = (tmp_path / "console").read_text()
    assert "not in its ECS cluster after 1800 seconds" in console
    assert "local-disks.service loaded failed" in console
    assert site.launch_template()["InstanceInitiatedShutdownBehavior"] == "terminate"


def test_a_host_that_joined_once_never_ends_itself(site: Site, tmp_path: Path) -> None:
    site.capacity("g6.xlarge")
    text = user_data(site.launch_template())
    assert _run(text, tmp_path, joins_at=3).count("agent") == 3
    # After a reboot, whose agent does not come up.
    assert _run(text, tmp_path) == ["agent", "sleep 10", "agent", "sleep 10", "agent"]


def test_a_host_that_cannot_ask_its_agent_is_left_alone(site: Site, tmp_path: Path) -> None:
    site.capacity("g6.xlarge")
    assert _run(user_data(site.launch_template()), tmp_path, curl=False) == []


def test_the_time_in_a_warm_pool_does_not_count(site: Site, tmp_path: Path) -> None:
    warm = HostScaling(warm_hosts=WarmHosts(hosts=1, state="Running"))
    site.capacity("g6.xlarge", scaling=warm, join_within=cdk.Duration.minutes(5))
    calls = _run(user_data(site.launch_template()), tmp_path)
    assert calls[-1] == "shutdown -h now"
    assert calls.count("agent") == 39 + 29


def test_hosts_of_aws_batch_end_themselves(site: Site, tmp_path: Path) -> None:
    GpuBatchQueue(
        site.stack,
        "Queue",
        vpc=site.vpc,
        environments=[
            CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=2, join_within=cdk.Duration.minutes(10))
        ],
    )
    data = site.launch_template()
    calls = _run(user_data(data), tmp_path)
    assert (calls.count("agent"), calls[-1]) == (60, "shutdown -h now")
    assert data["InstanceInitiatedShutdownBehavior"] == "terminate"


@pytest.mark.parametrize(
    "given",
    [cdk.Duration.minutes(4), cdk.Duration.hours(25)],
    ids=["too short", "too long"],
)
def test_a_time_out_of_its_limits_is_refused(ground: Ground, given: cdk.Duration) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        ground.capacity("g6.xlarge", join_within=given)
    assert refused.value.argument == "join_within"


def test_bottlerocket_has_no_such_time(ground: Ground) -> None:
    bottlerocket = GpuMachineImage.newest("bottlerocket-ecs-2-nvidia-x86_64")
    with pytest.raises(IncompatibleError, match="no shell") as refused:
        ground.capacity("g6.xlarge", image=bottlerocket, join_within=cdk.Duration.minutes(20))
    assert refused.value.argument == "join_within"
