"""Definitions of state machines that run GPU work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import Fleet, LostState, MisplacedField, StateMachine, StateNumber
from gpu_constructs.rules import Severity
from gpu_constructs.rules.jobs.definitions import accepted_numbers, leads_somewhere, limits_tasks_only
from tests.rules.given import GPU_TASK, container, only, said, task_of

MACHINE = StateMachine(name="Machine", tasks=(GPU_TASK,))


def of(**changes: Any) -> Fleet:
    return Fleet(machines=(replace(MACHINE, **changes),))


def numbers(**values: float) -> Fleet:
    return of(numbers=tuple(StateNumber(state="Train", key=key.replace("_", "."), value=values[key]) for key in values))


@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("TimeoutSeconds", (-1, 0, 100_000_000), (1, 99_999_999)),
        ("HeartbeatSeconds", (0,), (1,)),
        ("Seconds", (-1, 100_000_000), (0, 99_999_999)),
        ("Retry_MaxAttempts", (-1, 100_000_000), (0, 99_999_999)),
        ("Retry_BackoffRate", (0.5, 0), (1, 1.5)),
        ("Retry_IntervalSeconds", (0,), (1,)),
        ("MaxConcurrency", (-1,), (0, 1000)),
    ],
)
def test_numbers_have_their_limits(key: str, wrong: tuple[float, ...], right: tuple[float, ...]) -> None:
    for each in wrong:
        assert only(accepted_numbers, numbers(**{key: each})).value == each
    for each in right:
        assert said(accepted_numbers, numbers(**{key: each})) == []


def test_a_heartbeat_comes_before_the_time_limit() -> None:
    finding = only(accepted_numbers, numbers(TimeoutSeconds=60, HeartbeatSeconds=60))
    assert finding.severity is Severity.WARNING
    assert finding.allowed == "less than 60"
    assert said(accepted_numbers, numbers(TimeoutSeconds=60, HeartbeatSeconds=59)) == []


@pytest.mark.parametrize(
    ("lost", "message", "fix"),
    [
        ({"key": "Next", "target": "Dome"}, "Next of Train is Dome, and no state there has that name", "Done"),
        ({"state": "", "key": "StartAt", "target": "x"}, "StartAt is x", "the name of a state"),
        ({"key": "Next"}, "Train has neither Next nor End", "End: true, or Next with the name of a state"),
        ({}, "no way leads to Train", "Next Train of a state before it, or no such state"),
    ],
)
def test_a_way_that_leads_nowhere_is_named(lost: dict[str, Any], message: str, fix: str) -> None:
    finding = only(leads_somewhere, of(lost=(LostState(**{"state": "Train", "names": ("Train", "Done"), **lost}),)))
    assert finding.message.startswith(message)
    assert finding.fix == fix


def test_a_map_has_no_time_limit() -> None:
    fleet = of(misplaced=(MisplacedField(state="Each", kind="Map", key="TimeoutSeconds"),))
    assert "Each of Machine is a Map state with TimeoutSeconds" in only(limits_tasks_only, fleet).message


def test_machines_without_gpus_are_not_meant() -> None:
    for each in ((), (task_of(container()),)):
        fleet = replace(numbers(TimeoutSeconds=0).machines[0], tasks=each)
        assert said(accepted_numbers, Fleet(machines=(fleet,))) == []
