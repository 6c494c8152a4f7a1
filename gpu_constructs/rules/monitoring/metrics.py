"""GPU metrics that alarms and scaling policies read: do they ever have a value?"""

from __future__ import annotations

from typing import Final

from gpu_constructs.budget import brief
from gpu_constructs.fleet import GpuMetric, PoolKind, Unknown
from gpu_constructs.placement.destinations import carries_gpus
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error

_ECS: Final = "AWS/ECS"
_RESERVATION: Final = "GPUReservation"
"""The one metric of GPUs in the namespace of ECS; it has values for a cluster, not for a service.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/available-metrics.html
"""
_CLUSTER: Final = frozenset({"ClusterName"})
_MANAGED: Final = "Managed Instances"
_OF_THE_AGENT: Final = "nvidia_smi_utilization_gpu of the CloudWatch agent"


@error(
    "GPU376",
    question="do the hosts of a cluster have the GPU metrics that are read of them?",
    because="ECS itself counts the GPUs that a cluster reserves and does not measure their use, and AWS lists the GPU "
    "metrics of Container Insights as available only on ECS Managed Instances: CloudWatch accepts any other name, and "
    "the alarm or the scaling policy never gets a value",
    softer="for metrics of Container Insights on hosts of an Auto Scaling group, which something else may send",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/monitoring-managed-instances.html",
)
def hosts_have_gpu_metrics(context: Context) -> Problems:
    for read in context.fleet.gpu_metrics:
        if read.namespace == _ECS:
            yield from _of_ecs(read)
        else:
            yield from _of_insights(context, read)


def _of_ecs(read: GpuMetric) -> Problems:
    if read.metric != _RESERVATION:
        yield Problem(
            about=read.name,
            origin=read.origin,
            property_name="MetricName",
            value=read.metric,
            message=f"{read.name} reads {brief(read.metric)}, which {_ECS} does not have",
            allowed=_RESERVATION,
            fix=f"{_RESERVATION} for the GPUs that are reserved; for their use a metric that the hosts send, such as "
            f"{_OF_THE_AGENT} (CWAgent)",
        )
    elif not isinstance(read.dimensions, Unknown) and read.dimensions != _CLUSTER:
        under = f"under {and_list(sorted(read.dimensions))}" if read.dimensions else "without dimensions"
        yield Problem(
            about=read.name,
            origin=read.origin,
            property_name="Dimensions",
            value=", ".join(sorted(read.dimensions)),
            message=f"{read.name} reads {read.metric} of {_ECS} {under}, and it only has values under ClusterName",
            allowed="ClusterName",
            fix="the dimensions ClusterName",
        )


def _of_insights(context: Context, read: GpuMetric) -> Problems:
    fleet = context.fleet
    if isinstance(read.cluster, Unknown):
        return
    pools = [each for each in fleet.pools if each.cluster == read.cluster]
    strays = [each for each in fleet.strays if isinstance(each.cluster, Unknown) or each.cluster == read.cluster]
    others = [each for each in pools if each.kind is PoolKind.AUTO_SCALING_GROUP and carries_gpus(each)]
    if not others or strays or any(each.kind is PoolKind.MANAGED_INSTANCES for each in pools):
        return
    yield Problem(
        about=read.name,
        origin=read.origin,
        property_name="MetricName",
        value=read.metric,
        message=f"{read.name} reads {brief(read.metric)}, which AWS lists for {_MANAGED} only, and the GPUs of the "
        f"cluster are on {and_list(each.name for each in others)}",
        fix=f"a metric that the hosts send, such as {_OF_THE_AGENT}",
        is_certain=False,
    )
