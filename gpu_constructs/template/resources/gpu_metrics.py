"""The metrics of GPUs that alarms and scaling policies read.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import UNKNOWN, GpuMetric, Unknown
from gpu_constructs.template.model import Value
from gpu_constructs.template.resources.clusters import Clusters
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.section import Section

_READERS = (
    "AWS::CloudWatch::Alarm",
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::AutoScaling::ScalingPolicy",
)
_TRACKED = ("TargetTrackingScalingPolicyConfiguration", "TargetTrackingConfiguration")
_NAMESPACES = frozenset({"AWS/ECS", "ECS/ContainerInsights"})
_CLUSTER = "ClusterName"


def gpu_metrics_of(index: Index, names: Names, clusters: Clusters) -> Iterator[GpuMetric]:
    """Reads each metric once for each alarm and each policy that reads it."""
    readers = tuple(index.all(*_READERS))
    called = names.unique([(each, "") for each in readers])
    for resource, name in zip(readers, called, strict=True):
        yield from dict.fromkeys(_metrics(Section.of(resource, []), name, clusters))


def _metrics(properties: Section, name: str, clusters: Clusters) -> Iterator[GpuMetric]:
    policies = (properties.section(each).section("CustomizedMetricSpecification") for each in _TRACKED)
    for written in (properties, *policies):
        queries = written.sections("Metrics")
        for each in (written, *(query.section("MetricStat").section("Metric") for query in queries)):
            namespace, metric = each.text("Namespace"), each.text("MetricName")
            if isinstance(metric, str) and "gpu" in metric.lower() and namespace in _NAMESPACES:
                values = _dimensions(each)
                cluster = None if isinstance(values, Unknown) else values.get(_CLUSTER)
                yield GpuMetric(
                    name=name,
                    namespace=str(namespace),
                    metric=metric,
                    dimensions=UNKNOWN if isinstance(values, Unknown) else frozenset(values),
                    cluster=UNKNOWN if cluster is None else clusters.named(cluster, each.resource.place),
                    origin=each.origin,
                )


def _dimensions(metric: Section) -> dict[str, Value] | Unknown:
    """The values of its dimensions by name; unknown where not all names are known."""
    found = {each.text("Name"): each.get("Value") for each in metric.sections("Dimensions")}
    known = {name: value for name, value in found.items() if isinstance(name, str)}
    return known if len(known) == len(found) else UNKNOWN
