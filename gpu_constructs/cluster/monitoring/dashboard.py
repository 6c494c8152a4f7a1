"""The dashboard of a monitored cluster, as rows of widgets.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from gpu_constructs.cluster.monitoring.events import METRIC_NAMESPACE
from gpu_constructs.cluster.monitoring.watched import PERIOD_SECONDS, Formula, Series, WatchedCluster, WatchedPool
from gpu_constructs.facts.aws_limits import NOT_STARTED, PLACEMENT_FAILURE
from gpu_constructs.fleet import PoolKind

_COLUMNS = 24
_HEIGHT = 6
_MOST_ALARMS = 100
_MINUTES = PERIOD_SECONDS // 60


class _Widget(NamedTuple):
    """A part of the dashboard: its type as CloudWatch names it, what that type has, columns of 24, and rows."""

    kind: str
    properties: dict[str, object]
    width: int
    height: int


def _rows_of(cluster: WatchedCluster, alarms: Sequence[str]) -> list[Sequence[_Widget | None]]:
    """Every widget of the dashboard, in rows that go on below where they are too long; None where one is empty."""
    graph, table = partial(_graph, cluster), partial(_table, cluster)
    used = "A GPU counts as used for the part of a minute in which anything runs on it."
    about = _Widget("text", {"markdown": f"**GPUs of cluster {cluster.name}.** {used}"}, _COLUMNS, 1)
    states: dict[str, object] = {"title": "Alarms", "alarms": list(alarms[:_MOST_ALARMS])}
    half = _COLUMNS // 2
    measured = list(cluster.measured)
    # The daemon measures each GPU that a service holds once a minute.
    held = _search(cluster, METRIC_NAMESPACE, "GPUUtilization", "SampleCount")
    return [
        [about],
        [_Widget("alarm", states, _COLUMNS, 3)] if alarms else [],
        [_gpus_of(cluster, each) for each in measured],
        [
            graph(
                title="GPUs held by services",
                lines=[Formula(expression=f"{held.expression} / {_MINUTES}", label=held.label)],
                unit="GPUs",
            ),
            graph(title="GPU use by service", lines=_by_service(cluster, "GPUUtilization"), unit="%"),
            graph(title="GPU memory by service", lines=_by_service(cluster, "GPUMemoryUtilization"), unit="%"),
        ],
        [
            graph(
                title="Tasks of services that wait",
                lines=[_search(cluster, "ECS/ContainerInsights", "PendingTaskCount", "Maximum")],
                unit="tasks",
            ),
            graph(
                title="Hosts that tasks need",
                lines=[Formula.of(each.demand, each.title) for each in cluster.pools if each.group_name is not None],
                unit="% of those there are",
            ),
            graph(
                title="Tasks that do not start or lose their hosts",
                lines=[
                    cluster.events("PlacementFailures", "not placed"),
                    cluster.events("TasksNotStarted", "not started"),
                    cluster.events("LostTasks", "lost with their hosts"),
                ],
                unit="events",
            ),
        ],
        [
            table(title="Why services cannot place tasks", query=_WHY_NOT_PLACED, width=half),
            table(title="Why tasks did not start", query=_WHY_NOT_STARTED, width=half),
        ],
        [
            graph(
                title="Faults of GPUs",
                lines=[
                    _at_a_time(cluster.gpu_series("UnhealthyGPUs"), "failed hosts"),
                    _at_a_time(cluster.gpu_series("MissingGPUs"), "missing GPUs"),
                    _at_a_time(cluster.gpu_series("UnreadableHosts"), "unmeasured hosts"),
                    Formula.of(cluster.gpu_series("ApplicationXids"), "Xids of programs"),
                ],
                unit="hosts, GPUs or Xids",
                width=half,
            ),
            table(title="Hosts with faults", query=cluster.hosts_with_faults, width=half),
        ]
        if measured
        else [],
        [
            graph(
                title="Temperature of the hottest GPU",
                lines=[Formula.of(each.gpu_series("GPUTemperature", "Maximum"), each.title) for each in measured],
                unit="°C",
                width=half,
            ),
            graph(
                title="Power of all GPUs",
                lines=[_at_a_time(each.gpu_series("GPUPowerDraw", "Sum"), each.title) for each in measured],
                unit="W",
                width=half,
            ),
        ],
    ]


def body_of(cluster: WatchedCluster, alarms: Sequence[str] = ()) -> dict[str, object]:
    """The body of the dashboard."""
    placed = [
        {
            "type": each.kind,
            "x": x,
            "y": y,
            "width": each.width,
            "height": each.height,
            "properties": each.properties,
        }
        for each, (x, y) in _places(_rows_of(cluster, alarms))
    ]
    return {"start": "-PT12H", "periodOverride": "inherit", "widgets": placed}


def _places(rows: Sequence[Sequence[_Widget | None]]) -> Iterator[tuple[_Widget, tuple[int, int]]]:
    """Rows from left to right, each as high as its highest widget."""
    y = 0
    for row in rows:
        x = height = 0
        for each in (one for one in row if one is not None):
            if x + each.width > _COLUMNS:
                x, y, height = 0, y + height, 0
            yield each, (x, y)
            x, height = x + each.width, max(height, each.height)
        y += height


def _graph(
    cluster: WatchedCluster,
    *,
    title: str,
    lines: Sequence[Formula],
    unit: str,
    width: int = _COLUMNS // 3,
) -> _Widget | None:
    """Lines over time; None without any."""
    if not lines:
        return None
    properties: dict[str, object] = {
        "title": title,
        "region": cluster.region,
        "view": "timeSeries",
        "period": PERIOD_SECONDS,
        "yAxis": {"left": {"min": 0, "label": unit, "showUnits": False}},
        "metrics": [each for number, line in enumerate(lines) for each in _metrics_of(line, number)],
    }
    return _Widget("metric", properties, width, _HEIGHT)


def _table(cluster: WatchedCluster, *, title: str, query: tuple[str, ...] | str, width: int) -> _Widget:
    """What a query of CloudWatch Logs Insights finds: the whole query, or commands on the events of the cluster."""
    whole = query if isinstance(query, str) else " | ".join((f"SOURCE '{cluster.event_log}'", *query))
    return _Widget("log", {"title": title, "region": cluster.region, "query": whole, "view": "table"}, width, _HEIGHT)


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


def _gpus_of(cluster: WatchedCluster, pool: WatchedPool) -> _Widget | None:
    there, use = pool.gpu_series("GPUs"), pool.gpu_series("GPUUtilization")
    used = f"there / {_MINUTES} * use / 100"
    return _graph(
        cluster,
        title=f"GPUs of {pool.title}",
        lines=[
            _at_a_time(there, "existing"),
            _at_a_time(pool.gpu_series("GPUsReserved"), "reserved"),
            Formula(expression=used, label="used", series={"there": there, "use": use}),
        ],
        unit="GPUs",
    )


def _at_a_time(sums: Series, label: str) -> Formula:
    """What hosts send once a minute, summed over the period, as what there was in a minute of it."""
    return Formula(expression=f"sums / {_MINUTES}", label=label, series={"sums": sums})


def _by_service(cluster: WatchedCluster, name: str) -> list[Formula]:
    """Of hosts of Auto Scaling groups by the daemon, and of Managed Instances by Container Insights."""
    lines = [_search(cluster, METRIC_NAMESPACE, name, "Average")]
    if any(each.pool.kind is PoolKind.MANAGED_INSTANCES for each in cluster.pools):
        lines.append(_search(cluster, "ECS/ContainerInsights", f"Task{name}", "Average"))
    return lines


def _search(cluster: WatchedCluster, namespace: str, name: str, statistic: str) -> Formula:
    """A line for each service that there is.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html
    """
    schema = f"{{{namespace},ClusterName,ServiceName}}"
    found = f'{schema} ClusterName="{cluster.name}" MetricName="{name}"'
    return Formula(expression=f"SEARCH('{found}', '{statistic}', {PERIOD_SECONDS})", label="${PROP('Dim.ServiceName')}")


# https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Filter.html
_WHY_NOT_PLACED = (
    f'filter detail.eventName = "{PLACEMENT_FAILURE}"',
    "stats count(*) as times by resources.0 as service, detail.reason as reason",
    "sort times desc",
    "limit 20",
)
_WHY_NOT_STARTED = (
    f'filter detail.stopCode = "{NOT_STARTED}"',
    "stats count(*) as times by detail.group as task_group, detail.stoppedReason as reason",
    "sort times desc",
    "limit 20",
)
