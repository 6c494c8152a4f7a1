"""What alarms and the dashboard read is sent, under the dimensions that they name, and CloudWatch takes each one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from gpu_constructs.cluster.monitoring.events import COUNTED
from gpu_constructs.cluster.monitoring.watched import GROUP_METRIC

from .emf import SETS
from .recorded_events import CLUSTER
from .watched_site import Watched, watched

SENT: dict[tuple[str, str], set[tuple[str, ...]]] = {
    **{("GpuConstructs", name): set(sets) for name, sets in SETS.items()},
    **{(f"GpuConstructs/{CLUSTER.rpartition('/')[2]}", each): {()} for each in COUNTED},
    ("AWS/AutoScaling", GROUP_METRIC): {("AutoScalingGroupName",)},
    # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-auto-scaling.html
    ("AWS/ECS/ManagedScaling", "CapacityProviderReservation"): {("ClusterName", "CapacityProviderName")},
    # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/monitoring-managed-instances.html
    ("ECS/ContainerInsights", "PendingTaskCount"): {("ClusterName", "ServiceName")},
    ("ECS/ContainerInsights", "TaskGPUUtilization"): {("ClusterName", "ServiceName")},
    ("ECS/ContainerInsights", "TaskGPUMemoryUtilization"): {("ClusterName", "ServiceName")},
    # https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html
    ("AWS/States", "ExecutionsFailed"): {("StateMachineArn",)},
    ("AWS/States", "ExecutionsTimedOut"): {("StateMachineArn",)},
}
SEARCHED = re.compile(r"SEARCH\('\{([\w/]+),(\w+),(\w+)\} ClusterName=\"\w+\" MetricName=\"(\w+)\"', '(\w+)', 300\)")
STATISTICS = {"Average", "Maximum", "SampleCount", "Sum"}


@pytest.fixture(name="site", scope="module")
def _site() -> Watched:
    return watched()


def _read_by(alarm: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, int]]:
    """Each metric of an alarm, with its statistic and its period."""
    if "MetricName" in alarm:
        yield alarm, alarm["Statistic"], alarm["Period"]
    for query in alarm.get("Metrics", ()):
        if "MetricStat" in query:
            stat = query["MetricStat"]
            yield stat["Metric"], stat["Stat"], stat["Period"]


def test_alarms_read_what_is_sent_over_a_time_that_cloudwatch_takes(site: Watched) -> None:
    alarms = site.of_type("AWS::CloudWatch::Alarm")
    assert len(alarms) == 14
    for alarm in alarms:
        for metric, statistic, period in _read_by(alarm):
            dimensions = tuple(each["Name"] for each in metric.get("Dimensions", ()))
            sets = SENT[metric["Namespace"], metric["MetricName"]]
            assert {frozenset(dimensions)} <= {*map(frozenset, sets)}
            assert statistic in STATISTICS
            assert period % 60 == 0
            # https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
            assert period * alarm["EvaluationPeriods"] <= 24 * 3600 * (1 if period < 3600 else 7)
        assert 1 <= alarm.get("DatapointsToAlarm", 1) <= alarm["EvaluationPeriods"]
        assert alarm["TreatMissingData"] == "notBreaching"
        queries = alarm.get("Metrics", [])
        assert not queries or [each.get("ReturnData", True) for each in queries].count(True) == 1
        ids = {each["Id"] for each in queries}
        for each in queries:
            assert set(re.findall(r"\b[a-z]\w*\b", each.get("Expression", ""))) <= ids


def test_graphs_read_what_is_sent(site: Watched) -> None:
    for widget in (each["properties"] for each in site.dashboard["widgets"] if each["type"] == "metric"):
        rows = widget["metrics"]
        ids = {options["id"] for *_, options in rows if "id" in options}
        assert rows
        for row in rows:
            if len(row) > 1:
                namespace, name, *dimensions, options = row
                assert tuple(dimensions[::2]) in SENT[namespace, name]
                assert options["stat"] in STATISTICS
            elif found := SEARCHED.match(row[0]["expression"]):
                namespace, *dimensions, name, statistic = found.groups()
                assert tuple(dimensions) in SENT[namespace, name]
                assert statistic in STATISTICS
            else:
                assert set(re.findall(r"\b[a-z]\w*\b", row[0]["expression"])) <= ids
