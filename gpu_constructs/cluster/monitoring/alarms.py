"""The alarms of a monitored cluster: what each says, when it goes off, what to do then, and the resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from gpu_constructs.cluster.monitoring.events import COUNTED
from gpu_constructs.cluster.monitoring.options import IDLE_PERIOD_MINUTES, AlarmLimits
from gpu_constructs.cluster.monitoring.watched import Formula, Series, WatchedCluster, WatchedPool
from gpu_constructs.errors import UnknownNameError

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns

_PAGE = "docs/monitoring.md"
_FIVE_MINUTES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAlarm:
    """One alarm to define."""

    id: str
    says: str
    runbook: str
    formula: Formula
    threshold: float
    comparison: str = "GREATER_THAN_OR_EQUAL_TO_THRESHOLD"
    period_seconds: int = 60
    periods: int = 1
    bad_periods: int = 1
    whose: str = ""
    where: str = ""

    @property
    def description(self) -> str:
        """What people read when it goes off."""
        page = f"{_PAGE}#{self.says.lower().replace(' ', '-').replace(',', '')}"
        return f"{self.says} ({self.whose}). {self.runbook} More: gpu_constructs, {page}.{self.where}"


def alarms_of_cluster(cluster: WatchedCluster, limits: AlarmLimits) -> Iterator[PlannedAlarm]:
    """The alarms that a cluster has for all of its capacities together, in the order of the guide.

    The guide says where AWS describes what they watch, and what is not certain.
    """
    whose = f"cluster {cluster.name}"
    hosts = f" The hosts, by CloudWatch Logs Insights: {cluster.hosts_with_faults}"
    events = f" The events: log group {cluster.event_log}"
    for where, each in (
        (events, _cannot_place(cluster, limits)),
        (hosts, _failed(cluster, limits)),
        (hosts, _missing(cluster, limits)),
        (events, _interruptions(cluster, limits)),
        (events, _jobs_over_time(cluster, limits)),
    ):
        if each is not None:
            yield replace(each, whose=whose, where=where)


def alarms_of_pool(pool: WatchedPool, limits: AlarmLimits) -> Iterator[PlannedAlarm]:
    """The alarms of one capacity, in the order of the guide."""
    for alarm in (_tasks_wait, _idle, _at_maximum, _unmeasured, _block_ends):
        each = alarm(pool, limits)
        if each is not None:
            whose = f"capacity {pool.title} of {pool.cluster_name}"
            yield replace(each, id=f"{pool.title}{each.id}", whose=whose)


def _tasks_wait(pool: WatchedPool, limits: AlarmLimits) -> PlannedAlarm | None:
    minutes = limits.tasks_wait_minutes
    if minutes is None or pool.group_name is None:
        return None
    return PlannedAlarm(
        id="TasksWait",
        says="Tasks wait longer than hosts need to start",
        runbook="Look at the activity of the Auto Scaling group: EC2 may have no capacity, or the hosts do not join.",
        # With a target below 100, ECS keeps the value there; above 100, tasks need hosts that are not there yet.
        formula=Formula.of(pool.demand, "Hosts needed, of those there are"),
        threshold=100,
        comparison="GREATER_THAN_THRESHOLD",
        periods=minutes,
        bad_periods=minutes,
    )


def _idle(pool: WatchedPool, limits: AlarmLimits) -> PlannedAlarm | None:
    if limits.idle_minutes is None or not pool.is_measured:
        return None
    periods = limits.idle_minutes // IDLE_PERIOD_MINUTES
    # GPUs times their average use is what all use together, divided by those that tasks hold: the use of these.
    series = {
        "there": pool.gpu_series("GPUs"),
        "reserved": pool.gpu_series("GPUsReserved"),
        "use": pool.gpu_series("GPUUtilization"),
    }
    return PlannedAlarm(
        id="IdleGpus",
        says="GPUs are held and idle",
        runbook="Find the service in the dashboard, and scale it in or move it to a smaller host.",
        formula=Formula(expression="IF(reserved > 0, there * use / reserved)", label="Use of held GPUs", series=series),
        threshold=limits.idle_percent,
        comparison="LESS_THAN_THRESHOLD",
        period_seconds=IDLE_PERIOD_MINUTES * 60,
        periods=periods,
        bad_periods=periods,
    )


def _at_maximum(pool: WatchedPool, limits: AlarmLimits) -> PlannedAlarm | None:
    minutes = limits.at_maximum_minutes
    if minutes is None or pool.group_name is None or pool.is_fixed:
        return None
    series = {
        "wanted": pool.group_series("GroupDesiredCapacity"),
        "most": pool.group_series("GroupMaxSize"),
        "demand": pool.demand,
    }
    # A group that a schedule has taken to none is not full.
    expression = "IF((most > 0 AND wanted >= most) AND demand > 100, 1, 0)"
    return PlannedAlarm(
        id="AtMaximum",
        says="Tasks wait for a capacity that has all its hosts",
        runbook="Raise max_instances, or look for what holds hosts that it does not need.",
        formula=Formula(expression=expression, label="Is at its maximum, and tasks wait", series=series),
        threshold=1,
        periods=minutes,
        bad_periods=minutes,
    )


def _unmeasured(pool: WatchedPool, limits: AlarmLimits) -> PlannedAlarm | None:
    minutes = limits.unmeasured_minutes
    if minutes is None or pool.group_name is None or not pool.is_measured:
        return None
    # Each host that reads its GPUs sends their number once a minute.
    series = {
        "hosts": pool.group_series("GroupInServiceInstances"),
        "measured": pool.gpu_series("GPUs", "SampleCount"),
    }
    return PlannedAlarm(
        id="Unmeasured",
        says="GPUs of a host are not measured",
        runbook="Read lines with problem in the log of the daemon: its driver may be gone, or no daemon runs there.",
        formula=Formula(expression="hosts - FILL(measured, 0)", label="Hosts that are not measured", series=series),
        threshold=1,
        # All are bad: FILL makes the last minute bad until its values come.
        periods=minutes,
        bad_periods=minutes,
    )


def _block_ends(pool: WatchedPool, limits: AlarmLimits) -> PlannedAlarm | None:
    if not limits.capacity_block_ends or pool.block is None:
        return None
    return PlannedAlarm(
        id="BlockEnds",
        says="A Capacity Block is about to end",
        runbook="Its hosts end 30 minutes before the block does: let jobs write checkpoints now.",
        formula=Formula.of(pool.block_warnings(pool.block), COUNTED["BlockWarnings"].says),
        threshold=1,
        period_seconds=_FIVE_MINUTES,
    )


def _cannot_place(cluster: WatchedCluster, limits: AlarmLimits) -> PlannedAlarm | None:
    if limits.placement_failures is None:
        return None
    return PlannedAlarm(
        id="CannotPlace",
        says="A service cannot place tasks",
        runbook="Read the reason in the dashboard: RESOURCE:GPU, an attribute or a constraint.",
        formula=_number_of("PlacementFailures", cluster),
        threshold=limits.placement_failures,
        period_seconds=_FIVE_MINUTES,
    )


def _failed(cluster: WatchedCluster, limits: AlarmLimits) -> PlannedAlarm | None:
    if limits.failed_gpus is None or not cluster.is_measured:
        return None
    series = {"xids": cluster.gpu_series("FatalXids"), "unhealthy": cluster.gpu_series("UnhealthyGPUs")}
    return PlannedAlarm(
        id="GpuFailed",
        says="A GPU has failed",
        runbook="Drain the host and end it, unless recovery already does.",
        formula=Formula(expression="MAX([xids, unhealthy])", label="Faults of GPUs", series=series),
        threshold=limits.failed_gpus,
    )


def _missing(cluster: WatchedCluster, limits: AlarmLimits) -> PlannedAlarm | None:
    if limits.missing_gpus is None or not cluster.is_measured:
        return None
    return PlannedAlarm(
        id="MissingGpus",
        says="A host has fewer GPUs than its type",
        runbook="Drain the host and end it; check_gpus_at_boot keeps such hosts away from the start.",
        # Of the host that lacks most. A driver may still be loading, so that three minutes of five have to be bad.
        formula=Formula.of(cluster.gpu_series("MissingGPUs", "Maximum"), "GPUs that a host lacks"),
        threshold=limits.missing_gpus,
        periods=5,
        bad_periods=3,
    )


def _interruptions(cluster: WatchedCluster, limits: AlarmLimits) -> PlannedAlarm | None:
    if limits.interruptions_per_hour is None:
        return None
    return PlannedAlarm(
        id="Interruptions",
        says="Tasks are lost with their hosts",
        runbook="Give the capacity more instance types or an on-demand base, and jobs checkpoints.",
        formula=_number_of("LostTasks", cluster),
        threshold=limits.interruptions_per_hour,
        period_seconds=3600,
    )


def _jobs_over_time(cluster: WatchedCluster, limits: AlarmLimits) -> PlannedAlarm | None:
    if limits.jobs_over_time is None:
        return None
    return PlannedAlarm(
        id="JobsOverTime",
        says="A job was ended by its time limit",
        runbook="Read its log: it hangs, or it needs more time or a checkpoint to resume from.",
        formula=_number_of("JobsOverTime", cluster),
        threshold=limits.jobs_over_time,
        period_seconds=_FIVE_MINUTES,
    )


def _number_of(metric: str, cluster: WatchedCluster) -> Formula:
    return Formula.of(cluster.events(metric), COUNTED[metric].says)


class ClusterAlarms(Construct):
    """Holds the alarms of a cluster and of its capacities."""

    def __init__(self, scope: Construct, construct_id: str, *, notify: sns.ITopic | None) -> None:
        super().__init__(scope, construct_id)
        self._action = None if notify is None else actions.SnsAction(notify)
        self._made: dict[str, cloudwatch.Alarm] = {}

    @property
    def by_name(self) -> Mapping[str, cloudwatch.Alarm]:
        """The alarms, by their construct ids; another name is refused with those that look like it."""
        return _NamedAlarms(self._made)

    def add(self, planned: Iterable[PlannedAlarm]) -> None:
        """Defines alarms, but those that are there already."""
        for each in planned:
            if each.id in self._made:
                continue
            alarm = cloudwatch.Alarm(
                self,
                each.id,
                alarm_description=each.description,
                metric=_metric(each.formula, each.period_seconds),
                threshold=each.threshold,
                evaluation_periods=each.periods,
                datapoints_to_alarm=each.bad_periods,
                comparison_operator=cloudwatch.ComparisonOperator[each.comparison],
                # Without hosts there are no measurements, and without trouble there are no events.
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )
            self.tell_of(alarm)
            self._made[each.id] = alarm

    def tell_of(self, alarm: cloudwatch.Alarm) -> None:
        """Lets an alarm notify whom all of these do."""
        if self._action is not None:
            alarm.add_alarm_action(self._action)


class _NamedAlarms(dict[str, cloudwatch.Alarm]):
    def __missing__(self, name: str) -> cloudwatch.Alarm:
        raise UnknownNameError(
            "the cluster has no alarm of this name",
            argument="alarms",
            value=name,
            nearest=tuple(get_close_matches(str(name), self)),
            otherwise=f"one of {', '.join(self) or 'none so far'}",
        )


def _metric(formula: Formula, period_seconds: int) -> cloudwatch.IMetric:
    period = _seconds(period_seconds)
    if formula.itself is not None:
        return _metric_of(formula.itself, period)
    metrics = {name: _metric_of(each, period) for name, each in formula.series.items()}
    return cloudwatch.MathExpression(
        expression=formula.expression, using_metrics=metrics, label=formula.label, period=period
    )


def _metric_of(series: Series, period: cdk.Duration) -> cloudwatch.IMetric:
    return cloudwatch.Metric(
        namespace=series.namespace,
        metric_name=series.name,
        dimensions_map=dict(series.dimensions),
        statistic=series.statistic,
        period=period,
    )


@cache
def _seconds(seconds: int) -> cdk.Duration:
    return cdk.Duration.seconds(seconds)
