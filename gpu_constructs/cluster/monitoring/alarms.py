"""The alarms of a monitored cluster: what each says, when it goes off, what to do then, and the resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from gpu_constructs.cdk.arguments import seconds_of
from gpu_constructs.cluster.monitoring.options import IDLE_PERIOD_MINUTES, AlarmLimits
from gpu_constructs.cluster.monitoring.watched import GROUP_METRIC, Formula, WatchedCluster, WatchedPool
from gpu_constructs.errors import UnknownNameError
from gpu_constructs.facts.values import dataclass

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns


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
        page = f"docs/monitoring.md#{self.says.lower().replace(' ', '-').replace(',', '')}"
        return f"{self.says} ({self.whose}). {self.runbook} More: gpu_constructs, {page}.{self.where}"


def alarms_of_cluster(cluster: WatchedCluster, limits: AlarmLimits) -> Iterator[PlannedAlarm]:
    """The alarms that a cluster has for all of its capacities together, in the order of the guide.

    The guide says where AWS describes what they watch, and what is not certain.
    """
    hosts = partial(
        PlannedAlarm,
        whose=f"cluster {cluster.name}",
        where=f" The hosts, by CloudWatch Logs Insights: {cluster.hosts_with_faults}",
    )
    events = partial(PlannedAlarm, whose=f"cluster {cluster.name}", where=f" The events: log group {cluster.event_log}")
    if limits.placement_failures is not None:
        yield events(
            id="CannotPlace",
            says="A service cannot place tasks",
            runbook="Read the reason in the dashboard: RESOURCE:GPU, an attribute or a constraint.",
            formula=cluster.events("PlacementFailures"),
            threshold=limits.placement_failures,
            period_seconds=300,
        )
    if limits.failed_gpus is not None and cluster.is_measured:
        yield hosts(
            id="GpuFailed",
            says="A GPU has failed",
            runbook="Drain the host and end it, unless recovery already does.",
            formula=Formula.of(cluster.gpu_series("UnhealthyGPUs"), "Hosts with a failed GPU"),
            threshold=limits.failed_gpus,
        )
    if limits.missing_gpus is not None and cluster.is_measured:
        yield hosts(
            id="MissingGpus",
            says="A host has fewer GPUs than its type",
            runbook="Drain the host and end it.",
            # Of the host that lacks most. A driver may still be loading, so that three minutes of five have to be bad.
            formula=Formula.of(cluster.gpu_series("MissingGPUs", "Maximum"), "GPUs that a host lacks"),
            threshold=limits.missing_gpus,
            periods=5,
            bad_periods=3,
        )
    if limits.interruptions_per_hour is not None:
        yield events(
            id="Interruptions",
            says="Tasks are lost with their hosts",
            runbook="Give the capacity more instance types or an on-demand base, and jobs checkpoints.",
            formula=cluster.events("LostTasks"),
            threshold=limits.interruptions_per_hour,
            period_seconds=3600,
        )


def alarms_of_pool(pool: WatchedPool, limits: AlarmLimits) -> Iterator[PlannedAlarm]:
    """The alarms of one capacity, in the order of the guide."""
    alarm = partial(PlannedAlarm, whose=f"capacity {pool.title} of {pool.cluster_name}")
    minutes = limits.tasks_wait_minutes
    if minutes is not None and pool.group_name is not None:
        yield alarm(
            id=f"{pool.title}TasksWait",
            says="Tasks wait longer than hosts need to start",
            runbook="Look at the activity of the Auto Scaling group: EC2 may have no capacity, or the hosts do not "
            "join.",
            # With a target below 100, ECS keeps the value there; above 100, tasks need hosts that are not there yet.
            formula=Formula.of(pool.demand, "Hosts needed, of those there are"),
            threshold=100,
            comparison="GREATER_THAN_THRESHOLD",
            periods=minutes,
            bad_periods=minutes,
        )
    if limits.idle_minutes is not None and pool.is_measured:
        periods = limits.idle_minutes // IDLE_PERIOD_MINUTES
        # GPUs times their average use is what all use together, divided by those that tasks hold: the use of these.
        series = {
            "there": pool.gpu_series("GPUs"),
            "reserved": pool.gpu_series("GPUsReserved"),
            "use": pool.gpu_series("GPUUtilization"),
        }
        expression = "IF(reserved > 0, there * use / reserved)"
        yield alarm(
            id=f"{pool.title}IdleGpus",
            says="GPUs are held and idle",
            runbook="Find the service in the dashboard, and scale it in or move it to a smaller host.",
            formula=Formula(expression=expression, label="Use of held GPUs", series=series),
            threshold=limits.idle_percent,
            comparison="LESS_THAN_THRESHOLD",
            period_seconds=IDLE_PERIOD_MINUTES * 60,
            periods=periods,
            bad_periods=periods,
        )
    minutes = limits.unmeasured_minutes
    if minutes is not None and pool.group_name is not None and pool.is_measured:
        # Each host that reads its GPUs sends their number once a minute.
        series = {
            "hosts": pool.group_series(GROUP_METRIC),
            "measured": pool.gpu_series("GPUs", "SampleCount"),
        }
        expression = "hosts - FILL(measured, 0)"
        yield alarm(
            id=f"{pool.title}Unmeasured",
            says="GPUs of a host are not measured",
            runbook="Read Problems in the log of the daemon: its image may measure nothing, or no daemon runs there.",
            formula=Formula(expression=expression, label="Hosts that are not measured", series=series),
            threshold=1,
            # All are bad: FILL makes the last minute bad until its values come.
            periods=minutes,
            bad_periods=minutes,
        )


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
    period = seconds_of(period_seconds)
    metrics = {
        name: cloudwatch.Metric(
            namespace=each.namespace,
            metric_name=each.name,
            dimensions_map=dict(each.dimensions),
            statistic=each.statistic,
            period=period,
        )
        for name, each in formula.series.items()
    }
    if formula.itself is not None:
        return next(iter(metrics.values()))
    return cloudwatch.MathExpression(
        expression=formula.expression, using_metrics=metrics, label=formula.label, period=period
    )
