"""GPU metrics that alarms and scaling policies read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, GpuMetric, Pool
from gpu_constructs.rules.monitoring.metrics import hosts_have_gpu_metrics
from tests.rules.given import a_pool, managed_pool, said
from tests.template.resources.declared import fleet

CLUSTER = {"Name": "ClusterName", "Value": {"Ref": "Cluster"}}
SERVICE = {"Name": "ServiceName", "Value": "chat"}
IN_USE = {"Namespace": "AWS/ECS", "MetricName": "GPUUtilization", "Dimensions": [CLUSTER]}
RESERVED = {**IN_USE, "MetricName": "GPUReservation"}
SCALED, TRACKED = "TargetTrackingScalingPolicyConfiguration", "TargetTrackingConfiguration"


def alarm(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}


def queries(*metrics: Any) -> list[dict[str, Any]]:
    return [{"Id": "e1", "Expression": "m0"}, *({"Id": "m0", "MetricStat": {"Metric": each}} for each in metrics)]


def policy(kind: str, key: str, metric: dict[str, Any]) -> dict[str, Any]:
    return {"Type": f"AWS::{kind}::ScalingPolicy", "Properties": {key: {"CustomizedMetricSpecification": metric}}}


def read(resource: dict[str, Any]) -> Fleet:
    return fleet({"Cluster": {"Type": "AWS::ECS::Cluster"}, "Busy": resource})


@pytest.mark.parametrize(
    "resource",
    [
        alarm(**IN_USE),
        alarm(Metrics=queries(IN_USE, IN_USE)),
        policy("ApplicationAutoScaling", SCALED, IN_USE),
        policy("AutoScaling", TRACKED, IN_USE),
        policy("AutoScaling", TRACKED, {"Metrics": queries(IN_USE)}),
    ],
)
def test_ecs_does_not_measure_the_use_of_gpus(resource: dict[str, Any]) -> None:
    (finding,) = said(hosts_have_gpu_metrics, read(resource))
    assert (finding.severity.value, finding.message) == (
        "error",
        "Busy reads GPUUtilization, which AWS/ECS does not have",
    )


@pytest.mark.parametrize(
    ("dimensions", "words"),
    [
        ([CLUSTER], []),
        ([CLUSTER, SERVICE], ["under ClusterName and ServiceName"]),
        ([], ["without dimensions"]),
        ([{"Name": {"Ref": "Which"}, "Value": "x"}], []),
        ({"Ref": "Which"}, []),
    ],
)
def test_reserved_gpus_are_counted_in_a_cluster(dimensions: Any, words: list[str]) -> None:
    found = said(hosts_have_gpu_metrics, read(alarm(**{**RESERVED, "Dimensions": dimensions})))
    assert len(found) == len(words)
    assert all(word in each.message for word, each in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("namespace", "metric"),
    [
        ("AWS/ECS", "CPUUtilization"),
        ("Chat", "GPUUtilization"),
        ("CWAgent", "nvidia_smi_utilization_gpu"),
        ({"Ref": "Where"}, "GPUUtilization"),
        ("AWS/ECS", {"Ref": "Which"}),
    ],
)
def test_nothing_is_said_of_other_metrics(namespace: Any, metric: Any) -> None:
    assert read(alarm(Namespace=namespace, MetricName=metric)).gpu_metrics == ()


@pytest.mark.parametrize(
    ("pools", "severities"),
    [
        ([a_pool(cluster="gpu")], ["warning"]),
        ([a_pool("c7i.xlarge", cluster="gpu")], []),
        ([a_pool(cluster="other")], []),
        ([a_pool(cluster="gpu"), replace(managed_pool(), cluster="gpu")], []),
        ([], []),
    ],
)
def test_gpu_metrics_of_container_insights_are_those_of_managed_instances(
    pools: list[Pool], severities: list[str]
) -> None:
    use = GpuMetric(name="Busy", namespace="ECS/ContainerInsights", metric="TaskGPUUtilization", cluster="gpu")
    fleet = Fleet(pools=tuple(pools), gpu_metrics=(use,))
    assert [each.severity.value for each in said(hosts_have_gpu_metrics, fleet)] == severities
    assert said(hosts_have_gpu_metrics, replace(fleet, gpu_metrics=(replace(use, cluster=UNKNOWN),))) == []
    assert said(hosts_have_gpu_metrics, replace(fleet, strays=(a_pool(cluster="gpu"),))) == []
