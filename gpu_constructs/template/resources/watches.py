"""Alarms, dashboards and scaling policies on metrics of ECS, its hosts and jobs.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpu_constructs.fleet import UNKNOWN, Expression, MetricUse, Unknown, Watch, Watcher
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.dashboards import dashboard
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.json_texts import JsonTexts
from gpu_constructs.template.resources.metric_uses import MetricUses
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.section import Section, is_list

_ALARM = "AWS::CloudWatch::Alarm"
_COMPOSITE = "AWS::CloudWatch::CompositeAlarm"
_DASHBOARD = "AWS::CloudWatch::Dashboard"
_POLICIES = ("AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::AutoScaling::ScalingPolicy")
_TRACKED = ("TargetTrackingScalingPolicyConfiguration", "TargetTrackingConfiguration")
_CUSTOMIZED = "CustomizedMetricSpecification"
_ACTIONS = ("AlarmActions", "InsufficientDataActions", "OKActions")


def watches_of(index: Index, names: Names, uses: MetricUses, texts: JsonTexts) -> tuple[Watch, ...]:
    """Whatever reads a metric of ECS, its hosts or its jobs, or is a dashboard that cannot be read at all.

    No notes are kept: what is wrong with an alarm in general is not for this check.
    """
    readers: tuple[tuple[Callable[[Resource, str], Watch], tuple[str, ...]], ...] = (
        (lambda resource, name: _alarm(resource, name, uses, index), (_ALARM,)),
        (lambda resource, name: _composite(resource, name, index), (_COMPOSITE,)),
        (lambda resource, name: dashboard(resource, name, uses, texts), (_DASHBOARD,)),
        (lambda resource, name: _policy(resource, name, uses), _POLICIES),
    )
    found = [(read, each) for read, types in readers for each in index.all(*types)]
    called = names.unique([(each, "") for _, each in found])
    read = [read(each, name) for (read, each), name in zip(found, called, strict=True)]
    watched = any(each.metrics for each in read)
    return tuple(
        each for each in read if each.metrics or each.body_problem or (each.actions and watched and _is_composite(each))
    )


def _is_composite(watch: Watch) -> bool:
    return watch.watcher is Watcher.COMPOSITE


def _alarm(resource: Resource, name: str, uses: MetricUses, index: Index) -> Watch:
    properties = Section.of(resource, [])
    metrics, expressions = _queries(properties, uses)
    statistics = None
    if uses.is_meant(properties.get("Namespace"), properties.get("MetricName")):
        statistics = (properties.text("Statistic"), properties.text("ExtendedStatistic"))
        statistic = _either(*statistics)
        metrics = (uses.of(properties, statistic=statistic, period=properties.integer("Period")),)
    if not metrics:
        return Watch(name=name, watcher=Watcher.ALARM)
    returned = [each.flag("ReturnData") for each in properties.sections("Metrics")]
    is_open = any(isinstance(each, Unknown) for each in returned) or properties.has("ThresholdMetricId")
    return Watch(
        name=name,
        watcher=Watcher.ALARM,
        metrics=metrics,
        expressions=expressions,
        results=UNKNOWN if is_open or not returned else sum(each is not False for each in returned),
        statistics=statistics,
        comparison=properties.text("ComparisonOperator"),
        evaluation_periods=properties.integer("EvaluationPeriods"),
        datapoints=properties.integer("DatapointsToAlarm"),
        missing=properties.text("TreatMissingData"),
        actions=_actions(properties, index),
        origin=resource.origin,
    )


def _composite(resource: Resource, name: str, index: Index) -> Watch:
    actions = _actions(Section.of(resource, []), index)
    return Watch(name=name, watcher=Watcher.COMPOSITE, actions=actions, origin=resource.origin)


def _policy(resource: Resource, name: str, uses: MetricUses) -> Watch:
    properties = Section.of(resource, [])
    tracked = next((properties.section(each) for each in _TRACKED if properties.has(each)), None)
    customized = None if tracked is None else tracked.section(_CUSTOMIZED)
    if customized is None or not customized.keys:
        return Watch(name=name, watcher=Watcher.POLICY)
    metrics, expressions = _queries(customized, uses)
    if uses.is_meant(customized.get("Namespace"), customized.get("MetricName")):
        metrics = (uses.of(customized, statistic=customized.text("Statistic"), period=None),)
    if not metrics:
        return Watch(name=name, watcher=Watcher.POLICY)
    return Watch(name=name, watcher=Watcher.POLICY, metrics=metrics, expressions=expressions, origin=resource.origin)


def _queries(properties: Section, uses: MetricUses) -> tuple[tuple[MetricUse, ...], tuple[Expression, ...]]:
    """The metrics and the expressions of a list of queries."""
    queries = properties.sections("Metrics")
    written = [each.text("Id") for each in queries]
    ids = UNKNOWN if any(isinstance(each, Unknown) for each in written) else frozenset(map(str, filter(None, written)))
    metrics: list[MetricUse] = []
    expressions: list[Expression] = []
    for each in queries:
        stat = each.section("MetricStat")
        metric = stat.section("Metric")
        own = each.text("Id")
        if each.has("Expression"):
            text = each.text("Expression")
            name = own if isinstance(own, str) else ""
            expressions.append(Expression(text=UNKNOWN if text is None else text, id=name, ids=ids, origin=each.origin))
        elif uses.is_meant(metric.get("Namespace"), metric.get("MetricName")):
            metrics.append(
                uses.of(
                    metric,
                    statistic=stat.text("Stat"),
                    period=stat.integer("Period"),
                    id=own if isinstance(own, str) else "",
                )
            )
    return tuple(metrics), tuple(expressions)


def _either(first: str | Unknown | None, second: str | Unknown | None) -> str | Unknown | None:
    return first if second is None else second if first is None else UNKNOWN


def _actions(properties: Section, index: Index) -> tuple[tuple[str, tuple[str | Unknown, ...]], ...]:
    lists = ((key, properties.get(key)) for key in _ACTIONS)
    return tuple((key, tuple(_targets(value, index))) for key, value in lists if is_list(value))


def _targets(values: Value, index: Index) -> Iterator[str | Unknown]:
    for each in values if is_list(values) else ():
        if isinstance(each, str):
            yield each
        elif isinstance(each, Text):
            yield "".join(piece if isinstance(piece, str) else "?" for piece in each.pieces)
        else:
            resource = index.at(each) if isinstance(each, Reference) else None
            attribute = each.attribute if isinstance(each, Reference) else None
            yield UNKNOWN if resource is None else resource.type + (f".{attribute}" if attribute else "")
