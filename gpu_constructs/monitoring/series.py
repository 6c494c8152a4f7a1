"""Metrics, and formulas over them, as plain values: what the dashboard draws and what alarms watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_ITSELF = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric of CloudWatch with a statistic.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        dimensions: Its dimensions.
        statistic: The statistic of each period.
    """

    namespace: str
    name: str
    dimensions: Mapping[str, str] = field(default_factory=dict)
    statistic: str = "Average"


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A line of a graph or what an alarm watches: metric math over some series.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html

    Attributes:
        expression: The expression.
        label: What it is called.
        series: The series that it names, by the ids that it has for them; none where it searches.
    """

    expression: str
    label: str
    series: Mapping[str, Series] = field(default_factory=dict)

    @classmethod
    def of(cls, series: Series, label: str) -> Formula:
        """A series as it is."""
        return cls(expression=_ITSELF, label=label, series={_ITSELF: series})

    @property
    def itself(self) -> Series | None:
        """The one series that it is, without any math; None for any other formula."""
        return self.series.get(_ITSELF)
