"""Targets of EventBridge that run GPU tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import Fleet, JobQueue, Origin, QueuedEnvironment, Starter, StrategyItem, Submission
from gpu_constructs.rules.jobs.targets import few_providers, names_a_job, overrides_its_containers
from tests.rules.given import a_pool, container, only, running_on, said, task_of

INPUT = Origin(resource="Nightly", path=("Resources", "Nightly", "Properties", "Target", "Input"))
SEVEN = tuple(StrategyItem(provider=f"p{number}", weight=1) for number in range(7))
QUEUE = JobQueue(name="Queue", environments=(QueuedEnvironment(name="Hosts"),))


def _run(**changes: Any) -> Fleet:
    return running_on(a_pool(), **{"starter": Starter.RULE, **changes})


@pytest.mark.parametrize("starter", [Starter.RULE, Starter.SCHEDULE, Starter.PIPE])
def test_a_target_takes_six_providers(starter: Starter) -> None:
    message = only(few_providers, _run(starter=starter, strategy=SEVEN)).message
    assert "7 capacity providers, and EventBridge takes 6" in message
    assert said(few_providers, _run(starter=starter, strategy=SEVEN[:6])) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"starter": Starter.STATE_MACHINE},
        {"starter": Starter.SERVICE},
        {"follows_cluster": True},
        {"origin": INPUT},
    ],
)
def test_what_calls_ecs_itself_takes_more(changes: dict[str, Any]) -> None:
    assert said(few_providers, _run(strategy=SEVEN, **changes)) == []


def test_a_strategy_that_ecs_does_not_take_either_is_said_once() -> None:
    many = tuple(StrategyItem(provider=f"p{number}", weight=1) for number in range(21))
    assert said(few_providers, _run(strategy=many)) == []


@pytest.mark.parametrize(("starter", "property_name"), [(Starter.SCHEDULE, "Arn"), (Starter.RULE, "BatchParameters")])
def test_a_queue_is_a_target_only_with_a_job(starter: Starter, property_name: str) -> None:
    target = Submission(name="Nightly", starter=starter, queue=QUEUE, names_job=False)
    fleet = Fleet(pools=(a_pool(),), submissions=(target,))
    assert only(names_a_job, fleet).property_name == property_name
    for other in (replace(target, names_job=True), replace(target, queue=None)):
        assert said(names_a_job, replace(fleet, submissions=(other,))) == []
    assert said(names_a_job, replace(fleet, pools=(a_pool("c7i.xlarge"),))) == []


def test_an_override_names_a_container() -> None:
    fleet = _run(overrides_others=(("trainer", INPUT),))
    assert "overrides container trainer, and chat has vllm" in only(overrides_its_containers, fleet).message
    assert said(overrides_its_containers, _run()) == []
    (run,) = fleet.workloads
    for task in (None, task_of(container())):
        assert said(overrides_its_containers, replace(fleet, workloads=(replace(run, task=task),))) == []
