"""Which events get into the log of a cluster, and which of them are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from moto.events.models import EventPattern

from . import recorded_events as recorded
from .log_queries import Event, counts
from .watched_site import Watched, watched

HOST_END = "Host EC2 (instance i-1234567890abcdef0) terminated."


@pytest.fixture(name="watched", scope="module")
def _watched() -> Watched:
    return watched()


def _delivered(watched: Watched, event: Any) -> bool:
    patterns = [each["EventPattern"] for each in watched.of_type("AWS::Events::Rule")]
    return any(EventPattern(json.dumps(each), each).matches_event(event) for each in patterns)


def _counted(watched: Watched, event: Event) -> set[str]:
    found = set()
    for each in watched.of_type("AWS::Logs::MetricFilter"):
        (metric,) = each["MetricTransformations"]
        assert metric["MetricNamespace"] == f"GpuConstructs/{watched.cluster}"
        if counts(each["FilterPattern"], event):
            found.add(metric["MetricName"])
    return found


@pytest.mark.parametrize(
    ("event", "metrics"),
    [
        (recorded.service_action("SERVICE_TASK_PLACEMENT_FAILURE"), {"PlacementFailures"}),
        (recorded.service_action("SERVICE_STEADY_STATE", kind="INFO"), set()),
        (recorded.task_stopped("TaskFailedToStart", "RESOURCE:GPU"), {"TasksNotStarted"}),
        (recorded.task_stopped("SpotInterruption", "Your Spot Task was interrupted."), {"LostTasks"}),
        (recorded.task_stopped("TerminationNotice", HOST_END), {"LostTasks"}),
        (recorded.task_stopped("EssentialContainerExited", "Essential container in task exited"), set()),
        (recorded.task_stopped("UserInitiated", "Task stopped by user"), set()),
        (recorded.deployment("SERVICE_DEPLOYMENT_FAILED"), set()),
    ],
)
def test_an_event_is_kept_and_counted(watched: Watched, event: Event, metrics: set[str]) -> None:
    assert _delivered(watched, event)
    assert _counted(watched, event) == metrics


@pytest.mark.parametrize(
    "event",
    [
        recorded.service_action("SERVICE_TASK_PLACEMENT_FAILURE", cluster=recorded.OTHER_CLUSTER),
        recorded.task_stopped("TerminationNotice", HOST_END, cluster=recorded.OTHER_CLUSTER),
        recorded.task_stopped("", "", status="RUNNING"),
    ],
)
def test_an_event_of_no_concern_is_not_kept(watched: Watched, event: Event) -> None:
    assert not _delivered(watched, event)
