"""Dashboards: a text that is JSON, with the metrics of each widget in a short form.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from gpu_constructs.budget import SEARCHED, TEXT
from gpu_constructs.fleet import UNKNOWN, Expression, MetricUse, Origin, Unknown, Watch, Watcher
from gpu_constructs.template.model import Resource, Value
from gpu_constructs.template.resources.json_texts import JsonTexts
from gpu_constructs.template.resources.metric_uses import MetricUses
from gpu_constructs.template.resources.section import is_list

_BODY = "DashboardBody"
_CONSTANT = re.compile("NaN|Infinity")
_SAME, _SAME_START = ".", "..."
# A namespace, a name and the names and values of as many dimensions as a metric takes.
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_Metric.html
_MOST_FIELDS = 2 + 2 * 30


def dashboard(resource: Resource, name: str, uses: MetricUses, texts: JsonTexts) -> Watch:
    """A dashboard with the metrics of ECS, its hosts and jobs in it."""
    written = resource.properties.get(_BODY)
    origin = resource.origin.at("Properties", _BODY)
    body = texts.object_in(written, {})
    wrong = _why_no_object(written) if isinstance(written, str) and (body is None or _CONSTANT.search(written)) else ""
    if body is None or wrong:
        return Watch(name=name, watcher=Watcher.DASHBOARD, body_problem=wrong, origin=resource.origin)
    found = tuple(islice(_found(body, uses, origin), SEARCHED))
    metrics = tuple(each for each in found if isinstance(each, MetricUse))
    expressions = tuple(each for each in found if isinstance(each, Expression))
    return Watch(
        name=name,
        watcher=Watcher.DASHBOARD,
        metrics=metrics,
        expressions=expressions if metrics else (),
        origin=resource.origin,
    )


def _why_no_object(text: str) -> str:
    """What is wrong with a body that is written out; empty where it only is too long to be read here."""
    if len(text) > TEXT:
        return ""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except _ConstantError as problem:
        return str(problem)
    except (ValueError, RecursionError) as problem:
        return str(problem) if isinstance(problem, json.JSONDecodeError) else ""
    return "" if isinstance(value, dict) else "an object is expected"


class _ConstantError(Exception):
    """A number that Python reads, and JSON does not have."""


def _refuse(constant: str) -> Value:
    raise _ConstantError(f"{constant} is not JSON")


def _found(body: Mapping[str, Value], uses: MetricUses, origin: Origin) -> Iterator[MetricUse | Expression]:
    """The metrics and the expressions of all widgets."""
    for widget in _metric_widgets(body):
        ids = _ids(widget)
        for each in _rows(widget, uses, origin):
            yield replace(each, ids=ids, origin=origin) if isinstance(each, Expression) else each


def _metric_widgets(body: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
    widgets = body.get("widgets")
    for each in widgets if is_list(widgets) else ():
        properties = each.get("properties") if isinstance(each, Mapping) else None
        if isinstance(properties, Mapping):
            yield properties


def _rows(widget: Mapping[str, Value], uses: MetricUses, origin: Origin) -> Iterator[MetricUse | Expression]:
    rows = widget.get("metrics")
    before: Sequence[Value] = ()
    for row in rows if is_list(rows) else ():
        if not is_list(row) or not row:
            continue
        options = row[-1] if isinstance(row[-1], Mapping) else {}
        fields = _written_out(row[:-1] if isinstance(row[-1], Mapping) else row, before)
        if not fields:
            if "expression" in options:
                yield Expression(text=_text(options.get("expression")), id=str(options.get("id") or ""))
            continue
        before = fields[: _MOST_FIELDS + 1]
        if len(fields) > _MOST_FIELDS:
            continue
        namespace, metric, dimensions = fields[0], fields[1] if len(fields) > 1 else None, fields[2:]
        if uses.is_meant(namespace, metric):
            yield uses.named(
                _text(namespace),
                _text(metric),
                list(zip(dimensions[::2], dimensions[1::2], strict=False)),
                origin,
                statistic=_optional(options.get("stat", widget.get("stat"))),
                period=_seconds(options.get("period", widget.get("period"))),
                id=str(options.get("id") or ""),
            )


def _written_out(row: Sequence[Value], before: Sequence[Value]) -> list[Value]:
    """A row with what it takes over from the one before: ``.`` for one field, ``...`` for as many as there are."""
    fields = list(row)
    if _SAME_START in fields:
        at = fields.index(_SAME_START)
        rest = len(fields) - at - 1
        fields[at : at + 1] = before[at : max(at, len(before) - rest)]
    return [
        before[at] if each == _SAME and at < len(before) else UNKNOWN if each == _SAME else each
        for at, each in enumerate(fields)
    ]


def _ids(widget: Mapping[str, Value]) -> frozenset[str] | Unknown:
    rows = widget.get("metrics")
    ids: set[str] = set()
    for row in rows if is_list(rows) else ():
        if not is_list(row):
            return UNKNOWN
        options = row[-1] if row and isinstance(row[-1], Mapping) else {}
        written = options.get("id", "")
        if not isinstance(written, str):
            return UNKNOWN
        ids.add(written)
    return frozenset(ids - {""})


def _text(value: Value) -> str | Unknown:
    return value if isinstance(value, str) else UNKNOWN


def _optional(value: Value) -> str | Unknown | None:
    return None if value is None else _text(value)


def _seconds(value: Value) -> int | Unknown | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return UNKNOWN
