"""The fuzzer starts from texts that are right, and tells a refusal from a fault."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from bench import fuzz, odd_values
from bench.fuzz import TARGETS, Tally, Target, tried
from gpu_constructs.errors import GpuConstructsError
from tests.examples import times


def reader(error: Exception | None) -> Target:
    def read(_: str) -> None:
        if error is not None:
            raise error

    return Target(read=read, texts=st.text(), seeds=())


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name, each in TARGETS.items() for seed in each.seeds])
def test_every_seed_is_accepted(name: str, seed: str) -> None:
    tally = Tally()
    tried(TARGETS[name], seed, tally)
    assert (tally.inputs, tally.accepted) == (1, 1)


def test_a_refusal_is_counted_and_is_no_fault() -> None:
    tally = Tally()
    tried(reader(GpuConstructsError("no")), "x", tally)
    assert (tally.inputs, tally.accepted) == (1, 0)


def test_any_other_exception_is_a_fault() -> None:
    with pytest.raises(KeyError):
        tried(reader(KeyError("x")), "x", Tally())


def test_a_reader_that_takes_too_long_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SLOWEST", -1.0)
    with pytest.raises(AssertionError, match="s for 1 characters"):
        tried(reader(None), "x", Tally())


def test_as_many_texts_are_tried_as_asked_for() -> None:
    assert fuzz._at_random(reader(None), 10).inputs == 10


def test_another_value_in_place_of_any_text_ends_no_check() -> None:
    made = list(odd_values.at_once(*odd_values.VALUES.values()))  # `make fuzz` puts each at each place
    tried_once = made[:: max(1, 5 // times(1))]  # six values take turns
    for template in tried_once:
        odd_values.asked(template)
    assert len(tried_once) > 100
