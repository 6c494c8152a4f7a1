"""Metrics that are read: do they ever have a value?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.fleet import Dimension, Fleet, MetricUse, Pool, Watch, Watcher
from gpu_constructs.rules import check, rules_of
from gpu_constructs.rules.monitoring import metrics
from tests.rules.given import a_pool, managed_pool
from tests.rules.monitoring.templates import alarm, dashboard, messages, of_cluster, of_queries, query, said, template

ENHANCED = {
    "Type": "AWS::ECS::Cluster",
    "Properties": {"ClusterSettings": [{"Name": "containerInsights", "Value": "enhanced"}]},
}
SERVICE = [
    {"Name": "ClusterName", "Value": {"Ref": "Cluster"}},
    {"Name": "ServiceName", "Value": {"Fn::GetAtt": ["Service", "Name"]}},
]


def with_insights(value: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::ECS::Cluster",
        "Properties": {"ClusterSettings": [{"Name": "containerInsights", "Value": value}]},
    }


def test_a_good_alarm_gets_nothing() -> None:
    assert said(alarm()) == []


@pytest.mark.parametrize(
    ("metric", "severity", "words"),
    [
        ("CpuUtilization", "error", "which AWS/ECS does not have; CPUUtilization"),
        ("RunningTaskCount", "error", "ECS/ContainerInsights has it; the namespace ECS/ContainerInsights"),
        ("GPUUtilization", "error", "nvidia_smi_utilization_gpu of the CloudWatch agent"),
        ("SomethingNew", "warning", "a metric of https://docs.aws.amazon.com/"),
    ],
)
def test_a_metric_that_does_not_exist_is_named_with_the_nearest(metric: str, severity: str, words: str) -> None:
    wrong = alarm(MetricName=metric)
    assert said(wrong) == [("GPU372", severity)]
    assert words in messages(wrong)


def test_a_namespace_of_the_users_own_is_unknown_and_never_wrong() -> None:
    assert said(alarm(Namespace="GpuConstructs", MetricName="Whatever", Statistic="median")) == []


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"Dimensions": SERVICE[1:]}, "error"),
        ({"Dimensions": None}, "error"),
        ({"MetricName": "GPUReservation"}, "error"),
        ({"Dimensions": [{**SERVICE[0], "Name": "clusterName"}]}, "error"),
        ({"Namespace": "AWS/Batch", "MetricName": "x", "Dimensions": [{"Name": "JobQueue", "Value": "q"}]}, "error"),
        ({"Namespace": "ECS/ContainerInsights", "MetricName": "TaskCount"}, "warning"),
    ],
)
def test_a_metric_has_values_under_whole_sets_of_dimensions_alone(changes: dict[str, Any], severity: str) -> None:
    assert said(alarm(**changes), Cluster=ENHANCED) == [("GPU373", severity)]


@pytest.mark.parametrize(
    "dimensions", [{"Fn::If": ["X", SERVICE, []]}, [{"Name": {"Ref": "AWS::StackName"}, "Value": "x"}]]
)
def test_dimensions_of_the_deploy_are_unknown(dimensions: Any) -> None:
    assert said(alarm(Dimensions=dimensions)) == []


@pytest.mark.parametrize(
    ("name", "value", "metric", "namespace"),
    [
        ("ClusterName", {"Fn::GetAtt": ["Cluster", "Arn"]}, "CPUUtilization", "AWS/ECS"),
        ("ClusterName", "arn:aws:ecs:eu-west-1:111122223333:cluster/gpu", "CPUUtilization", "AWS/ECS"),
        ("ClusterName", {"Fn::Sub": "arn:aws:ecs:${AWS::Region}:1:cluster/gpu"}, "GPUReservation", "AWS/ECS"),
        ("JobQueueName", {"Ref": "Queue"}, "x", "AWS/Batch"),
    ],
)
def test_an_arn_is_no_name(name: str, value: Any, metric: str, namespace: str) -> None:
    wrong = alarm(Namespace=namespace, MetricName=metric, Dimensions=[{"Name": name, "Value": value}])
    assert said(wrong, Queue={"Type": "AWS::Batch::JobQueue", "Properties": {}}) == [("GPU374", "error")]


def test_the_dimension_of_a_state_machine_is_its_arn() -> None:
    dimensions = [{"Name": "StateMachineArn", "Value": {"Ref": "Machine"}}]
    machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": "{}"}}
    good = alarm(Namespace="AWS/States", MetricName="ExecutionsFailed", Dimensions=dimensions)
    assert said(good, Machine=machine) == []


@pytest.mark.parametrize(
    ("cluster", "metric", "expected"),
    [
        (with_insights("disabled"), "TaskCount", [("GPU375", "error")]),
        (with_insights("enabled"), "TaskCount", []),
        (with_insights("enhanced"), "TaskCount", []),
        (with_insights("enabled"), "TaskCpuUtilization", [("GPU375", "error")]),
        (with_insights("disabled"), "CpuUtilized", [("GPU375", "warning")]),  # a collector may send it
        ({"Type": "AWS::ECS::Cluster"}, "TaskCount", [("GPU375", "warning")]),  # the account decides
        (with_insights({"Ref": "AWS::NoValue"}), "TaskCount", []),
        (with_insights("on"), "TaskCount", []),
    ],
)
def test_container_insights_have_to_be_on(
    cluster: dict[str, Any], metric: str, expected: list[tuple[str, str]]
) -> None:
    assert said(of_cluster(MetricName=metric), Cluster=cluster) == expected


def test_values_of_single_tasks_need_the_enhanced_ones() -> None:
    dimensions = [*SERVICE, {"Name": "TaskId", "Value": "0123"}]
    one = of_cluster(MetricName="MemoryUtilized", Dimensions=dimensions)
    assert said(one, Cluster=with_insights("enabled")) == [("GPU375", "warning")]


def test_a_function_that_sets_container_insights_may_have_set_them() -> None:
    custom = {"Type": "Custom::Settings", "Properties": {"Cluster": {"Ref": "Cluster"}, "Name": "containerInsights"}}
    assert said(of_cluster(MetricName="TaskCount"), Other=custom) == []


GROUP_ALARM = alarm(
    Namespace="AWS/AutoScaling",
    MetricName="GroupInServiceInstances",
    Dimensions=[{"Name": "AutoScalingGroupName", "Value": {"Ref": "Hosts"}}],
)


@pytest.mark.parametrize(
    ("collection", "expected"),
    [
        (None, [("GPU384", "error")]),
        ([{"Granularity": "1Minute", "Metrics": ["GroupMaxSize"]}], [("GPU384", "error")]),
        ([{"Granularity": "1Minute"}], []),
        ([{"Granularity": "1Minute", "Metrics": ["GroupInServiceInstances"]}], []),
        ({"Ref": "AWS::StackName"}, []),
    ],
)
def test_a_group_has_to_publish_its_metrics(collection: Any, expected: list[tuple[str, str]]) -> None:
    properties = {"MinSize": 0, "MaxSize": 1} | ({} if collection is None else {"MetricsCollection": collection})
    hosts = {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": properties}
    assert said(GROUP_ALARM, Hosts=hosts) == expected
    assert said(GROUP_ALARM) == []  # a group of other files


def test_metrics_of_several_queries_are_read_one_by_one() -> None:
    wrong = of_queries(query("m1", MetricName="GPUReservations"), {"Id": "e1", "Expression": "m1 * 2"})
    assert said(wrong) == [("GPU372", "error")]


def test_a_policy_that_tracks_a_metric_is_read_too() -> None:
    metric = {"Namespace": "AWS/ECS", "MetricName": "GPUUtilization", "Statistic": "Average", "Dimensions": SERVICE}
    policy = {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": {
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 60, "CustomizedMetricSpecification": metric},
        },
    }
    assert said(policy) == [("GPU372", "error")]


CPU = ["AWS/ECS", "CPUUtilization", "ClusterName", "${Cluster}", "ServiceName", "${Service.Name}"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([CPU, [".", "MemoryUtilization", ".", ".", ".", "."], ["...", {"stat": "Maximum"}]], []),
        ([CPU, ["...", "other"]], []),
        ([CPU, [".", "MemoryUsage", ".", ".", ".", "."]], [("GPU372", "warning")]),
        ([CPU[:4], ["AWS/ECS", "GPUReservation", *CPU[4:]]], [("GPU373", "error")]),
        ([CPU[:2] + CPU[4:5] + ["${Service}"] + CPU[2:4]], [("GPU374", "error")]),
        ([[*CPU, {"id": "m1"}], [{"expression": "m1 * 2", "id": "e1"}]], []),
        ([[*CPU, {"id": "m1"}], [{"expression": "m2 * 2", "id": "e1"}]], [("GPU378", "error")]),
        ([["Own/Namespace", "Anything"], "not a row", [], [{"expression": "sum("}]], []),
    ],
)
def test_the_rows_of_a_dashboard_are_written_out(rows: list[Any], expected: list[tuple[str, str]]) -> None:
    assert said(dashboard(*rows, period=60, stat="Average")) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{widgets: []}", [("GPU385", "error")]),
        ("[]", [("GPU385", "error")]),
        ('{"widgets": [], "x": NaN}', [("GPU385", "error")]),
        ('{"widgets": [], "x": "NaN"}', []),
        ('{"widgets": []}', []),
        ({"Fn::Sub": '{"widgets": [${AWS::Region}]}'}, []),
        ({"Fn::Sub": "${AWS::Region}"}, []),
    ],
)
def test_a_body_that_is_written_out_is_json(body: Any, expected: list[tuple[str, str]]) -> None:
    assert said({"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardBody": body}}) == expected


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ([a_pool(cluster="gpu")], ["GPU376"]),
        ([a_pool("c7i.xlarge", cluster="gpu")], []),
        ([a_pool(cluster="other")], []),
        ([a_pool(cluster="gpu"), replace(managed_pool(), cluster="gpu")], []),
        ([], []),
    ],
)
def test_gpu_metrics_of_container_insights_are_those_of_managed_instances(
    pools: list[Pool], expected: list[str]
) -> None:
    use = MetricUse(
        namespace="ECS/ContainerInsights",
        name="TaskGPUUtilization",
        dimensions=(Dimension(name="ClusterName"),),
        cluster="gpu",
        insights="enhanced",
    )
    fleet = Fleet(pools=tuple(pools), watches=(Watch(name="Busy", watcher=Watcher.ALARM, metrics=(use,)),))
    assert [each.rule for each in check(fleet, rules=rules_of(metrics))] == expected


@pytest.mark.parametrize("rows", [[["AWS/ECS"] * 3_000], [CPU] * 3_000, [[CPU] * 50]])
def test_an_odd_dashboard_is_read_within_bounds(rows: list[Any]) -> None:
    assert check_files([template(dashboard(*rows))]).files


def test_a_row_with_more_dimensions_than_a_metric_takes_is_not_copied_into_the_next() -> None:
    rows = [["AWS/ECS", "CPUUtilization", *["Name", "Value"] * 31], *[["..."]] * 2]
    assert said(dashboard(*rows)) == []


def filtered(*keys: Any) -> dict[str, Any]:
    dimensions = [{"Key": each, "Value": "$.x"} for each in keys]
    transformation = {"MetricNamespace": "Chat", "MetricName": "Errors", "MetricValue": "1", "Dimensions": dimensions}
    return {"Type": "AWS::Logs::MetricFilter", "Properties": {"MetricTransformations": [transformation]}}


@pytest.mark.parametrize(
    ("keys", "dimensions", "expected"),
    [
        ((), None, []),
        ((), SERVICE, [("GPU383", "warning")]),
        (("ClusterName", "ServiceName"), SERVICE, []),
        (("ClusterName",), None, [("GPU383", "warning")]),
        (({"Ref": "AWS::StackName"},), None, []),
    ],
)
def test_a_metric_filter_publishes_under_its_own_dimensions(
    keys: Any, dimensions: Any, expected: list[tuple[str, str]]
) -> None:
    wrong = alarm(Namespace="Chat", MetricName="Errors", Dimensions=dimensions)
    assert said(wrong, Filter=filtered(*keys)) == expected
    assert said(alarm(Namespace="Chat", MetricName="Other"), Filter=filtered(*keys)) == []


def test_a_second_filter_may_publish_the_same_metric() -> None:
    wrong = alarm(Namespace="Chat", MetricName="Errors", Dimensions=SERVICE)
    both = {"One": filtered(), "Two": filtered("ServiceName", "ClusterName")}
    assert said(wrong, **both) == []


ODD: tuple[Any, ...] = (
    None,
    1,
    "",
    [],
    {},
    [[]],
    {"expression": []},
    ".",
    "...",
    True,
    1e400,
    "\ud800",
    [{"id": []}, {"id": 3}],
)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_odd_body_is_read_as_far_as_it_goes(odd: Any) -> None:
    bodies = [
        odd,
        {"widgets": odd},
        {"widgets": [odd]},
        {"widgets": [{"properties": odd}]},
        *({"widgets": [{"properties": {"metrics": rows}}]} for rows in (odd, [odd], [[odd]], [CPU, [*CPU[:2], odd]])),
        *({"widgets": [{"properties": {"metrics": [[*CPU, {key: odd}]]}}]} for key in ("id", "stat", "period")),
    ]
    for body in bodies:
        board = {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardBody": json.dumps(body)}}
        assert check_files([template(board)]).files
