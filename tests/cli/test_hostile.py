"""Input that is broken or meant to break: exit code 2 in the user's words, in bounded time, never a traceback."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_constructs.cli import main
from tests.cli.templates import template, written

LONGEST_SECONDS = 20  # on a machine that does other things as well; each takes well below one


UNREADABLE: dict[str, Callable[[], bytes]] = {
    "truncated": lambda: json.dumps(template()).encode()[:700],
    "binary": lambda: bytes(range(256)) * 8,
    "an object of nothing": lambda: b"{}",
    "too large": lambda: b'{"Resources": {"a": "' + b"x" * (21 * 1024 * 1024) + b'"}}',
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_is_2_with_one_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(UNREADABLE[kind]())
    start = time.monotonic()
    assert main(["check", str(file)]) == 2
    assert time.monotonic() - start < LONGEST_SECONDS
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"gpu-constructs: {file}")
    assert output.err.count("\n") == 1
    assert "internal error" not in output.err
    assert len(output.err) < 1_000


@pytest.mark.parametrize("kind", ["truncated", "binary", "too large"])
def test_stdin_is_held_to_the_same(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(UNREADABLE[kind]())))
    assert main(["check", "-"]) == 2
    assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize("path", ["nowhere.json", "", "a\0b", "x" * 5_000, "\udcff.json", "/dev/null"])
def test_a_path_that_leads_nowhere_is_2(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", path]) == 2
    message = capsys.readouterr().err
    assert message.startswith("gpu-constructs: ")
    assert "internal error" not in message


def test_a_parameter_with_thousands_of_values_is_bounded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = [f"g6.{number}xlarge" for number in range(20_000)]
    parameter = {"Type": "String", "Default": "g6.xlarge", "AllowedValues": ["g6.xlarge", *values]}
    body = template(instance_type={"Ref": "InstanceType"}, Parameters={"InstanceType": parameter})
    start = time.monotonic()
    main(["check", written(body, tmp_path / "t.json")])
    assert time.monotonic() - start < 5 * LONGEST_SECONDS
    assert "not tried: 19900 values of InstanceType" in capsys.readouterr().out


def test_names_of_a_template_cannot_drive_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = template(gpus="2\x1b[2J\n::error::owned")
    main(["check", written(body, tmp_path / "t.json")])
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert not any(line.startswith("::") for line in output.splitlines())


def test_names_as_long_as_a_file_do_not_fill_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = template(gpus="0")
    for name in ("Chat", "Provider"):
        body = json.loads(json.dumps(body).replace(f'"{name}"', f'"{name}{"x" * 1_000_000}"'))
    file = written(body, tmp_path / "t.json")
    for arguments in (["check", file], ["explain", f"Chat{'x' * 1_000_000}", file]):
        main(arguments)
        output = capsys.readouterr()
        assert "x" * 100 in output.out
        assert len(output.out + output.err) < 100_000


@pytest.mark.parametrize("text", ["a: *{}", "a: &{0} [*{0}]"])
def test_what_a_file_calls_its_values_is_quoted_in_part(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(text.format("x" * 1_000_000), encoding="utf-8")
    assert main(["check", str(file), "--format", "json"]) == 2
    output = capsys.readouterr()
    assert "xxx" in output.err
    assert len(output.err) < 1_000
    assert len(output.out) < 1_000
