"""Runs of GPU tasks that end: their states, their overrides, and their checkpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Origin, Starter, Step
from gpu_constructs.rules.jobs.runs import ends_at_some_time, overrides_its_containers
from tests.rules.given import GPU_TASK, a_pool, container, only, running_on, said, task_of

INPUT = Origin(resource="Nightly", path=("Resources", "Nightly", "Properties", "Target", "Input"))


def _fleet(**changes: Any) -> Fleet:
    return Fleet(steps=(Step(**{"name": "Machine[Train]", "task": GPU_TASK, "waits": True, **changes}),))


@pytest.mark.parametrize("changes", [{}, {"is_limited": True, "way_back": ("Pause",)}])
def test_only_a_state_that_waits_for_a_gpu_task_is_meant(changes: dict[str, Any]) -> None:
    fleet = _fleet(**changes)
    only(ends_at_some_time, fleet)
    (step,) = fleet.steps
    for other in ({"task": None}, {"task": task_of(container())}, {"waits": False}):
        assert said(ends_at_some_time, replace(fleet, steps=(replace(step, **other),))) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"way_back": ()}, "each time that chat fails, Machine[Train] starts it again, and nothing counts how often"),
        ({"way_back": ("A", "B")}, "by way of A, B"),
        ({"retries": 101}, "again up to 101 times when it fails"),
    ],
)
def test_what_never_stops_is_said_with_the_way(changes: dict[str, Any], words: str) -> None:
    assert words in only(ends_at_some_time, _fleet(is_limited=True, **changes)).message


@pytest.mark.parametrize("limit", [True, UNKNOWN])
@pytest.mark.parametrize("retries", [0, 100, UNKNOWN])
def test_what_ends_or_may_end_is_fine(limit: Any, retries: Any) -> None:
    assert said(ends_at_some_time, _fleet(is_limited=limit, retries=retries)) == []


def test_an_override_names_a_container() -> None:
    fleet = running_on(a_pool(), starter=Starter.RULE, overrides_others=(("trainer", INPUT),))
    assert "overrides container trainer, and chat has vllm" in only(overrides_its_containers, fleet).message
    (run,) = fleet.workloads
    for changes in ({"overrides_others": ()}, {"task": None}, {"task": task_of(container())}):
        assert said(overrides_its_containers, replace(fleet, workloads=(replace(run, **changes),))) == []
