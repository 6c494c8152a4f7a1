"""What is left when something goes wrong: nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from ecs_emulator.process import Emulator
from gpu_constructs.account.problems import unanswered

from tests.e2e.cdk_cli import ROOT

STARTS_AND_WAITS = """
import pathlib, sys, time
from ecs_emulator.process import emulator
with emulator(pathlib.Path(sys.argv[1])) as running:
    print(running.port, running.log, flush=True)
    time.sleep(60)
"""


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def stops_listening(port: int) -> bool:
    for _ in range(50):
        if not listens(port):
            return True
        time.sleep(0.1)
    return False


def test_the_emulator_dies_with_whoever_started_it_and_what_it_lacks_is_a_line_of_its_log(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_AND_WAITS, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        port, log = owner.stdout.readline().decode().split()
        trails = Emulator(port=int(port), log=Path(log)).client("cloudtrail")
        assert trails.lookup_events()["Events"] == []  # the command line asks at each deploy
        with pytest.raises(ClientError, match="501") as unknown:
            trails.list_imports()
        with pytest.raises(ClientError, match="InvalidAction") as of_query:
            Emulator(port=int(port), log=Path(log)).client("ec2").describe_byoip_cidrs(MaxResults=1)
        for error, code in ((unknown, "501"), (of_query, "InvalidAction")):
            said = str(unanswered(error.value, "a:Call", "us-east-1"))
            assert said.startswith(f"the endpoint in us-east-1 has no operation a:Call ({code}); fix: an endpoint")
        owner.kill()

    assert stops_listening(int(port))
    lacks = ("list_imports", "describe_byoip_cidrs")
    found = list(dict.fromkeys(Path(log).read_text().splitlines()))  # boto3 tries again
    assert found == [f"not answered: The {each} action has not been implemented" for each in lacks]


def test_nothing_of_a_real_account_reaches_the_command_line(tmp_path: Path) -> None:
    running = Emulator(port=5000, log=tmp_path)
    mine = {
        "AWS_PROFILE": "production",
        "AWS_SESSION_TOKEN": "secret",
        "AWS_ENDPOINT_URL_ECS": "https://ecs.us-east-1.amazonaws.com",
        "CDK_DEFAULT_ACCOUNT": "1",
        "https_proxy": "http://proxy",
        "PATH": "/bin",
    }

    environment = running.environment(mine)

    assert {name for name in mine if name in environment} == {"PATH"}
    assert environment["AWS_ENDPOINT_URL"] == running.url
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == environment["AWS_CONFIG_FILE"] == os.devnull


def runs_cdk(pid: int) -> bool:
    """Waits until a process runs the first command of the CDK."""
    asked = ["pgrep", "-P", str(pid), "-f", "cdk"]
    for _ in range(500):
        if subprocess.run(asked, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return True
        time.sleep(0.02)
    return False


def git_status() -> set[str]:
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    return set(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines())


def test_an_interrupted_demo_leaves_no_server_and_no_file() -> None:
    """By the signal that Python makes no `KeyboardInterrupt` of; from there on, Ctrl-C goes the same way."""
    before = git_status()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.demo"], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as demo:
        assert demo.stdout is not None
        port = next(int(line.split("127.0.0.1:")[1].split(",")[0]) for line in demo.stdout if "127.0.0.1:" in line)
        assert runs_cdk(demo.pid)
        os.killpg(demo.pid, signal.SIGTERM)
        printed = demo.stdout.read()

    assert demo.returncode == 130
    assert "interrupted" in printed
    assert stops_listening(port)
    assert git_status() <= before
