"""``verify`` after a deploy on the emulator: what came up is held against what its instance types and tasks say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gpu_constructs.account import live_cluster
from gpu_constructs.cli.program import main

from .local import Local

Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def ask(cloud: Local, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setattr(live_cluster, "clients_of", lambda _: lambda name, _: cloud.account.client(name))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str) -> tuple[int, str]:
        code = main(["verify", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nothing"], "STACK: there is no stack 'nothing' in "),
        (["--cluster", "nothing"], "there is no cluster nothing"),
    ],
)
def test_what_is_not_there_is_2(ask: Ask, words: list[str], problem: str) -> None:
    code, said = ask(*words)
    assert (code, problem in said) == (2, True)
