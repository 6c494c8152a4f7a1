"""CloudWatch alarms and step scaling policies of a template, minute by minute, as AWS's documentation says they work.

Alarms: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html
Steps and cooldown: https://docs.aws.amazon.com/autoscaling/application/userguide/step-scaling-policy-overview.html
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

__all__ = ["Minute", "Scaled"]

Minute = Mapping[str, float | None]
"""What each metric was in a minute, by its name; None where it has no data."""

_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: Mapping[str, Callable[[Any], float]] = {"CEIL": ceil, "MAX": max}
_BREACHES: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


class _NoDataError(Exception):
    """A metric has no value in that minute."""


def _math(node: ast.AST, values: Minute) -> Any:
    """Metric math, as far as it is written in the same way in Python; a division by zero gives no value."""
    match node:
        case ast.Expression(body=body):
            return _math(body, values)
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            if values[name] is None:
                raise _NoDataError
            return values[name]
        case ast.BinOp(left=left, op=op, right=right):
            try:
                return _OPERATORS[type(op)](_math(left, values), _math(right, values))
            except ZeroDivisionError:
                raise _NoDataError from None
        case ast.List(elts=elements):
            return [_math(each, values) for each in elements]
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return _FUNCTIONS[name](_math(argument, values))
    raise NotImplementedError(ast.dump(node))


@dataclass
class Scaled:
    """A service that is scaled by the resources of a template.

    Attributes:
        resources: The template's.
        tasks: The desired count.
    """

    resources: Mapping[str, Any]
    tasks: int = 1
    _history: list[Minute] = field(default_factory=list)
    _last_activity: int | None = None

    def of_type(self, name: str) -> dict[str, Any]:
        """Properties of all resources of a type, by logical id."""
        return {key: each["Properties"] for key, each in self.resources.items() if each["Type"] == name}

    def after(self, *minutes: Minute) -> int:
        """The desired count once these minutes have passed."""
        for each in minutes:
            self._history.append(each)
            wanted = [
                count for alarm in self.of_type("AWS::CloudWatch::Alarm").values() for count in self._asked(alarm)
            ]
            if wanted:
                self._change(max(wanted, key=lambda one: one[0]))
        return self.tasks

    def _change(self, asked: tuple[int, int]) -> None:
        count, cooldown = asked
        (target,) = self.of_type("AWS::ApplicationAutoScaling::ScalableTarget").values()
        count = min(max(count, target["MinCapacity"]), target["MaxCapacity"])
        now = len(self._history)
        is_cooling = self._last_activity is not None and (now - self._last_activity) * 60 < cooldown
        # A larger scale-out goes on during the cooldown, a scale-in waits for its end.
        if count > self.tasks or (count < self.tasks and not is_cooling):
            self.tasks, self._last_activity = count, now

    def _asked(self, alarm: Mapping[str, Any]) -> Sequence[tuple[int, int]]:
        """The exact capacities and cooldowns of the policies that an alarm starts in this minute."""
        values = [self._value(alarm, each) for each in self._history[-alarm["EvaluationPeriods"] :]]
        if len(values) < alarm["EvaluationPeriods"]:
            return []
        breaches, threshold = _BREACHES[alarm["ComparisonOperator"]], alarm["Threshold"]
        assert alarm["TreatMissingData"] == "notBreaching"
        if not all(each is not None and breaches(each, threshold) for each in values):
            return []
        assert values[-1] is not None
        policies = self.of_type("AWS::ApplicationAutoScaling::ScalingPolicy")
        return [
            (self._step(policies[action["Ref"]], values[-1] - threshold), self._cooldown(policies[action["Ref"]]))
            for action in alarm["AlarmActions"]
        ]

    @staticmethod
    def _value(alarm: Mapping[str, Any], minute: Minute) -> float | None:
        if "MetricName" in alarm:
            return minute[alarm["MetricName"]]
        values: dict[str, float | None] = {}
        # An expression stands before those that it is made of.
        for each in reversed(alarm["Metrics"]):
            if "MetricStat" in each:
                values[each["Id"]] = minute[each["MetricStat"]["Metric"]["MetricName"]]
                continue
            try:
                values[each["Id"]] = _math(ast.parse(each["Expression"], mode="eval"), values)
            except _NoDataError:
                values[each["Id"]] = None
        (returned,) = [each["Id"] for each in alarm["Metrics"] if each.get("ReturnData", True)]
        return values[returned]

    @staticmethod
    def _cooldown(policy: Mapping[str, Any]) -> int:
        cooldown: int = policy["StepScalingPolicyConfiguration"]["Cooldown"]
        return cooldown

    @staticmethod
    def _step(policy: Mapping[str, Any], above: float) -> int:
        """The step of a breach: at or above the threshold its lower bound belongs to it, below it its upper bound."""
        configuration = policy["StepScalingPolicyConfiguration"]
        assert configuration["AdjustmentType"] == "ExactCapacity"
        steps = configuration["StepAdjustments"]
        assert len(steps) <= 20
        (found,) = [
            each["ScalingAdjustment"]
            for each in steps
            if (
                each.get("MetricIntervalLowerBound", float("-inf"))
                <= above
                < each.get("MetricIntervalUpperBound", float("inf"))
                if above > 0
                else each.get("MetricIntervalLowerBound", float("-inf"))
                < above
                <= each.get("MetricIntervalUpperBound", float("inf"))
            )
        ]
        count: int = found
        return count
