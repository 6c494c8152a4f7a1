"""States of state machines that run GPU tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Step
from gpu_constructs.rules.jobs.states import has_a_time_limit, may_wait, stops_at_some_time
from gpu_constructs.rules.rule import Rule
from tests.rules.given import GPU_TASK, container, only, said, task_of


def _fleet(**changes: Any) -> Fleet:
    return Fleet(steps=(Step(**{"name": "Machine[Train]", "task": GPU_TASK, "waits": True, **changes}),))


ENDLESS = _fleet()
LOOP = _fleet(is_limited=True, way_back=("Pause",))
EXPRESS = _fleet(is_express=True)


@pytest.mark.parametrize(
    ("rule", "fleet"), [(has_a_time_limit, ENDLESS), (stops_at_some_time, LOOP), (may_wait, EXPRESS)]
)
def test_only_a_state_that_waits_for_a_gpu_task_is_meant(rule: Rule, fleet: Fleet) -> None:
    only(rule, fleet)
    (step,) = fleet.steps
    for other in ({"task": None}, {"task": task_of(container())}, {"waits": False}):
        assert said(rule, replace(fleet, steps=(replace(step, **other),))) == []


@pytest.mark.parametrize("limit", [True, UNKNOWN])
def test_a_limit_that_may_be_there_is_one(limit: Any) -> None:
    assert said(has_a_time_limit, _fleet(is_limited=limit)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"way_back": ()}, "each time that chat fails, Machine[Train] starts it again, and nothing counts how often"),
        ({"way_back": ("A", "B")}, "by way of A, B"),
        ({"way_around": ("Pause",)}, "each time that chat ends"),
        ({"way_polled": ("Look",), "waits": False}, "each time that chat fails, Machine[Train] starts it again by way"),
        ({"retries": 101}, "again up to 101 times when it fails"),
    ],
)
def test_what_never_stops_is_said_with_the_way(changes: dict[str, Any], words: str) -> None:
    assert words in only(stops_at_some_time, _fleet(is_limited=True, **changes)).message


@pytest.mark.parametrize("retries", [0, 100, UNKNOWN])
def test_a_number_of_retries_that_ends_is_fine(retries: Any) -> None:
    assert said(stops_at_some_time, _fleet(retries=retries)) == []


def test_an_express_workflow_is_said_once() -> None:
    assert said(has_a_time_limit, EXPRESS) == []
    assert said(may_wait, _fleet(is_express=UNKNOWN)) == []
