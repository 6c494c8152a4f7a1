"""Whatever goes wrong ends in words and an exit code, never in a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import pytest

from gpu_constructs.cli import inputs, main, program
from tests.template.large import large_template

COMMANDS = [
    "check",
    "completion",
    "doctor",
    "explain",
    "init",
    "instances",
    "new",
    "plan",
    "preflight",
    "rules",
    "run-self-test",
    "stop-tasks",
    "verify",
    "why",
]
"""As scripts of users call them: a name that goes or changes breaks these."""


def test_each_command_is_listed_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    assert all(f"    {each} " in output or f"    {each}\n" in output for each in COMMANDS)
    assert list(program.COMMANDS) == COMMANDS
    assert "gpu-constructs check cdk.out" in output
    assert "exit codes:" in output


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"usage: gpu-constructs {command}")
    assert f"\n  gpu-constructs {command}" in output
    assert "\nexit codes:\n  0 " in output


@pytest.mark.parametrize("arguments", [[], ["chek"], ["--nonsense"], ["--debug"]])
def test_no_command_and_no_such_command_are_2_with_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "usage: gpu-constructs" in capsys.readouterr().err


def test_an_option_that_there_is_not_is_named_where_no_command_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--verison"]) == 2
    assert capsys.readouterr().err.endswith("gpu-constructs: unrecognized arguments: --verison\n")


def test_an_option_that_a_command_has_not_is_told_with_those_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "--memory", "40"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: gpu-constructs instances [-h]")
    assert said.endswith("gpu-constructs: unrecognized arguments: --memory 40\n")


def test_a_crash_is_one_line_that_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inputs, "check_worlds", Mock(side_effect=RuntimeError("half\nway")))
    assert main(["check", "t.json"]) == 2
    output = capsys.readouterr()
    assert output.err == (
        "gpu-constructs: internal error, RuntimeError: half\\nway; please report it, with what --debug shows\n"
    )
    assert output.out == ""


def test_ctrl_c_is_130_and_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(inputs, "check_worlds", Mock(side_effect=KeyboardInterrupt))
    assert main(["check", "t.json"]) == 130
    assert capsys.readouterr() == ("", "")


def test_every_command_has_a_module_that_defines_and_runs_it() -> None:
    for name in COMMANDS:
        module = import_module(program.module_of(name))
        assert callable(module.define)
        assert callable(module.run)


def test_the_values_of_a_large_file_are_not_searched_for_cycles_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "large.json").write_text(json.dumps(large_template(200), indent=1))
    counted = """
import gc, sys
from gpu_constructs.__main__ import main
phases = []
gc.callbacks.append(lambda phase, _: phases.append(phase))
main()
sys.stderr.write(f"collections {phases.count('start')}")
"""
    command = [sys.executable, "-c", counted, "check", str(tmp_path / "large.json")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert int(said.rpartition("collections ")[2]) < 10  # else more than 70
