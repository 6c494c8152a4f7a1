"""What the number of tasks can follow: metrics that users give, and the steps of how many tasks are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.facts.aws_limits import MAX_STEP_ADJUSTMENTS

_STATISTICS = ("Average", "Minimum", "Maximum", "SampleCount", "Sum")


def require_here(metric: cloudwatch.IMetric, stack: cdk.Stack) -> None:
    """Refuses metrics of another region, and a single one of another account: CDK writes neither into a policy.

    An alarm over metric math takes metrics of another account.

    Raises:
        IncompatibleError: They are certain to be of another one.
    """
    places = ("region",) if isinstance(metric, cloudwatch.MathExpression) else ("region", "account")
    for each in _metrics_in(metric):
        for what in places if isinstance(each, cloudwatch.Metric) else ():
            there = getattr(each, what)
            here = there and getattr(stack, what)
            if there and there != here and not is_token(there) and not is_token(here):
                raise IncompatibleError(
                    f"the metric is of {what} {there}, and the service of {here}",
                    argument="metric",
                    value=there,
                    allowed=here,
                    fix=f"a metric of {what} {here}",
                )


def _metrics_in(metric: cloudwatch.IMetric) -> Iterator[cloudwatch.IMetric]:
    """A metric, or those that metric math combines."""
    if isinstance(metric, cloudwatch.MathExpression):
        for each in metric.using_metrics.values():
            yield from _metrics_in(each)
    else:
        yield metric


def names_in(metric: cloudwatch.IMetric) -> Iterator[str]:
    """The names that metric math gives to its parts, each of which CDK takes once."""
    if isinstance(metric, cloudwatch.MathExpression):
        for name, each in metric.using_metrics.items():
            yield name
            yield from names_in(each)


def require_direct(metric: cloudwatch.IMetric) -> None:
    """Refuses what CDK writes no target tracking for.

    Raises:
        InvalidValueError: It is metric math, or has a statistic that cannot be tracked.
    """
    if isinstance(metric, cloudwatch.MathExpression):
        raise InvalidValueError(
            "target tracking of CDK takes a metric, not metric math",
            argument="metric",
            fix="a metric of the average itself, or ScaleBy.backlog(metric=…) of a total, which may be metric math",
        )
    if isinstance(metric, cloudwatch.Metric) and metric.statistic not in _STATISTICS:
        raise InvalidValueError(
            f"Application Auto Scaling cannot track the statistic {metric.statistic}",
            argument="metric",
            value=metric.statistic,
            allowed=", ".join(_STATISTICS),
            fix="metric.with_(statistic='Average')",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step adjustment.

    Attributes:
        lower: Where it begins, above the threshold of its alarm.
        upper: Where the next begins; None for the last.
        tasks: Tasks that there are then.
    """

    lower: int
    upper: int | None
    tasks: int


def steps_of(least: int, most: int) -> list[Step]:
    """The steps of an alarm on the tasks that are needed, whose threshold is the least.

    Up to 20 numbers of tasks have a step each. Of more, a step is for several, and has the largest of them, so that
    there are never too few.
    """
    count = min(most - least, MAX_STEP_ADJUSTMENTS)
    numbers = [least - -(most - least) * step // count for step in range(1, count + 1)]
    # A step includes its lower bound.
    begins = [0, *(number - least + 1 for number in numbers[:-1])]
    return [
        Step(lower=lower, upper=upper, tasks=tasks)
        for lower, upper, tasks in zip(begins, [*begins[1:], None], numbers, strict=True)
    ]
