"""Colours only where somebody looks; nothing that a template says moves the cursor."""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping

import pytest

from gpu_constructs.cli.output import show, unstyled, wrapped_fix
from gpu_constructs.errors import clean

LINE = [("error", "error"), (" GPU001", "")]


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_terminal_gets_colours() -> None:
    screen = Screen()
    show([LINE], screen)
    assert screen.getvalue() == "\x1b[1;31merror\x1b[0m GPU001\n"


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_that_wants_none_gets_none(environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    screen = Screen()
    show([LINE], screen)
    assert screen.getvalue() == "error GPU001\n"


def test_a_pipe_gets_colours_only_where_they_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    show([LINE], stream)
    assert stream.getvalue() == "error GPU001\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    show([LINE], stream)
    assert stream.getvalue().endswith("\x1b[1;31merror\x1b[0m GPU001\n")
    monkeypatch.setenv("NO_COLOR", "1")
    show([LINE], stream)
    assert stream.getvalue().endswith("\nerror GPU001\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("g6.xlarge, 24 GB größer", "g6.xlarge, 24 GB größer"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\n::error::b", "a\\n::error::b"),
        ("\x9b31m", "\\x9b31m"),
        ("right\u202eleft", "right\\u202eleft"),
        ("\udc80", "\\udc80"),
    ],
)
def test_control_characters_are_written_out(text: str, shown: str) -> None:
    assert clean(text) == shown
    assert unstyled([(text, "error")]) == shown


def test_a_name_brings_no_colours_of_its_own() -> None:
    screen = Screen()
    show([[("\x1b[31mred", "")]], screen)
    assert screen.getvalue() == "\\x1b[31mred\n"


@pytest.mark.parametrize("width", [40, 80])
def test_a_command_on_several_lines_can_be_pasted(width: int) -> None:
    options = ["--cluster", "my own demo", "--capacity-providers", "it's"]
    words = ["aws", "ecs", "put-cluster-capacity-providers", *options]
    lines = list(wrapped_fix(shlex.join(words), width=width, indent=7))
    assert len(lines) > 1
    assert max(map(len, lines)) <= width - 7
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == words  # as a shell reads it
    assert not any(line.endswith("\\") for line in wrapped_fix("words " * 40, width=width, indent=7))
