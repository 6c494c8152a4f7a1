"""Draws ``docs/monitoring.svg``: the dashboard of a monitored cluster, from its widgets and the samples of its tests.

``make pictures`` writes it; a test holds that the picture is up to date.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, log10
from pathlib import Path
from typing import Any

from gpu_constructs.cluster.monitoring.alarms import PlannedAlarm, alarms_of_cluster, alarms_of_pool
from gpu_constructs.cluster.monitoring.dashboard import body_of
from gpu_constructs.cluster.monitoring.options import AlarmLimits
from tests.cluster.monitoring.alarm_states import states_of
from tests.cluster.monitoring.log_queries import answer_of
from tests.cluster.monitoring.metric_math import Line, Samples, lines_of
from tests.cluster.monitoring.sample_hours import CLUSTER, EVENTS, SECONDS, samples

__all__ = ["PICTURE", "picture"]

PICTURE = Path(__file__).parents[1] / "docs" / "monitoring.svg"

_COLUMN, _ROW, _GAP = 50, 36, 8
_PLOT_TOP, _PLOT_LEFT, _LEGEND = 36, 40, 40
_COLORS = ("#1f77b4", "#e07b00", "#2a9d3a", "#c2185b", "#7b52ab")
_RED, _GREEN = "#d13212", "#1d8102"
_SIZE = 11
_LETTER = 6.6
"""How wide a letter of this size is on average."""


@dataclass(frozen=True)
class Box:
    """Where a widget stands, in pixels."""

    x: float
    y: float
    width: float
    height: float


def picture() -> str:
    """The picture as SVG."""
    sent = samples()
    planned = [
        *alarms_of_cluster(CLUSTER, AlarmLimits()),
        *(each for pool in CLUSTER.pools for each in alarms_of_pool(pool, AlarmLimits())),
    ]
    states = {each.id: states_of(_as_resource(each), sent, SECONDS)[-1] for each in planned}
    widgets: Any = body_of(CLUSTER, list(states))["widgets"]
    width = 24 * _COLUMN
    height = max(each["y"] + each["height"] for each in widgets) * _ROW
    drawn = [part for each in widgets for part in _drawn(each, sent, states)]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = f'font-family="Helvetica, Arial, sans-serif" font-size="{_SIZE}" fill="#16191f"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
            f'<rect width="{width}" height="{height}" fill="#f2f3f3"/>',
            *drawn,
            "</svg>",
            "",
        ]
    )


def _as_resource(alarm: PlannedAlarm) -> dict[str, Any]:
    """An alarm as CloudFormation has it, whose states the evaluator of the tests knows."""
    stats = [
        {
            "Id": name,
            "MetricStat": {
                "Metric": {
                    "Namespace": each.namespace,
                    "MetricName": each.name,
                    "Dimensions": [{"Name": key, "Value": value} for key, value in each.dimensions.items()],
                },
                "Stat": each.statistic,
                "Period": alarm.period_seconds,
            },
        }
        for name, each in alarm.formula.series.items()
    ]
    return {
        "Metrics": [*stats, {"Id": "watched", "Expression": alarm.formula.expression}],
        "ComparisonOperator": alarm.comparison.title().replace("_", ""),
        "Threshold": alarm.threshold,
        "EvaluationPeriods": alarm.periods,
        "DatapointsToAlarm": alarm.bad_periods,
        "TreatMissingData": "notBreaching",
    }


def _drawn(widget: Mapping[str, Any], sent: Samples, states: Mapping[str, str]) -> Iterator[str]:
    box = Box(
        widget["x"] * _COLUMN + _GAP / 2,
        widget["y"] * _ROW + _GAP / 2,
        widget["width"] * _COLUMN - _GAP,
        widget["height"] * _ROW - _GAP,
    )
    properties = widget["properties"]
    yield f'<g transform="translate({box.x:g} {box.y:g})">'
    yield f'<rect width="{box.width:g}" height="{box.height:g}" rx="3" fill="#ffffff" stroke="#d5dbdb"/>'
    if "title" in properties:
        yield _text(12, 20, properties["title"], weight="bold", size=13)
    match widget["type"]:
        case "text":
            yield _text(12, 22, properties["markdown"].replace("**", ""), size=13)
        case "alarm":
            yield from _alarms(properties["alarms"], states, box)
        case "log":
            yield from _table(answer_of(properties["query"], EVENTS), box)
        case "metric":
            lines = lines_of(properties["metrics"], sent, properties["period"])
            yield from _graph(lines, properties, box)
    yield "</g>"


def _text(
    x: float, y: float, text: str, *, weight: str = "", size: int = _SIZE, anchor: str = "", fill: str = ""
) -> str:
    given = {"font-weight": weight, "font-size": size if size != _SIZE else "", "text-anchor": anchor, "fill": fill}
    options = "".join(f' {name}="{value}"' for name, value in given.items() if value)
    return f'<text x="{x:g}" y="{y:g}"{options}>{escape(text)}</text>'


def _alarms(names: Sequence[str], states: Mapping[str, str], box: Box) -> Iterator[str]:
    across = 6
    for number, name in enumerate(names):
        x = 12 + number % across * (box.width - 24) / across
        y = 32 + number // across * 26
        fill = _RED if states[name] == "ALARM" else _GREEN
        yield f'<rect x="{x:g}" y="{y:g}" width="{(box.width - 24) / across - 8:g}" height="20" rx="3" fill="{fill}"/>'
        state = "in alarm" if states[name] == "ALARM" else "OK"
        yield _text(x + 8, y + 14, f"{name}: {state}", fill="#ffffff")


def _table(rows: Sequence[Mapping[str, str]], box: Box) -> Iterator[str]:
    if not rows:
        return
    names = list(rows[0])
    lines = [{name: name for name in names}, *rows]
    letters = {name: max(len(each[name]) for each in lines) + 2 for name in names}
    # What is too long is cut in the longest column.
    longest = max(letters, key=letters.__getitem__)
    letters[longest] -= max(0, ceil(sum(letters.values()) - (box.width - 24) / _LETTER))
    for row, cells in enumerate(lines):
        x = 12.0
        for name, most in letters.items():
            text = cells[name] if len(cells[name]) < most else f"{cells[name][: most - 3]}…"
            yield _text(x, 44 + 20 * row, text, weight="" if row else "bold")
            x += most * _LETTER


def _graph(lines: Sequence[Line], properties: Mapping[str, Any], box: Box) -> Iterator[str]:
    top = _round_up(max((value for each in lines for value in each.values.values()), default=1))
    width, height = box.width - _PLOT_LEFT - 16, box.height - _PLOT_TOP - _LEGEND
    for part in range(3):
        y = _PLOT_TOP + height * (1 - part / 2)
        yield f'<path d="M{_PLOT_LEFT} {y:g}h{width:g}" stroke="#eaeded"/>'
        yield _text(_PLOT_LEFT - 5, y + 4, f"{top * part / 2:g}", anchor="end", fill="#687078")
    yield _text(box.width - 12, 20, properties["yAxis"]["left"]["label"], anchor="end", fill="#687078")
    for hour in range(0, SECONDS // 3600 + 1, 3):
        x = _PLOT_LEFT + width * hour * 3600 / SECONDS
        yield _text(x, _PLOT_TOP + height + 14, f"{hour:02}:00", anchor="middle", fill="#687078")
    x = 12.0
    for number, each in enumerate(lines):
        color = _COLORS[number % len(_COLORS)]
        points = [
            (_PLOT_LEFT + width * second / SECONDS, _PLOT_TOP + height * (1 - value / top))
            for second, value in sorted(each.values.items())
        ]
        yield from _line(points, color, properties["period"] / SECONDS * width)
        yield f'<rect x="{x:g}" y="{box.height - 16:g}" width="9" height="9" fill="{color}"/>'
        yield _text(x + 13, box.height - 8, each.label)
        x += 28 + _LETTER * len(each.label)


def _line(points: Sequence[tuple[float, float]], color: str, step: float) -> Iterator[str]:
    """Lines through neighbours; a value without neighbours is a dot."""
    runs: list[list[tuple[float, float]]] = []
    for x, y in points:
        if runs and x - runs[-1][-1][0] < 1.5 * step:
            runs[-1].append((x, y))
        else:
            runs.append([(x, y)])
    for run in runs:
        if len(run) == 1:
            ((x, y),) = run
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
        else:
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in run)
            yield f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.6"/>'


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 6, 10, 20, … from a value on."""
    if value <= 1:
        return 1
    unit = 10 ** (ceil(log10(value)) - 1)
    return float(next(each * unit for each in (1, 2, 4, 6, 10) if each * unit >= value))
