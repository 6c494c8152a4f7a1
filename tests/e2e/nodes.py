"""Nodes of a training as processes of one machine, with the environment that AWS Batch gives each."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["GETENT", "JOB", "MAIN", "ended", "free_port", "killed", "started", "written"]

MAIN = "127.0.0.1"
JOB = "0f9c2b1e-0000-4000-8000-000000000001"
GETENT = f"#!/bin/sh\necho '{MAIN}       ip-10-0-0-1.ec2.internal'\necho '169.254.172.2 other'\n"


def written(folder: Path, **programs: str) -> Path:
    for name, text in programs.items():
        program = folder / name
        program.write_text(text)
        program.chmod(0o755)
    return folder


def free_port() -> int:
    with socket.socket() as one:
        one.bind((MAIN, 0))
        port: int = one.getsockname()[1]
        return port


def killed(nodes: Sequence[subprocess.Popen[str]]) -> None:
    """Ends nodes with all that they have started."""
    for each in nodes:
        with suppress(ProcessLookupError):
            os.killpg(each.pid, signal.SIGKILL)
        each.communicate()


def started(command: Sequence[str], node: int, nodes: int, bin_: Path, **more: str) -> subprocess.Popen[str]:
    given = {
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "AWS_BATCH_JOB_ID": f"{JOB}#{node}",
        "AWS_BATCH_JOB_ATTEMPT": "2",
        "AWS_BATCH_JOB_NODE_INDEX": str(node),
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
        "AWS_BATCH_JOB_NUM_NODES": str(nodes),
        "GANG_BEAT_SECONDS": "0.2",
        **({"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": MAIN} if node else {}),
        **more,
    }
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=given, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def ended(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    try:
        out = [each.communicate(timeout=240) for each in processes]
    finally:
        for each in processes:
            each.kill()
    return [(each.returncode, text) for each, (text, _) in zip(processes, out, strict=True)]
