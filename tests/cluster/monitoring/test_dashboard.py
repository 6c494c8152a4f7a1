"""The dashboard shows what the samples say, as its body is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.cluster.monitoring.dashboard import body_of
from tools.draw_dashboard import PICTURE, picture

from .log_queries import answer_of
from .metric_math import Samples, lines_of
from .sample_hours import CLUSTER, EVENTS, samples
from .watched_site import watched

BODY: Any = body_of(CLUSTER)
SAMPLES: Samples = samples()
FAULTS = dict.fromkeys(("failed hosts", "missing GPUs", "unmeasured hosts", "Xids of programs"), 0)


def _widget(title: str) -> Any:
    (found,) = (each["properties"] for each in BODY["widgets"] if each["properties"].get("title") == title)
    return found


def _at(title: str, hours: float) -> dict[str, float]:
    found, second = _widget(title), int(hours * 3600)
    lines = lines_of(found["metrics"], SAMPLES, found["period"])
    return {each.label: round(each.values[second], 2) for each in lines if second in each.values}


@pytest.mark.parametrize(
    ("title", "hours", "values"),
    [
        ("GPUs of L4", 1, {"existing": 8, "reserved": 6, "used": 3.89}),
        ("GPUs of L4", 5, {"existing": 12, "reserved": 11, "used": 8.44}),
        ("GPUs of Spot", 3, {"existing": 5, "reserved": 5, "used": 4.77}),
        ("GPUs held by services", 5, {"chat": 11, "render": 5}),
        ("GPUs held by services", 1, {"chat": 6}),
        ("GPU memory by service", 5, {"chat": 88, "render": 47}),
        ("Tasks of services that wait", 6, {"chat": 0, "render": 2}),
        ("Hosts that tasks need", 2, {"L4": 100, "Spot": 200}),
        ("Tasks that do not start or lose their hosts", 8.5, {"not placed": 1}),
        ("Tasks that do not start or lose their hosts", 5.25, {"lost with their hosts": 2}),
        ("Power of all GPUs", 1, {"L4": 338.14}),
        ("Faults of GPUs", 8.5, FAULTS | {"failed hosts": 1}),
        ("Faults of GPUs", 2.5, FAULTS | {"Xids of programs": 2}),
    ],
)
def test_a_graph_shows(title: str, hours: float, values: dict[str, float]) -> None:
    assert _at(title, hours) == values


def test_a_table_says_why_services_cannot_place_tasks() -> None:
    rows = answer_of(_widget("Why services cannot place tasks")["query"], EVENTS)
    service = "arn:aws:ecs:us-east-1:111122223333:service/gpus/chat"
    assert rows == [
        {"times": "3", "service": service, "reason": "RESOURCE:GPU"},
        {"times": "1", "service": service, "reason": "RESOURCE:MEMORY"},
    ]


def test_a_table_has_hosts_with_faults_and_what_could_not_be_read() -> None:
    lines: list[dict[str, Any]] = [
        {"time": "1", "InstanceId": "i-1", "UnhealthyGPUs": 0, "MissingGPUs": 0},
        {"time": "2", "InstanceId": "i-2", "UnhealthyGPUs": 1, "MissingGPUs": 0, "Faults": ["XID_79"]},
        {"time": "3", "InstanceId": "i-3", "UnhealthyGPUs": 0, "MissingGPUs": 1},
        {"time": "4", "InstanceId": "i-4", "UnreadableHosts": 1, "Problems": ["No such file"]},
    ]
    rows = answer_of(_widget("Hosts with faults")["query"], lines)
    assert [(each["InstanceId"], each["missing"], each["what"]) for each in rows] == [
        ("i-4", "", "No such file"),
        ("i-3", "1", ""),
        ("i-2", "0", "XID_79"),
    ]


def test_a_cluster_without_capacity_has_no_graph_without_lines() -> None:
    body: Any = body_of(replace(CLUSTER, pools=()))
    graphs = [each["properties"] for each in body["widgets"] if each["type"] == "metric"]
    assert all(each["metrics"] for each in graphs)
    assert "Temperature of the hottest GPU" not in {each["title"] for each in graphs}


def test_the_dashboard_of_an_app_has_every_capacity_and_alarm() -> None:
    widgets = watched().dashboard["widgets"]
    titles = [each["properties"].get("title") for each in widgets]
    assert [each for each in titles if each and each.startswith("GPUs of")] == [
        "GPUs of L4",
        "GPUs of Spot",
        "GPUs of Block",
    ]
    assert len(widgets[1]["properties"]["alarms"]) == 14


def test_the_picture_in_the_guide_is_up_to_date() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run: make pictures"
