"""The command line as a process: what it loads, and what it does without a stream to read or to write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.templates import template, written


@pytest.mark.parametrize("at", ["", "sys.modules['gpu_constructs.cli'] = Interrupting()"])
def test_an_interrupt_while_modules_are_loaded_is_silent(at: str) -> None:
    program = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
class Interrupting:
    def __getattr__(self, name): os.kill(os.getpid(), signal.SIGINT)
{at}
import gpu_constructs.__main__
os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_no_node_process_is_started_and_no_cloud_library_loaded(tmp_path: Path) -> None:
    file = written(template(), tmp_path / "t.json")
    called = tmp_path / "called"
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\ntouch '{called}'\n", encoding="utf-8")
    node.chmod(0o755)
    code = (
        "import sys\n"
        "from gpu_constructs.cli import main\n"
        f"commands = ['check', {file!r}], ['explain', 'Chat', {file!r}], ['instances'], ['rules']\n"
        "codes = list(map(main, commands))\n"
        "assert codes == [0, 0, 0, 0], codes\n"
        "heavy = {'aws_cdk', 'constructs', 'jsii', 'boto3', 'botocore', 'rich', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not called.exists()


def test_a_listing_does_not_load_the_readers_of_templates() -> None:
    code = (
        "import sys\n"
        "from gpu_constructs.cli import main\n"
        "main(['instances'])\n"
        "rooms = tuple('gpu_constructs.' + each for each in ('template', 'rules', 'placement', 'checking'))\n"
        "assert not [each for each in sys.modules if each.startswith(rooms)]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "gpu_constructs", "instances", "--format", "json"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="Linux has it")
@pytest.mark.parametrize(
    ("arguments", "redirected", "words"),
    [
        ("check {}", ">/dev/full", "No space left on device"),
        ("--help", ">/dev/full", "No space left on device"),
        ("check {} --format json", ">&-", "it is closed"),
    ],
)
def test_an_output_that_cannot_be_written_is_2_with_one_line(
    arguments: str, redirected: str, words: str, tmp_path: Path
) -> None:
    done = _shell(arguments.format(written(template(gpus="8"), tmp_path / "t.json")), redirected)
    assert (done.returncode, done.stderr) == (2, f"gpu-constructs: cannot write the output: {words}\n")


@pytest.mark.skipif(not FULL.exists(), reason="Linux has it")
@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&- <&-"])
def test_what_nobody_can_be_told_is_still_an_exit_code(redirected: str, tmp_path: Path) -> None:
    assert _shell("check nowhere.json", redirected).returncode == 2
    report = tmp_path / "report.json"
    file = written(template(), tmp_path / "t.json")
    assert _shell(f"check {file} --format json", f">{report} {redirected}").returncode == 0
    assert json.loads(report.read_text(encoding="utf-8"))["files"] == [file]


def _shell(arguments: str, redirected: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f"'{sys.executable}' -m gpu_constructs {arguments} {redirected}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_name_that_the_terminal_cannot_show_is_no_error(tmp_path: Path) -> None:
    body = template()
    body["Resources"]["Chat"]["Metadata"] = {"aws:cdk:path": "Demo/größe/Resource"}
    done = subprocess.run(
        [sys.executable, "-m", "gpu_constructs", "explain", "Demo/größe", written(body, tmp_path / "t.json")],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "gr\\xf6\\xdfe asks for 1 GPU" in done.stdout
