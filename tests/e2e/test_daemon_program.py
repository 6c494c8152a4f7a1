"""The daemon's program as it is shipped: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from gpu_constructs.cluster.monitoring.daemon_task import LOADER, PROGRAM

from tests.cluster.monitoring.daemon_host import ALL, GPU, Ecs, Host, served, task
from tests.cluster.monitoring.emf import values_in


def _of_loader(address: str, digest: str) -> dict[str, str]:
    """What the container sees, with S3 and the rest of AWS at an address."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "an-id",
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PROGRAM_BUCKET": "assets",
        "PROGRAM_KEY": "program.py",
        "PROGRAM_SHA256": digest,
        "PATH": os.environ["PATH"],
    }


def test_another_program_than_the_one_of_the_task_definition_does_not_run() -> None:
    ecs = Ecs()
    ecs.files["/assets/program.py"] = b"print('mine')"
    with served(ecs) as address:
        ended = subprocess.run(
            [sys.executable, "-I", "-c", LOADER],
            env=_of_loader(address, sha256(PROGRAM.read_bytes()).hexdigest()),
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert b"not the one that this task definition names" in ended.stderr


def test_the_program_runs_as_it_is_shipped(tmp_path: Path) -> None:
    ecs = Ecs(task(1, "service:chat", GPU.format(1)))
    ecs.files["/assets/program.py"] = PROGRAM.read_bytes()
    host = Host(tmp_path, ecs)
    host.writes(0, healthy=False, unhealthy_reason="XID_79")
    os.utime(host.file)
    with served(ecs) as address:
        environment = {
            **host.environment,
            **_of_loader(address, sha256(PROGRAM.read_bytes()).hexdigest()),
            "AGENT_ADDRESS": address,
        }
        command = [sys.executable, "-I", "-c", LOADER]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as run:
            assert run.stdout is not None
            said = list[str]()
            for line in run.stdout:
                said.append(line)
                if "UnhealthyGPUs" in line:
                    break
            run.terminate()
            _, errors = run.communicate(timeout=20)
    assert (errors, run.returncode) == ("", 0), said
    values = {name: value for line in said if "_aws" in line for name, value in values_in(line).items()}
    assert values["GPUPowerDraw", (ALL, ("ServiceName", "chat"))] == 9.815
    assert host.reasons == ["the ECS agent reports XID_79"]


def test_a_program_that_is_stuck_ends_so_that_ecs_starts_it_again(tmp_path: Path) -> None:
    host = Host(tmp_path, Ecs())
    os.mkfifo(host.environment["METRICS_FILE"])
    text = PROGRAM.read_text().replace("SECONDS_STUCK = 600 ", "SECONDS_STUCK = 0.5 ")
    environment = {**host.environment, "AGENT_ADDRESS": "http://127.0.0.1:9", "AWS_REGION": "us-east-1"}
    ended = subprocess.run(
        [sys.executable, "-I", "-c", text], env=environment, capture_output=True, timeout=20, check=False
    )
    assert ended.returncode == 1
    assert b"in read" in ended.stderr
