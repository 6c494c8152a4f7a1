"""The alarms of a monitored cluster as resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from gpu_constructs.errors import UnknownNameError
from gpu_constructs.monitoring.alarms.alarm_table import PlannedAlarm
from gpu_constructs.monitoring.series import Formula, Series


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
