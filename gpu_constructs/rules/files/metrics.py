"""GPU metrics that alarms and scaling policies read: do they ever have a value?

Only templates define alarms, so this rule reads the properties of the resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_constructs.errors import brief
from gpu_constructs.fleet import PoolKind, Unknown
from gpu_constructs.placement.destinations import carries_gpus
from gpu_constructs.rules.finding import and_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.resources.section import Section

_READERS: Final = (
    "AWS::CloudWatch::Alarm",
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::AutoScaling::ScalingPolicy",
)
_TRACKED: Final = ("TargetTrackingScalingPolicyConfiguration", "TargetTrackingConfiguration")
_ECS: Final = "AWS/ECS"
_RESERVATION: Final = "GPUReservation"
"""The one metric of GPUs in the namespace of ECS; it has values for a cluster, not for a service.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/available-metrics.html
"""
_CLUSTER: Final = "ClusterName"
_MANAGED: Final = "Managed Instances"
_OF_THE_AGENT: Final = "nvidia_smi_utilization_gpu of the CloudWatch agent"


@error(
    "GPU376",
    question="do the hosts have the GPU metrics that alarms and policies read?",
    because="ECS itself counts the GPUs that a cluster reserves and does not measure their use, and AWS lists the GPU "
    "metrics of Container Insights as available only on ECS Managed Instances: CloudWatch accepts any other name, and "
    "the alarm or the scaling policy never gets a value",
    softer="for metrics of Container Insights on hosts of an Auto Scaling group, which something else may send",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/monitoring-managed-instances.html",
)
def hosts_have_gpu_metrics(context: Context) -> Problems:
    for name, metric in _metrics(context):
        read, namespace = metric.text("MetricName"), metric.text("Namespace")
        if not isinstance(read, str) or "gpu" not in read.lower():
            continue
        if namespace == _ECS:
            yield from _of_ecs(name, read, metric)
        elif namespace == "ECS/ContainerInsights":
            yield from _of_insights(context, name, read, metric)


def _metrics(context: Context) -> Iterator[tuple[str, Section]]:
    """Each metric that is written in an alarm or a policy, with the name of that."""
    files = context.files
    if files is None:
        return
    for resource, name in files.names.named(tuple(files.index.all(*_READERS))):
        properties = Section.of(resource, [])
        policies = (properties.section(each).section("CustomizedMetricSpecification") for each in _TRACKED)
        for written in (properties, *policies):
            yield name, written
            for query in written.sections("Metrics"):
                yield name, query.section("MetricStat").section("Metric")


def _of_ecs(name: str, read: str, metric: Section) -> Problems:
    given = [each.text("Name") for each in metric.sections("Dimensions")]
    if read != _RESERVATION:
        at, message = "MetricName", f"{name} reads {brief(read)}, which {_ECS} does not have"
        of_hosts = f"a metric that the hosts send, such as {_OF_THE_AGENT} (CWAgent)"
        fix = f"{_RESERVATION} for the GPUs that are reserved; for their use {of_hosts}"
    elif all(isinstance(each, str) for each in given) and given != [_CLUSTER]:
        at, under = "Dimensions", f"under {and_list(sorted(map(str, given)))}" if given else "without dimensions"
        message = f"{name} reads {read} of {_ECS} {under}, and it only has values under {_CLUSTER}"
        fix = f"the dimensions {_CLUSTER}"
    else:
        return
    yield Problem(about=name, origin=metric.origin, property_name=at, message=message, fix=fix)


def _of_insights(context: Context, name: str, read: str, metric: Section) -> Problems:
    values = {each.text("Name"): each.get("Value") for each in metric.sections("Dimensions")}
    if context.files is None or values.get(_CLUSTER) is None:
        return
    fleet, cluster = context.fleet, context.files.clusters.named(values[_CLUSTER], metric.resource.place)
    if isinstance(cluster, Unknown):
        return
    pools = [each for each in fleet.pools if each.cluster == cluster]
    strays = [each for each in fleet.strays if isinstance(each.cluster, Unknown) or each.cluster == cluster]
    others = [each for each in pools if each.kind is PoolKind.AUTO_SCALING_GROUP and carries_gpus(each)]
    if not others or strays or any(each.kind is PoolKind.MANAGED_INSTANCES for each in pools):
        return
    yield Problem(
        about=name,
        origin=metric.origin,
        property_name="MetricName",
        message=f"{name} reads {brief(read)}, which AWS lists for {_MANAGED} only, and the GPUs of the cluster are on "
        f"{and_list(each.name for each in others)}",
        fix=f"a metric that the hosts send, such as {_OF_THE_AGENT}",
        is_certain=False,
    )
