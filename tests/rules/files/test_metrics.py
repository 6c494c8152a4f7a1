"""GPU metrics that alarms and scaling policies read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool
from gpu_constructs.rules import Finding, check
from gpu_constructs.rules.files.metrics import hosts_have_gpu_metrics
from gpu_constructs.template.resources.fleet import files_of
from tests.rules.given import a_pool, managed_pool
from tests.template.resources.declared import declared

CLUSTER = {"Name": "ClusterName", "Value": {"Ref": "Cluster"}}
SERVICE = {"Name": "ServiceName", "Value": "chat"}
IN_USE = {"Namespace": "AWS/ECS", "MetricName": "GPUUtilization", "Dimensions": [CLUSTER]}
RESERVED = {**IN_USE, "MetricName": "GPUReservation"}
OF_TASKS = {"Namespace": "ECS/ContainerInsights", "MetricName": "TaskGPUUtilization"}
SCALED = "TargetTrackingScalingPolicyConfiguration"


def alarm(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}


def policy(kind: str, key: str, metric: dict[str, Any]) -> dict[str, Any]:
    return {"Type": f"AWS::{kind}::ScalingPolicy", "Properties": {key: {"CustomizedMetricSpecification": metric}}}


def said(resource: dict[str, Any], *pools: Pool, strays: tuple[Pool, ...] = ()) -> list[Finding]:
    files = files_of([declared({"Cluster": {"Type": "AWS::ECS::Cluster"}, "Busy": resource})])
    fleet = replace(files.fleet, pools=pools, strays=strays)
    return list(check(fleet, rules=[hosts_have_gpu_metrics], files=replace(files, fleet=fleet)))


@pytest.mark.parametrize(
    "resource",
    [alarm(**IN_USE), policy("ApplicationAutoScaling", SCALED, IN_USE)],
)
def test_ecs_does_not_measure_the_use_of_gpus(resource: dict[str, Any]) -> None:
    (finding,) = said(resource)
    assert finding.severity.value == "error"
    assert finding.message == "Busy reads GPUUtilization, which AWS/ECS does not have"


@pytest.mark.parametrize(
    ("dimensions", "words"),
    [
        ([CLUSTER, SERVICE], ["under ClusterName and ServiceName"]),
        ([], ["without dimensions"]),
        ([{"Name": {"Ref": "Which"}, "Value": "x"}], []),
    ],
)
def test_reserved_gpus_are_counted_in_a_cluster(dimensions: Any, words: list[str]) -> None:
    found = said(alarm(**{**RESERVED, "Dimensions": dimensions}))
    assert len(found) == len(words)
    assert all(word in each.message for word, each in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("pools", "severities"),
    [
        ([a_pool(cluster="Cluster")], ["warning"]),
        ([a_pool("c7i.xlarge", cluster="Cluster")], []),
        ([a_pool(cluster="other")], []),
        ([a_pool(cluster="Cluster"), replace(managed_pool(), cluster="Cluster")], []),
    ],
)
def test_gpu_metrics_of_container_insights_are_those_of_managed_instances(
    pools: list[Pool], severities: list[str]
) -> None:
    read = alarm(**OF_TASKS, Dimensions=[CLUSTER])
    assert [each.severity.value for each in said(read, *pools)] == severities
    assert said(read, *pools, strays=(a_pool(cluster=UNKNOWN),)) == []
    assert said(alarm(**OF_TASKS, Dimensions=[{**CLUSTER, "Value": {"Fn::ImportValue": "x"}}]), *pools) == []
    assert said(alarm(**OF_TASKS), *pools) == []
