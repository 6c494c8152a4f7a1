"""``verify`` after a deploy on the emulator: what came up is held against what its instance types and tasks say."""

from __future__ import annotations

import pytest
from emulator.local import Ask


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nothing"], "STACK: there is no stack 'nothing' in "),
        (["--cluster", "nothing"], "there is no cluster nothing"),
    ],
)
def test_what_is_not_there_is_2(ask: Ask, words: list[str], problem: str) -> None:
    code, said = ask("verify", *words)
    assert (code, problem in said) == (2, True)
