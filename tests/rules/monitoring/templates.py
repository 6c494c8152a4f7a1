"""Alarms of templates to ask the rules of monitoring about."""

from __future__ import annotations

import json
from typing import Any

from gpu_constructs.checking.report import check_files

ROOM = range(372, 386)


def alarm(**changes: Any) -> dict[str, Any]:
    """An alarm on the CPU of a service, good in every respect."""
    properties = {
        "Namespace": "AWS/ECS",
        "MetricName": "CPUUtilization",
        "Dimensions": [
            {"Name": "ClusterName", "Value": {"Ref": "Cluster"}},
            {"Name": "ServiceName", "Value": {"Fn::GetAtt": ["Service", "Name"]}},
        ],
        "Statistic": "Average",
        "Period": 60,
        "EvaluationPeriods": 5,
        "Threshold": 80,
        "ComparisonOperator": "GreaterThanThreshold",
        **changes,
    }
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {key: value for key, value in properties.items() if value is not None},
    }


def of_cluster(**changes: Any) -> dict[str, Any]:
    """An alarm on a metric of Container Insights of the cluster."""
    dimensions = [{"Name": "ClusterName", "Value": {"Ref": "Cluster"}}]
    return alarm(**{"Namespace": "ECS/ContainerInsights", "Dimensions": dimensions, **changes})


def query(id_: str, *, returns: bool | None = False, **changes: Any) -> dict[str, Any]:
    """A query of an alarm for a metric of the cluster."""
    metric = {
        "Namespace": "AWS/ECS",
        "MetricName": "GPUReservation",
        "Dimensions": [{"Name": "ClusterName", "Value": {"Ref": "Cluster"}}],
        **changes,
    }
    found: dict[str, Any] = {"Id": id_, "MetricStat": {"Metric": metric, "Stat": "Average", "Period": 60}}
    return found if returns is None else {**found, "ReturnData": returns}


def of_queries(*queries: Any, **changes: Any) -> dict[str, Any]:
    """An alarm on several queries."""
    single = dict.fromkeys(("Namespace", "MetricName", "Dimensions", "Statistic", "Period"))
    return alarm(**{**single, "Metrics": list(queries), **changes})


def dashboard(*rows: Any, **properties: Any) -> dict[str, Any]:
    """A dashboard with one widget, its references written with Fn::Sub."""
    body = {"widgets": [{"type": "metric", "properties": {"metrics": list(rows), **properties}}]}
    return {
        "Type": "AWS::CloudWatch::Dashboard",
        "Properties": {"DashboardBody": {"Fn::Sub": json.dumps(body)}},
    }


def events(**pattern: Any) -> dict[str, Any]:
    """A rule of EventBridge; two underscores stand for a hyphen."""
    return {
        "Type": "AWS::Events::Rule",
        "Properties": {"EventPattern": {key.replace("__", "-"): value for key, value in pattern.items()}},
    }


def template(watched: dict[str, Any], **resources: Any) -> dict[str, Any]:
    """A cluster with a service, and what watches them."""
    return {
        "Resources": {
            "Cluster": {"Type": "AWS::ECS::Cluster"},
            "Service": {
                "Type": "AWS::ECS::Service",
                "Properties": {"Cluster": {"Ref": "Cluster"}, "TaskDefinition": "chat", "LaunchType": "FARGATE"},
            },
            "Watched": watched,
            **resources,
        }
    }


def said(watched: dict[str, Any], **resources: Any) -> list[tuple[str, str]]:
    """What the rules of monitoring say, with the severity."""
    findings = check_files([template(watched, **resources)]).findings
    return [(each.rule, each.severity.value) for each in findings if int(each.rule[3:]) in ROOM]


def messages(watched: dict[str, Any], **resources: Any) -> str:
    """The messages and fixes of the rules of monitoring."""
    findings = check_files([template(watched, **resources)]).findings
    return "\n".join(f"{each.message}; {each.fix}" for each in findings if int(each.rule[3:]) in ROOM)
