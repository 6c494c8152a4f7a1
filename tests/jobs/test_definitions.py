"""Step Functions takes every definition that this library writes: states lead somewhere, and numbers have limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.cluster.monitoring.recovery_states import recovery_definition
from gpu_constructs.jobs.job_run import JobRetries
from gpu_constructs.jobs.messages import worker_of
from gpu_constructs.jobs.states import definition_of
from tests.cluster.monitoring.test_recovery import RUN as RECOVERY
from tests.jobs.test_states import RUN

# https://states-language.net/spec.html
SECONDS = (1, 99_999_999)
NUMBERS = {
    "BackoffRate": (1, float("inf")),
    "HeartbeatSeconds": SECONDS,
    "IntervalSeconds": SECONDS,
    "MaxAttempts": (0, 99_999_999),
    "MaxConcurrency": (0, 40),
    "Seconds": (0, 99_999_999),
    "TimeoutSeconds": SECONDS,
}


def machines(definition: Any) -> Iterator[Any]:
    """The machine and those inside of its maps and branches."""
    yield definition
    for state in definition["States"].values():
        inner = [state["ItemProcessor"]] if state["Type"] == "Map" else state.get("Branches", ())
        for each in inner:
            yield from machines(each)


def ways(state: Any) -> set[str]:
    """The states that may follow one."""
    rules = [*state.get("Choices", ()), *state.get("Catch", ())]
    return {each for each in (state.get("Next"), state.get("Default"), *(rule["Next"] for rule in rules)) if each}


def numbers(value: Any) -> Iterator[tuple[str, Any]]:
    """Every number of the states, without what they ask for and compare with."""
    for state in value["States"].values():
        for entry in (state, *state.get("Retry", ())):
            yield from ((key, each) for key, each in entry.items() if isinstance(each, (int, float)) and key != "End")


def require_sound(definition: Any) -> None:
    found = list(machines(definition))
    names = [name for machine in found for name in machine["States"]]
    assert len(names) == len(set(names))
    for machine in found:
        states = machine["States"]
        reached = {machine["StartAt"]}
        while more := {following for name in reached for following in ways(states[name])} - reached:
            reached |= more
        # Step Functions refuses a state that nothing leads to.
        assert set(states) == reached
        for state in states.values():
            ends = state["Type"] in {"Choice", "Fail", "Succeed"}
            assert ends or ("Next" in state) is not state.get("End", False)
            assert state["Type"] == "Task" or not {"TimeoutSeconds", "HeartbeatSeconds"} & set(state)
        for key, number in numbers(machine):
            least, most = NUMBERS[key]
            assert least <= number <= most, key
    assert SECONDS[0] <= definition["TimeoutSeconds"] <= 365 * 24 * 3600


times = st.integers(0, 100)
retries = st.builds(
    JobRetries,
    no_host=times,
    not_started=times,
    lost_host=times,
    exit_codes=st.dictionaries(st.integers(1, 255), times, max_size=10),
)


@given(retries, st.integers(60, 3_600), st.sampled_from([(), ("spot",)]))
def test_of_jobs(budgets: JobRetries, seconds: int, spot: tuple[str, ...]) -> None:
    require_sound(definition_of(replace(RUN, timeout_seconds=seconds, spot=spot), budgets))


@given(st.integers(1, 999), st.integers(60, 365 * 24 * 3600))
def test_of_workers(most: int, seconds: int) -> None:
    definition = worker_of(partition="aws", queue="q", failed="f", job="arn", most=most, longest_seconds=seconds)
    require_sound(definition)
    # SQS holds a message for 12 hours from when it was received.
    assert 60 < definition["States"]["Hold"]["Parameters"]["VisibilityTimeout"] <= 12 * 3600 - 60


@pytest.mark.parametrize("providers", [[], ["l4"]])
@pytest.mark.parametrize("seconds", [60, 3600, 48 * 3600])
def test_of_the_recovery(providers: list[str], seconds: int) -> None:
    require_sound(recovery_definition(replace(RECOVERY, providers=providers, drain_seconds=seconds)))
