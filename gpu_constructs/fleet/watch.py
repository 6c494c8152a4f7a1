"""What watches: alarms, dashboards and scaling policies with the metrics that they read, and rules on events of ECS.

They are read from templates only.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from gpu_constructs.fleet.origin import Origin
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown
from gpu_constructs.values import dataclass


class Watcher(Enum):
    """What reads metrics."""

    ALARM = "alarm"
    COMPOSITE = "composite alarm"
    DASHBOARD = "dashboard"
    POLICY = "scaling policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One dimension of a metric.

    Attributes:
        name: Its name.
        value: Its value, where it is written out.
        is_arn: Whether the value certainly is an ARN, written out or referred to.
        refers_to: The logical id of the resource that the value is of; empty where there is none.
        origin: Where it was written.
    """

    name: str | Unknown
    value: str | Unknown = UNKNOWN
    is_arn: bool = False
    refers_to: str = ""
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricUse:
    """A metric that something reads.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        dimensions: The dimensions that it is asked for under; unknown where not all of them are known.
        statistic: The statistic, such as ``Average`` or ``p99``; None where nothing says it.
        period: Seconds of a value; None where nothing says it.
        id: Its id in expressions; empty where it has none.
        cluster: The cluster of the dimension ``ClusterName``, as `Pool.cluster` names it.
        insights: What the cluster says about Container Insights: ``disabled``, ``enabled``, ``enhanced``; empty where
            it says nothing, unknown where the files do not define it.
        workload: The name of the service of the dimension ``ServiceName``; empty where that is not known.
        is_switched_off: Whether the Auto Scaling group that is asked about does not publish its metrics.
        published: The sets of dimensions under which metric filters of these files publish it; None where none does, or
            only the deploy says under which.
        origin: Where it was written.
    """

    namespace: str | Unknown
    name: str | Unknown
    dimensions: tuple[Dimension, ...] | Unknown = ()
    statistic: str | Unknown | None = None
    period: int | Unknown | None = None
    id: str = ""
    cluster: str | Unknown | None = UNKNOWN
    insights: str | Unknown = UNKNOWN
    workload: str = ""
    is_switched_off: bool = False
    published: tuple[frozenset[str], ...] | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def dimension_names(self) -> frozenset[str] | Unknown:
        """The names of all of its dimensions."""
        names = UNKNOWN if isinstance(self.dimensions, Unknown) else [each.name for each in self.dimensions]
        if isinstance(names, Unknown) or any(isinstance(each, Unknown) for each in names):
            return UNKNOWN
        return frozenset(map(str, names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """An expression over metrics.

    Attributes:
        text: What is written.
        id: Its id; empty where it has none.
        ids: The ids that it may name; unknown where not all of them are known.
        origin: Where it was written.
    """

    text: str | Unknown
    id: str = ""
    ids: frozenset[str] | Unknown = UNKNOWN
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """An alarm, a dashboard or a scaling policy that reads metrics.

    Attributes:
        name: How the user calls it.
        watcher: What it is.
        metrics: What it reads, as far as that is known.
        expressions: What it works out of them.
        results: Of how many queries an alarm watches the result; unknown where only the deploy says so.
        statistics: What an alarm on one metric has as ``Statistic`` and as ``ExtendedStatistic``; None for any other.
        comparison: How an alarm compares, such as ``GreaterThanThreshold``.
        evaluation_periods: Values that an alarm looks at.
        datapoints: Of these, the values that have to be beyond the threshold; None where nothing says it.
        missing: What an alarm makes of missing values; None where nothing says it.
        actions: What an alarm starts, by the property: ARNs as far as they are written out, with ``?`` for a piece that
            is not, and of a reference the type of the resource, with the attribute behind a dot.
        body_problem: What is wrong with the body of a dashboard, in words; empty where nothing is.
        origin: Where it was written.
    """

    name: str
    watcher: Watcher
    metrics: tuple[MetricUse, ...] = ()
    expressions: tuple[Expression, ...] = ()
    results: int | Unknown = UNKNOWN
    statistics: tuple[str | Unknown | None, str | Unknown | None] | None = None
    comparison: str | Unknown | None = None
    evaluation_periods: int | Unknown | None = None
    datapoints: int | Unknown | None = None
    missing: str | Unknown | None = None
    actions: tuple[tuple[str, tuple[str | Unknown, ...]], ...] = ()
    body_problem: str = ""
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventValue:
    """What a pattern takes for one field of an event.

    Attributes:
        path: The keys to the field, joined with dots.
        values: The texts of which one has to be there; unknown for other values.
        is_list: Whether they stand in a list, as they have to.
        names: Of an ARN that is asked for, the names that are given instead.
    """

    path: str
    values: tuple[str | Unknown, ...]
    is_list: bool = True
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRule:
    """A rule of Amazon EventBridge on events of ECS.

    Attributes:
        name: How the user calls it.
        fields: What its pattern asks for.
        is_one_of: Whether this is one of several patterns of the rule, of which one has to match.
        origin: Where it was written.
    """

    name: str
    fields: tuple[EventValue, ...]
    is_one_of: bool = False
    origin: Origin | None = field(default=None, compare=False, repr=False)
