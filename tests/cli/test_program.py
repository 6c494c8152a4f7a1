"""Whatever goes wrong ends in words and an exit code, never in a traceback."""

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest

from gpu_constructs.cli import inputs, main, program
from tests.cli.templates import template, written
from tests.template.large import large_json

COMMANDS = ("catalog", "check", "explain", "instances", "plan", "preflight", "rules", "run-self-test", "verify", "why")


def test_each_command_is_listed_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    assert all(f"    {each} " in output or f"    {each}\n" in output for each in COMMANDS)
    assert "gpu-constructs check cdk.out" in output
    assert "exit codes:" in output


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"usage: gpu-constructs {command}")
    assert f"\n  gpu-constructs {command}" in output


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"gpu-constructs {metadata.version('gpu-constructs')}\n"


@pytest.mark.parametrize("arguments", [[], ["chek"], ["--nonsense"], ["--debug"]])
def test_no_command_and_no_such_command_are_2_with_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "usage: gpu-constructs" in capsys.readouterr().err


def _crash(*_: object, **__: object) -> None:
    raise RuntimeError("half\nway")


def test_a_crash_is_one_line_that_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inputs, "check_files", _crash)
    assert main(["check", "t.json"]) == 2
    output = capsys.readouterr()
    assert output.err == (
        "gpu-constructs: internal error, RuntimeError: half\\nway; please report it, with what --debug shows\n"
    )
    assert output.out == ""


@pytest.mark.parametrize("arguments", [["--debug", "check", "t.json"], ["check", "t.json", "--debug"]])
def test_a_crash_shows_its_traceback_when_it_is_asked_for(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inputs, "check_files", _crash)
    assert main(arguments) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_too_much_for_the_interpreter_is_a_crash_like_others(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(inputs, "check_files", crash)
    assert main(["check", "t.json"]) == 2


def test_ctrl_c_is_130_and_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, "check_files", interrupted)
    assert main(["check", "t.json"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nowhere.json", "--format", "json"],
        ["check", "nowhere.json", "--format=json"],
        ["check", "--format", "json"],
        ["rules", "GPU999", "--format", "json"],
        ["explain", "Chat", "nowhere.json", "--format", "json"],
    ],
)
def test_a_program_finds_json_also_where_nothing_worked(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    report = json.loads(output.out)
    assert report["findings"] == []
    assert report["error"] in output.err


def test_a_scanner_finds_sarif_also_where_nothing_worked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nowhere.json", "--format", "sarif"]) == 2
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_a_failure_replaces_the_report_of_an_earlier_run(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("stale", encoding="utf-8")
    assert main(["check", "nowhere.json", "--format", "json", "--output", str(report)]) == 2
    assert json.loads(report.read_text(encoding="utf-8"))["error"]


def test_an_option_of_a_command_line_that_does_not_parse_is_still_seen() -> None:
    assert program._option(["check", "--format", "json", "--format=sarif"], "--format") == "json"
    assert program._option(["check"], "--format") is None


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpu_constructs", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = _run("check", written(template(), tmp_path / "t.json"))
    assert done.returncode == 0, done.stderr
    assert "1 pool, 1 task, 1 service looked at" in done.stdout


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
    assert _shell(f"check {file} --format json --output {report}", redirected).returncode == 0
    assert json.loads(report.read_text(encoding="utf-8"))["files"] == [file]


def test_without_any_stream_it_is_2() -> None:
    assert _shell("check -", ">&- 2>&- <&-").returncode == 2


def test_a_closed_standard_input_is_said() -> None:
    done = _shell("check -", "<&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gpu-constructs: -: standard input is closed; fix: name a file, or pipe one in\n"


def test_a_standard_input_that_breaks_off_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(io.BytesIO):
        def read(self, _: int | None = None, /) -> bytes:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Broken()))
    assert main(["check", "-"]) == 2
    assert capsys.readouterr().err == "gpu-constructs: -: standard input cannot be read: Input/output error\n"


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
    done = _run("explain", "Demo/größe", written(body, tmp_path / "t.json"), PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.returncode == 0, done.stderr
    assert "gr\\xf6\\xdfe asks for 1 GPU" in done.stdout


def test_every_command_has_a_module_that_defines_and_runs_it() -> None:
    for name in program._COMMANDS:
        module = import_module(program.module_of(name))
        assert callable(module.define)
        assert callable(module.run)


def test_the_values_of_a_large_file_are_not_searched_for_cycles_again_and_again(tmp_path: Path) -> None:
    ours, default, collections = gc.get_threshold(), (700, 10, 10), 0

    def count(phase: str, _: object) -> None:
        nonlocal collections
        collections += phase == "start"

    (tmp_path / "large.json").write_text(large_json())
    gc.set_threshold(*default)
    gc.callbacks.append(count)
    try:
        main(["check", str(tmp_path / "large.json")])
        assert gc.get_threshold() == default
    finally:
        gc.callbacks.remove(count)
        gc.set_threshold(*ours)
    assert collections < 10  # else more than 70
