"""The state of an alarm, from the values of what it watches.

Written from https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html and
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html: CloudWatch looks at more
periods than the alarm has; where enough of them have values, the newest of these decide. Where they are too few, what
is missing counts as ``TreatMissingData`` says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .metric_math import Samples, Values, evaluated

# Two more than the alarm has, as in the tables of the page.
_MORE = 2
_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
}


def state_of(points: Sequence[bool | None], *, bad_periods: int, periods: int, missing: str) -> str:
    """The state after some periods, the newest last: bad, good, or without a value."""
    real = [each for each in points[-(periods + _MORE) :] if each is not None][-periods:]
    if not real and missing == "missing":
        return "INSUFFICIENT_DATA"
    filled = [*real, *([missing == "breaching"] * (periods - len(real)) if missing != "missing" else [])]
    enough = min(bad_periods, len(filled)) if missing == "missing" else bad_periods
    return "ALARM" if sum(filled) >= enough else "OK"


def states_of(alarm: Mapping[str, Any], samples: Samples, end: int) -> list[str]:
    """The state of an alarm of a template after each of its periods, from the first that has a value to an end."""
    values, period = _watched(alarm, samples)
    bad = _COMPARED[alarm["ComparisonOperator"]]
    points: list[bool | None] = []
    states = []
    for at in range(0, end, period):
        points.append(bad(values[at], alarm["Threshold"]) if at in values else None)
        states.append(
            state_of(
                points,
                bad_periods=alarm["DatapointsToAlarm"],
                periods=alarm["EvaluationPeriods"],
                missing=alarm["TreatMissingData"],
            )
        )
    return states


def _watched(alarm: Mapping[str, Any], samples: Samples) -> tuple[Values, int]:
    if "Metrics" not in alarm:
        return _series(alarm, alarm["Statistic"], samples, alarm["Period"]), alarm["Period"]
    named: dict[str, Values] = {}
    periods = set()
    expressions = []
    for each in alarm["Metrics"]:
        if "Expression" in each:
            expressions.append(each["Expression"])
            continue
        stat = each["MetricStat"]
        periods.add(stat["Period"])
        named[each["Id"]] = _series(stat["Metric"], stat["Stat"], samples, stat["Period"])
    (expression,), (period,) = expressions, periods
    return evaluated(expression, named), period


def _series(metric: Mapping[str, Any], statistic: str, samples: Samples, period: int) -> Values:
    dimensions = frozenset((each["Name"], each["Value"]) for each in metric.get("Dimensions", []))
    return samples.statistic((metric["Namespace"], metric["MetricName"], dimensions), statistic, period)
