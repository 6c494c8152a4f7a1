"""Metrics that alarms, dashboards and scaling policies name, with the resources that their dimensions are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from gpu_constructs.fleet import UNKNOWN, Dimension, MetricUse, Origin, Unknown
from gpu_constructs.hardware.cloudwatch import namespaces
from gpu_constructs.template.mentions import mentioned
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.clusters import CLUSTER, Clusters
from gpu_constructs.template.resources.groups import AUTO_SCALING_GROUP
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.scaling import SERVICE
from gpu_constructs.template.resources.section import Section, is_list

_FILTER = "AWS::Logs::MetricFilter"
_INSIGHTS = "containerInsights"
_AGENT, _OF_GPUS = "CWAgent", "nvidia_smi"
# Of these, Ref is the ARN.
_REFERRED_TO_BY_ARN = frozenset(
    {
        "AWS::Batch::JobDefinition",
        "AWS::Batch::JobQueue",
        SERVICE,
        "AWS::ECS::TaskDefinition",
        "AWS::Serverless::StateMachine",
        "AWS::StepFunctions::StateMachine",
    }
)


class MetricUses:
    """Reads metrics."""

    def __init__(self, index: Index, clusters: Clusters, services: Mapping[Reference, str]) -> None:
        self._index = index
        self._clusters = clusters
        self._services = services

    def is_meant(self, namespace: Value, name: Value) -> bool:
        """Whether a metric is one of ECS, its hosts or its jobs, or of a metric filter of these files."""
        if not isinstance(namespace, str):
            return False
        if isinstance(name, str) and (namespace, name) in self._published:
            return True
        return namespace in namespaces() and (
            namespace != _AGENT or (isinstance(name, str) and name.startswith(_OF_GPUS))
        )

    def of(
        self,
        written: Section,
        *,
        statistic: str | Unknown | None,
        period: int | Unknown | None,
        id: str = "",  # noqa: A002 - the word of CloudWatch
    ) -> MetricUse:
        """A metric that is written as an object with ``Namespace``, ``MetricName`` and ``Dimensions``."""
        given = written.get("Dimensions")
        pairs: list[tuple[Value, Value]] | None = []
        if given is not None:
            pairs = [(each.get("Name"), each.get("Value")) for each in _objects(given)] if is_list(given) else None
        if pairs is not None and is_list(given) and len(pairs) < len(given):
            pairs = None
        return self.named(
            _text(written.get("Namespace")),
            _text(written.get("MetricName")),
            pairs,
            written.origin,
            statistic=statistic,
            period=period,
            id=id,
            is_listed=True,
        )

    def named(
        self,
        namespace: str | Unknown,
        name: str | Unknown,
        dimensions: Sequence[tuple[Value, Value]] | None,
        origin: Origin,
        *,
        statistic: str | Unknown | None,
        period: int | Unknown | None,
        id: str = "",  # noqa: A002 - the word of CloudWatch
        is_listed: bool = False,
    ) -> MetricUse:
        """A metric by its names, and by the pairs of its dimensions; None for those if not all are known."""
        place = origin.place
        values = {key: value for key, value in dimensions or () if isinstance(key, str)}
        cluster = values.get("ClusterName")
        found = None if cluster is None else self._index.find(cluster, CLUSTER, place)
        service = self._index.find(values.get("ServiceName"), SERVICE, place)
        group = self._index.find(values.get("AutoScalingGroupName"), AUTO_SCALING_GROUP, place)
        return MetricUse(
            namespace=namespace,
            name=name,
            dimensions=UNKNOWN
            if dimensions is None
            else tuple(
                self._dimension(key, value, origin.at("Dimensions", number) if is_listed else origin)
                for number, (key, value) in enumerate(dimensions)
            ),
            statistic=statistic,
            period=period,
            id=id,
            cluster=UNKNOWN if cluster is None else self._clusters.named(cluster, place),
            insights=UNKNOWN if found is None else self._insights(found),
            workload="" if service is None else self._services.get(service.reference, ""),
            is_switched_off=group is not None and _lacks(group, name),
            published=self._published.get((namespace, name)),
            origin=origin,
        )

    def _dimension(self, name: Value, value: Value, origin: Origin) -> Dimension:
        refers_to, is_arn = "", isinstance(value, str) and value.startswith("arn:")
        if isinstance(value, Text):
            is_arn = any(isinstance(each, str) and each.startswith("arn:") for each in value.pieces[:1])
        if isinstance(value, Reference):
            resource = self._index.at(value)
            refers_to = value.logical_id if resource is not None else ""
            is_arn = (value.attribute or "").lower().endswith("arn") or (
                value.attribute is None and resource is not None and resource.type in _REFERRED_TO_BY_ARN
            )
        return Dimension(name=_text(name), value=_text(value), is_arn=is_arn, refers_to=refers_to, origin=origin)

    def _insights(self, cluster: Resource) -> str | Unknown:
        """What a cluster says about Container Insights; empty where it says nothing."""
        settings = cluster.properties.get("ClusterSettings")
        if cluster.is_part or self._may_be_set_otherwise:
            return UNKNOWN
        if settings is None:
            return ""
        if not is_list(settings) or len(_objects(settings)) < len(settings):
            return UNKNOWN
        for each in _objects(settings):
            if each.get("Name") == _INSIGHTS:
                return _text(each.get("Value"))
            if not isinstance(each.get("Name"), str):
                return UNKNOWN
        return ""

    @cached_property
    def _published(self) -> Mapping[tuple[Value, Value], tuple[frozenset[str], ...] | None]:
        """The metrics that metric filters publish, by namespace and name, with their sets of dimensions."""
        found: dict[tuple[Value, Value], tuple[frozenset[str], ...] | None] = {}
        for resource in self._index.all(_FILTER):
            written = resource.properties.get("MetricTransformations")
            for each in _objects(written) if is_list(written) else ():
                key = each.get("MetricNamespace"), each.get("MetricName")
                if all(isinstance(one, str) for one in key):
                    before, names = found.get(key, ()), _keys(each.get("Dimensions"))
                    found[key] = None if before is None or names is None else (*before, names)
        return found

    @cached_property
    def _may_be_set_otherwise(self) -> bool:
        """Whether a custom resource may change the settings of a cluster."""
        return any(_INSIGHTS.lower() in mentioned(each)[0].lower() for each in self._index.of_custom_types())


def _text(value: Value) -> str | Unknown:
    return value if isinstance(value, str) else UNKNOWN


def _objects(values: Sequence[Value]) -> list[Mapping[str, Value]]:
    return [each for each in values if isinstance(each, Mapping)]


def _keys(dimensions: Value) -> frozenset[str] | None:
    """The names of the dimensions of a metric filter; None if not all are known."""
    if dimensions is None:
        return frozenset()
    keys = [each.get("Key") for each in _objects(dimensions)] if is_list(dimensions) else [None]
    is_whole = is_list(dimensions) and len(keys) == len(dimensions)
    return frozenset(map(str, keys)) if is_whole and all(isinstance(each, str) for each in keys) else None


def _lacks(group: Resource, metric: str | Unknown) -> bool:
    """Whether an Auto Scaling group certainly does not publish a metric of groups."""
    collections = group.properties.get("MetricsCollection")
    if collections is None:
        return not group.is_part
    if not is_list(collections) or len(_objects(collections)) < len(collections):
        return False
    chosen = [each.get("Metrics") for each in _objects(collections)]
    return not isinstance(metric, Unknown) and all(
        is_list(each) and bool(each) and all(isinstance(one, str) for one in each) and metric not in each
        for each in chosen
    )
