"""The deadline of all calls of a command."""

from __future__ import annotations

from threading import Event

import pytest

from gpu_constructs.account import deadline
from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.deadline import Deadline

CALL = "ecs:DescribeTasks"


def test_a_call_in_time_is_answered_or_raises_what_it_raises() -> None:
    said: list[str] = []
    of = Deadline(60, said.append)
    assert of.call(CALL, lambda: 7) == 7
    with pytest.raises(TimeoutError, match="its own"):
        of.call(CALL, _fails)
    assert not said


def _fails() -> None:
    raise TimeoutError("its own")


def test_a_call_that_hangs_is_left_and_no_other_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "_QUIET", 0.01)
    never, made, said = Event(), Event(), list[str]()
    of = Deadline(0.1, said.append)
    with pytest.raises(UnansweredError, match=f"did not answer {CALL}: the 0.1 seconds of the command were over"):
        of.call(CALL, never.wait)
    with pytest.raises(UnansweredError, match="was not asked iam:GetRole"):
        of.call("iam:GetRole", made.set)
    assert not made.is_set()
    assert said == [f"waiting for {CALL}, for 0 seconds at most"]
    never.set()
