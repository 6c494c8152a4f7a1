"""The kinds of widgets that a dashboard has, as CloudWatch takes them.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from gpu_constructs.monitoring.series import Formula, Series
from gpu_constructs.monitoring.watched import PERIOD_SECONDS, WatchedCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget(ABC):
    """A part of the dashboard.

    Attributes:
        kind: Its type, as CloudWatch names it.
        width: Columns, of 24.
        height: Rows.
    """

    kind: ClassVar[str]
    width: int = 8
    height: int = 6

    @property
    def is_shown(self) -> bool:
        """Whether there is anything in it."""
        return True

    @abstractmethod
    def properties(self, cluster: WatchedCluster) -> dict[str, object]:
        """What its type has besides its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Widget):
    """Text.

    Attributes:
        markdown: In Markdown.
    """

    kind: ClassVar[str] = "text"
    markdown: str

    def properties(self, cluster: WatchedCluster) -> dict[str, object]:  # noqa: ARG002 - it is of no region
        """The text."""
        return {"markdown": self.markdown}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmStates(Widget):
    """The states of alarms.

    Attributes:
        title: Above it.
        arns: The alarms.
    """

    kind: ClassVar[str] = "alarm"
    title: str
    arns: Sequence[str]

    def properties(self, cluster: WatchedCluster) -> dict[str, object]:  # noqa: ARG002 - an ARN has its region
        """The alarms."""
        return {"title": self.title, "alarms": list(self.arns)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(Widget):
    """Lines over time.

    Attributes:
        title: Above it.
        lines: The lines.
        unit: What the axis counts.
        stacked: Whether the lines stand on each other.
    """

    kind: ClassVar[str] = "metric"
    title: str
    lines: Sequence[Formula]
    unit: str
    stacked: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether it has a line."""
        return bool(self.lines)

    def properties(self, cluster: WatchedCluster) -> dict[str, object]:
        """The metrics and expressions."""
        return {
            "title": self.title,
            "region": cluster.region,
            "view": "timeSeries",
            "stacked": self.stacked,
            "period": PERIOD_SECONDS,
            "yAxis": {"left": {"min": 0, "label": self.unit, "showUnits": False}},
            "metrics": [each for number, line in enumerate(self.lines) for each in _metrics_of(line, number)],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Widget):
    """What a query of CloudWatch Logs Insights finds.

    Attributes:
        title: Above it.
        query: The commands on the events of the cluster, or the whole query.
    """

    kind: ClassVar[str] = "log"
    title: str
    query: tuple[str, ...] | str

    def properties(self, cluster: WatchedCluster) -> dict[str, object]:
        """The query."""
        given = self.query
        query = given if isinstance(given, str) else " | ".join((f"SOURCE '{cluster.event_log}'", *given))
        return {"title": self.title, "region": cluster.region, "query": query, "view": "table"}


def _metrics_of(line: Formula, number: int) -> Iterator[list[object]]:
    """One line as ``metrics`` has it; ids begin with a lower-case letter and are unique in a graph."""
    if line.itself is not None:
        yield _metric(line.itself, {"label": line.label})
        return
    expression = line.expression
    for name, series in line.series.items():
        expression = re.sub(rf"\b{name}\b", f"{name}{number}", expression)
        yield _metric(series, {"id": f"{name}{number}", "visible": False})
    yield [{"expression": expression, "id": f"line{number}", "label": line.label}]


def _metric(series: Series, options: Mapping[str, object]) -> list[object]:
    dimensions = chain.from_iterable(series.dimensions.items())
    return [series.namespace, series.name, *dimensions, {"stat": series.statistic, **options}]
