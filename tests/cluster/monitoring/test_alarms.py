"""Each alarm goes off when it should and is silent when it should be, as its resource is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from gpu_constructs import AlarmLimits, GpuJob, InvalidValueError
from tests.synthesis import Site

from .alarm_states import states_of
from .metric_math import Samples
from .watched_site import Watched, watched

HOUR = 3600


@pytest.fixture(name="watched", scope="module")
def _watched() -> Watched:
    return watched()


def _of_pool(watched: Watched, capacity: str) -> dict[str, str]:
    return {"ClusterName": watched.cluster, "CapacityProviderName": watched.provider(capacity)}


def _each_minute(
    metrics: Mapping[tuple[str, str], Mapping[int, float]], dimensions: Mapping[str, str], until: int = 2 * HOUR
) -> Samples:
    """A value each minute; each holds from its second on until the next one."""
    samples = Samples()
    for (namespace, name), changes in metrics.items():
        for second in range(0, until, 60):
            since = [at for at in changes if at <= second]
            if since:
                samples.send(namespace, name, dimensions, second, changes[max(since)])
    return samples


def _went_off(alarm: Mapping[str, Any], samples: Samples, until: int = 2 * HOUR) -> bool:
    return "ALARM" in states_of(alarm, samples, until)


@pytest.mark.parametrize(
    ("demand", "goes_off"),
    [
        ({0: 200}, True),
        ({0: 100}, False),
        # Hosts came after ten minutes, once and again.
        ({0: 100, 600: 200, 1200: 100, 1800: 200, 2400: 90}, False),
        ({0: 90, 600: 110}, True),
        # No demand was reported, as of a provider without tasks.
        ({}, False),
    ],
)
def test_tasks_wait(watched: Watched, demand: dict[int, float], goes_off: bool) -> None:
    samples = _each_minute({("AWS/ECS/ManagedScaling", "CapacityProviderReservation"): demand}, _of_pool(watched, "L4"))
    assert _went_off(watched.alarms["L4TasksWait"], samples) is goes_off


@pytest.mark.parametrize(
    ("there", "held", "use", "goes_off"),
    [
        (4, 4, {0: 0}, True),
        (4, 4, {0: 50}, False),
        # One of four is held and busy.
        (4, 1, {0: 20}, False),
        (4, 1, {0: 1}, True),
        # None is held: hosts that wait for tasks are what managed scaling takes away.
        (4, 0, {0: 0}, False),
        # A quiet night.
        (1, 1, {0: 0, 10 * HOUR: 80, 12 * HOUR: 0}, False),
    ],
)
def test_gpus_are_held_and_idle(
    watched: Watched, there: float, held: float, use: dict[int, float], goes_off: bool
) -> None:
    metrics = {"GPUs": {0: there}, "GPUsReserved": {0: held}, "GPUUtilization": use}
    samples = _each_minute(
        {("GpuConstructs", name): changes for name, changes in metrics.items()}, _of_pool(watched, "L4"), 22 * HOUR
    )
    assert _went_off(watched.alarms["L4IdleGpus"], samples, 22 * HOUR) is goes_off


def test_groups_send_what_the_alarms_and_the_dashboard_read(watched: Watched) -> None:
    groups = watched.of_type("AWS::AutoScaling::AutoScalingGroup")
    (collection,) = groups[0]["MetricsCollection"]
    assert collection["Granularity"] == "1Minute"
    assert len(groups) == 4
    assert all(each["MetricsCollection"] == [collection] for each in groups)
    assert collection["Metrics"] == ["GroupInServiceInstances"]


def test_metrics_that_the_user_asked_of_a_group_are_still_sent(site: Site) -> None:
    site.capacity("g6.xlarge", group_metrics=[autoscaling.GroupMetrics(autoscaling.GroupMetric.MIN_SIZE)])
    site.cluster.add_monitoring("Monitoring")
    sent = [each["Metrics"] for each in site.only("AWS::AutoScaling::AutoScalingGroup")["MetricsCollection"]]
    assert sent == [["GroupMinSize"], ["GroupInServiceInstances"]]


@pytest.mark.parametrize(
    ("metric", "values", "alarm", "goes_off"),
    [
        ("UnhealthyGPUs", {0: 0, 600: 1}, "GpuFailed", True),
        ("ApplicationXids", {0: 5}, "GpuFailed", False),
        ("UnhealthyGPUs", {0: 0}, "GpuFailed", False),
        ("MissingGPUs", {0: 0, 600: 1}, "MissingGpus", True),
        # A driver that was not ready for a minute.
        ("MissingGPUs", {0: 8, 60: 0}, "MissingGpus", False),
    ],
)
def test_gpus_fail_or_are_missing(
    watched: Watched, metric: str, values: dict[int, float], alarm: str, goes_off: bool
) -> None:
    samples = _each_minute({("GpuConstructs", metric): values}, {"ClusterName": watched.cluster})
    assert _went_off(watched.alarms[alarm], samples) is goes_off


@pytest.mark.parametrize(
    ("measured", "goes_off"),
    [
        ([2] * 120, False),
        # The daemon of one host is dead, or its driver is gone; then of all.
        ([2] * 30 + [1] * 90, True),
        ([2] * 30 + [0] * 90, True),
        # A host that started for ten minutes.
        ([1] * 10 + [2] * 110, False),
    ],
)
def test_hosts_that_are_in_service_and_not_measured(watched: Watched, measured: list[int], goes_off: bool) -> None:
    samples = _each_minute(
        {("AWS/AutoScaling", "GroupInServiceInstances"): {0: 2}}, {"AutoScalingGroupName": watched.group("L4")}
    )
    for minute, hosts in enumerate(measured):
        samples.send("GpuConstructs", "GPUs", _of_pool(watched, "L4"), 60 * minute, *[4] * hosts)
    assert _went_off(watched.alarms["L4Unmeasured"], samples) is goes_off


@pytest.mark.parametrize(
    ("metric", "alarm", "seconds", "goes_off"),
    [
        ("PlacementFailures", "CannotPlace", [700], True),
        ("PlacementFailures", "CannotPlace", [], False),
        ("LostTasks", "Interruptions", [600, 900, 3500], True),
        ("LostTasks", "Interruptions", [600, 900, 3700], False),
        ("TasksNotStarted", "CannotPlace", [10], False),
    ],
)
def test_events(watched: Watched, metric: str, alarm: str, seconds: list[int], goes_off: bool) -> None:
    samples = Samples()
    for second in seconds:
        samples.send(f"GpuConstructs/{watched.cluster}", metric, {}, second, 1)
    assert _went_off(watched.alarms[alarm], samples) is goes_off


def test_a_capacity_has_the_alarms_that_can_ever_go_off(watched: Watched) -> None:
    ids = set(watched.alarms)
    assert {each for each in ids if each.startswith("Block")} == {
        "BlockTasksWait",
        "BlockIdleGpus",
        "BlockUnmeasured",
    }
    assert {each for each in ids if each.startswith("Cpu")} == {"CpuTasksWait"}
    assert not {each for each in ids if each.startswith("Managed")}
    assert len(ids) == 14


@pytest.mark.parametrize(
    ("limits", "gone"),
    [
        ({"tasks_wait_minutes": None}, {"L4TasksWait"}),
        ({"unmeasured_minutes": None}, {"L4Unmeasured"}),
        ({"placement_failures": None}, {"CannotPlace"}),
        ({"idle_minutes": None}, {"L4IdleGpus"}),
        ({"failed_gpus": None, "missing_gpus": None}, {"GpuFailed", "MissingGpus"}),
        ({"interruptions_per_hour": None}, {"Interruptions"}),
    ],
)
def test_an_alarm_is_left_out(site: Site, limits: dict[str, Any], gone: set[str]) -> None:
    site.l4  # noqa: B018 - it is there before the monitoring
    left = site.cluster.add_monitoring("Monitoring", alarms=AlarmLimits(**limits)).alarms
    every = {"CannotPlace", "GpuFailed", "MissingGpus", "Interruptions"}
    every |= {"L4TasksWait", "L4IdleGpus", "L4Unmeasured"}
    assert set(left) == every - gone


def test_a_limit_is_changed(site: Site) -> None:
    limits = AlarmLimits(tasks_wait_minutes=45, idle_minutes=30, idle_percent=10, interruptions_per_hour=20)
    site.cluster.add_monitoring("Monitoring", alarms=limits)
    site.l4  # noqa: B018 - it comes after the monitoring
    alarms = {each["AlarmDescription"]["Fn::Join"][1][0]: each for each in site.properties("AWS::CloudWatch::Alarm")}
    (waits,) = (each for text, each in alarms.items() if text.startswith("Tasks wait longer"))
    (idle,) = (each for text, each in alarms.items() if text.startswith("GPUs are held"))
    assert (waits["EvaluationPeriods"], waits["DatapointsToAlarm"], waits["Period"]) == (45, 45, 60)
    assert (idle["EvaluationPeriods"], idle["DatapointsToAlarm"], idle["Threshold"]) == (6, 6, 10)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"tasks_wait_minutes": 0}, "tasks_wait_minutes: .*1 to 1440"),
        ({"idle_percent": 100}, "idle_percent: .*1 to 99"),
        ({"idle_percent": None}, "idle_percent: .*fix: idle_percent=5"),
        ({"idle_minutes": 2.5}, "idle_minutes: "),
        ({"idle_minutes": 7}, "idle_minutes: .*periods of 5 minutes.*fix: idle_minutes=5"),
    ],
)
def test_a_limit_that_no_alarm_has_is_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        AlarmLimits(**limits)


def test_alarms_of_measurements_come_with_the_first_capacity_that_is_measured(site: Site) -> None:
    alarms = site.cluster.add_monitoring("Monitoring").alarms
    assert set(alarms) == {"CannotPlace", "Interruptions"}
    site.managed(instance_types=["g6.xlarge"])
    site.capacity("c7i.large", name="Cpu")
    made = site.cluster.monitoring
    assert made is not None
    assert not {"GpuFailed", "MissingGpus"} & set(made.alarms)
    site.capacity("g6.xlarge")
    assert {"GpuFailed", "MissingGpus"} < set(made.alarms)


@pytest.mark.parametrize("is_first", [False, True])
def test_alarms_of_jobs_tell_whoever_is_told_of_the_cluster(site: Site, is_first: bool) -> None:
    task = site.task()
    task.add_gpu_container("train", image=site.image, gpus=1)

    def monitoring() -> None:
        site.cluster.add_monitoring("Monitoring", notify=sns.Topic(site.stack, "Topic"))

    if not is_first:
        monitoring()
    job = GpuJob(site.stack, "Job", cluster=site.cluster, task_definition=task, timeout=cdk.Duration.hours(1))
    job.run_from_queue("Queue", queue=sqs.Queue(site.stack, "Work"))
    if is_first:
        monitoring()
    alarms = site.properties("AWS::CloudWatch::Alarm")
    assert any(
        each["AlarmDescription"].startswith("Jobs that failed")
        for each in alarms
        if isinstance(each["AlarmDescription"], str)
    )
    assert all(each["AlarmActions"] == [{"Ref": "TopicBFC7AF6E"}] for each in alarms)


def test_every_alarm_says_what_to_do_where_the_guide_says_more(watched: Watched) -> None:
    for name in ("GpuFailed", "MissingGpus"):
        text = watched.alarms[name]["AlarmDescription"]
        assert "filter UnhealthyGPUs > 0 or MissingGPUs > 0" in text
        assert f"cluster {watched.cluster}" in text
    texts = [each["AlarmDescription"] for each in watched.alarms.values()]
    assert all("docs/monitoring.md#" in each and len(each) < 1024 for each in texts)
