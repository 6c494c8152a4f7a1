"""The alarms of a monitored cluster: what each says, when it goes off, what to do then, and the resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from gpu_constructs.errors import UnknownNameError
from gpu_constructs.monitoring.events import COUNTED
from gpu_constructs.monitoring.options import IDLE_PERIOD_MINUTES, AlarmLimits
from gpu_constructs.monitoring.watched import Formula, Series, WatchedCluster, WatchedPool

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns

_PAGE = "docs/monitoring.md"
_FIVE_MINUTES = 300


class Comparison(Enum):
    """How a bad value compares with the threshold, by the names that CDK has for it."""

    ABOVE = "GREATER_THAN_THRESHOLD"
    AT_LEAST = "GREATER_THAN_OR_EQUAL_TO_THRESHOLD"
    BELOW = "LESS_THAN_THRESHOLD"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmCondition:
    """When an alarm goes off.

    Attributes:
        formula: What it watches.
        threshold: What the value of a period is compared with.
        comparison: How a bad value compares with it.
        period_seconds: How long a period is.
        periods: How many periods it looks at.
        bad_periods: How many of these have to be bad.
    """

    formula: Formula
    threshold: float
    comparison: Comparison = Comparison.AT_LEAST
    period_seconds: int = 60
    periods: int = 1
    bad_periods: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmKind:
    """An alarm.

    Attributes:
        id: Its construct id; of the alarm of a capacity, what follows the id of that.
        says: What is the case when it goes off.
        runbook: What to do then, in a line.
        is_of_hosts: Whether the log of the daemon has the hosts that it goes off for.
        of_cluster: When it goes off, as an alarm of the cluster; None where each capacity has one.
        of_pool: The same for a capacity; None where the cluster has one, or this capacity needs none.
    """

    id: str
    says: str
    runbook: str
    of_cluster: Callable[[WatchedCluster, AlarmLimits], AlarmCondition | None] | None = None
    of_pool: Callable[[WatchedPool, AlarmLimits], AlarmCondition | None] | None = None
    is_of_hosts: bool = False

    @property
    def page(self) -> str:
        """Where the guide says more."""
        return f"{_PAGE}#{self.says.lower().replace(' ', '-').replace(',', '')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAlarm:
    """One alarm to define.

    Attributes:
        id: Its construct id.
        description: What people read when it goes off.
        condition: When it does.
    """

    id: str
    description: str
    condition: AlarmCondition


def alarms_of_cluster(cluster: WatchedCluster, limits: AlarmLimits) -> Iterator[PlannedAlarm]:
    """The alarms that a cluster has for all of its capacities together."""
    for kind in ALARMS:
        condition = kind.of_cluster and kind.of_cluster(cluster, limits)
        if condition is not None:
            yield PlannedAlarm(id=kind.id, description=_of_cluster(kind, cluster), condition=condition)


def alarms_of_pool(pool: WatchedPool, limits: AlarmLimits) -> Iterator[PlannedAlarm]:
    """The alarms of one capacity."""
    for kind in ALARMS:
        condition = kind.of_pool and kind.of_pool(pool, limits)
        if condition is not None:
            whose = f"capacity {pool.title} of {pool.cluster_name}"
            yield PlannedAlarm(id=f"{pool.title}{kind.id}", description=_description(kind, whose), condition=condition)


def _of_cluster(kind: AlarmKind, cluster: WatchedCluster) -> str:
    text = _description(kind, f"cluster {cluster.name}")
    if kind.is_of_hosts:
        return f"{text} The hosts, by CloudWatch Logs Insights: {cluster.hosts_with_faults}"
    return f"{text} The events: log group {cluster.event_log}"


def _description(kind: AlarmKind, whose: str) -> str:
    return f"{kind.says} ({whose}). {kind.runbook} More: gpu_constructs, {kind.page}."


def _tasks_wait(pool: WatchedPool, limits: AlarmLimits) -> AlarmCondition | None:
    minutes = limits.tasks_wait_minutes
    if minutes is None or pool.group_name is None:
        return None
    # With a target below 100, ECS keeps the value there; above 100, tasks need hosts that are not there yet.
    return AlarmCondition(
        formula=Formula.of(pool.demand, "Hosts needed, of those there are"),
        threshold=100,
        comparison=Comparison.ABOVE,
        periods=minutes,
        bad_periods=minutes,
    )


def _idle(pool: WatchedPool, limits: AlarmLimits) -> AlarmCondition | None:
    if limits.idle_minutes is None or not pool.is_measured:
        return None
    periods = limits.idle_minutes // IDLE_PERIOD_MINUTES
    # GPUs times their average use is what all use together, divided by those that tasks hold: the use of these.
    series = {
        "there": pool.gpu_series("GPUs"),
        "reserved": pool.gpu_series("GPUsReserved"),
        "use": pool.gpu_series("GPUUtilization"),
    }
    return AlarmCondition(
        formula=Formula(expression="IF(reserved > 0, there * use / reserved)", label="Use of held GPUs", series=series),
        threshold=limits.idle_percent,
        comparison=Comparison.BELOW,
        period_seconds=IDLE_PERIOD_MINUTES * 60,
        periods=periods,
        bad_periods=periods,
    )


def _at_maximum(pool: WatchedPool, limits: AlarmLimits) -> AlarmCondition | None:
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
    return AlarmCondition(
        formula=Formula(expression=expression, label="Is at its maximum, and tasks wait", series=series),
        threshold=1,
        periods=minutes,
        bad_periods=minutes,
    )


def _unmeasured(pool: WatchedPool, limits: AlarmLimits) -> AlarmCondition | None:
    minutes = limits.unmeasured_minutes
    if minutes is None or pool.group_name is None or not pool.is_measured:
        return None
    # Each host that reads its GPUs sends their number once a minute.
    series = {
        "hosts": pool.group_series("GroupInServiceInstances"),
        "measured": pool.gpu_series("GPUs", "SampleCount"),
    }
    return AlarmCondition(
        formula=Formula(expression="hosts - FILL(measured, 0)", label="Hosts that are not measured", series=series),
        threshold=1,
        # All are bad: FILL makes the last minute bad until its values come.
        periods=minutes,
        bad_periods=minutes,
    )


def _failed(cluster: WatchedCluster, limits: AlarmLimits) -> AlarmCondition | None:
    if limits.failed_gpus is None or not cluster.is_measured:
        return None
    series = {"xids": cluster.gpu_series("FatalXids"), "unhealthy": cluster.gpu_series("UnhealthyGPUs")}
    formula = Formula(expression="MAX([xids, unhealthy])", label="Faults of GPUs", series=series)
    return AlarmCondition(formula=formula, threshold=limits.failed_gpus)


def _missing(cluster: WatchedCluster, limits: AlarmLimits) -> AlarmCondition | None:
    if limits.missing_gpus is None or not cluster.is_measured:
        return None
    # Of the host that lacks most. A driver may still be loading, so that three minutes of five have to be bad.
    formula = Formula.of(cluster.gpu_series("MissingGPUs", "Maximum"), "GPUs that a host lacks")
    return AlarmCondition(formula=formula, threshold=limits.missing_gpus, periods=5, bad_periods=3)


def _block_ends(pool: WatchedPool, limits: AlarmLimits) -> AlarmCondition | None:
    if not limits.capacity_block_ends or pool.block is None:
        return None
    formula = Formula.of(pool.block_warnings(pool.block), COUNTED["BlockWarnings"].says)
    return AlarmCondition(formula=formula, threshold=1, period_seconds=_FIVE_MINUTES)


def _counts(
    metric: str, limit: Callable[[AlarmLimits], int | None], period_seconds: int = _FIVE_MINUTES
) -> Callable[[WatchedCluster, AlarmLimits], AlarmCondition | None]:
    """An alarm for so many events in a period."""

    def condition(cluster: WatchedCluster, limits: AlarmLimits) -> AlarmCondition | None:
        most = limit(limits)
        if most is None:
            return None
        formula = Formula.of(cluster.events(metric), COUNTED[metric].says)
        return AlarmCondition(formula=formula, threshold=most, period_seconds=period_seconds)

    return condition


ALARMS: tuple[AlarmKind, ...] = (
    AlarmKind(
        id="TasksWait",
        says="Tasks wait longer than hosts need to start",
        runbook="Look at the activity of the Auto Scaling group: EC2 may have no capacity, or the hosts do not join.",
        of_pool=_tasks_wait,
    ),
    AlarmKind(
        id="CannotPlace",
        says="A service cannot place tasks",
        runbook="Read the reason in the dashboard: RESOURCE:GPU, an attribute or a constraint.",
        of_cluster=_counts("PlacementFailures", lambda limits: limits.placement_failures),
    ),
    AlarmKind(
        id="IdleGpus",
        says="GPUs are held and idle",
        runbook="Find the service in the dashboard, and scale it in or move it to a smaller host.",
        of_pool=_idle,
    ),
    AlarmKind(
        id="AtMaximum",
        says="Tasks wait for a capacity that has all its hosts",
        runbook="Raise max_instances, or look for what holds hosts that it does not need.",
        of_pool=_at_maximum,
    ),
    AlarmKind(
        id="Unmeasured",
        says="GPUs of a host are not measured",
        runbook="Read lines with problem in the log of the daemon: its driver may be gone, or no daemon runs there.",
        of_pool=_unmeasured,
    ),
    AlarmKind(
        id="GpuFailed",
        says="A GPU has failed",
        runbook="Drain the host and end it, unless recovery already does.",
        of_cluster=_failed,
        is_of_hosts=True,
    ),
    AlarmKind(
        id="MissingGpus",
        says="A host has fewer GPUs than its type",
        runbook="Drain the host and end it; check_gpus_at_boot keeps such hosts away from the start.",
        of_cluster=_missing,
        is_of_hosts=True,
    ),
    AlarmKind(
        id="Interruptions",
        says="Tasks are lost with their hosts",
        runbook="Give the capacity more instance types or an on-demand base, and jobs checkpoints.",
        of_cluster=_counts("LostTasks", lambda limits: limits.interruptions_per_hour, 3600),
    ),
    AlarmKind(
        id="JobsOverTime",
        says="A job was ended by its time limit",
        runbook="Read its log: it hangs, or it needs more time or a checkpoint to resume from.",
        of_cluster=_counts("JobsOverTime", lambda limits: limits.jobs_over_time),
    ),
    AlarmKind(
        id="BlockEnds",
        says="A Capacity Block is about to end",
        runbook="Its hosts end 30 minutes before the block does: let jobs write checkpoints now.",
        of_pool=_block_ends,
    ),
)
"""Every alarm, in the order of the guide, which says where AWS describes what they watch, and what is not certain."""


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
            condition = each.condition
            alarm = cloudwatch.Alarm(
                self,
                each.id,
                alarm_description=each.description,
                metric=_metric(condition.formula, condition.period_seconds),
                threshold=condition.threshold,
                evaluation_periods=condition.periods,
                datapoints_to_alarm=condition.bad_periods,
                comparison_operator=cloudwatch.ComparisonOperator[condition.comparison.value],
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
