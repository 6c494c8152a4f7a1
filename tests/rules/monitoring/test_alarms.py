"""Alarms: does CloudWatch take them, and do they say what they are meant to say?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.monitoring.templates import alarm, messages, of_queries, query, said

TOPIC = {"Type": "AWS::SNS::Topic"}
EXPRESSION = {"Id": "e1", "Expression": "100 - m1"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"Statistic": "average"}, "the statistic average of CPUUtilization; Average"),
        ({"Statistic": "Median"}, "the statistic Median"),
        ({"Statistic": None, "ExtendedStatistic": "p101.x"}, "the statistic p101.x"),
        ({"Statistic": None, "ExtendedStatistic": "p100.5"}, "the statistic p100.5"),
        ({"Statistic": "p99"}, "the Statistic p99, which is an extended one; ExtendedStatistic: p99"),
        ({"Statistic": None, "ExtendedStatistic": "Sum"}, "which is not an extended one; Statistic: Sum"),
        ({"ExtendedStatistic": "p99"}, "has both Statistic and ExtendedStatistic"),
        ({"Statistic": None}, "has neither Statistic nor ExtendedStatistic"),
        ({"EvaluationPeriods": 0}, "has EvaluationPeriods 0; EvaluationPeriods of 1 or more"),
        ({"DatapointsToAlarm": -1}, "has DatapointsToAlarm -1"),
        ({"Period": 90}, "a period of 90 seconds; a multiple of 60"),
        ({"Period": 0}, "a period of 0 seconds; a multiple of 60"),
        ({"EvaluationPeriods": 1441}, "1441 periods of 60 seconds, 86,460 seconds in all"),
        ({"Period": 3600, "EvaluationPeriods": 169}, "169 periods of 3600 seconds"),
        ({"DatapointsToAlarm": 6}, "6 values beyond the threshold out of 5"),
    ],
)
def test_what_the_api_refuses_is_said_with_what_it_takes(changes: dict[str, Any], words: str) -> None:
    wrong = alarm(**changes)
    assert said(wrong) == [("GPU377", "error")]
    assert words in messages(wrong)


@pytest.mark.parametrize(
    "changes",
    [
        {"Statistic": None, "ExtendedStatistic": "p99.9"},
        {"Statistic": None, "ExtendedStatistic": "TM(10%:90%)"},
        {"Statistic": None, "ExtendedStatistic": "IQM"},
        {"Statistic": None, "ExtendedStatistic": "p100.0"},
        {"Statistic": {"Ref": "AWS::StackName"}},
        {"Statistic": {"Ref": "AWS::StackName"}, "ExtendedStatistic": {"Ref": "AWS::StackName"}},
        {"Period": 20},
        {"Period": "300"},
        {"Period": 3600, "EvaluationPeriods": 168},
        {"EvaluationPeriods": 1440},
        {"DatapointsToAlarm": 5},
    ],
)
def test_what_it_takes_is_fine(changes: dict[str, Any]) -> None:
    assert said(alarm(**changes)) == []


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("100 - m2", "names m2, and the ids there are e1 and m1"),
        ("100 - ", "cannot be read: it ends too early"),
        ("sum(m1)", "calls sum, and functions are written in capitals; SUM"),
        ("SUM([m1, m1]", "cannot be read: a ')' is missing"),
        ("m1 m1", "cannot be read: 'm1' is not expected there"),
        ("m1 @ 2", "cannot be read: '@' is not expected there"),
        ("SEARCH('{AWS/ECS,ClusterName} MetricName=\"CPUUtilization\"', 'Average')", "searches for metrics"),
    ],
)
def test_an_expression_that_cannot_be_worked_out_is_refused(expression: str, words: str) -> None:
    wrong = of_queries(query("m1"), {"Id": "e1", "Expression": expression})
    assert said(wrong) == [("GPU378", "error")]
    assert words in messages(wrong)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (("Cpu", "m2"), "a query with the id Cpu, which CloudWatch does not accept; an id such as m1"),
        (("m1", "m1"), "2 queries with the id m1; another id"),
        (("m1", "e1"), "2 queries with the id e1"),
    ],
)
def test_each_id_is_a_name_of_its_own(ids: tuple[str, str], words: str) -> None:
    wrong = of_queries(*map(query, ids), {"Id": "e1", "Expression": "SUM(METRICS())"})
    assert said(wrong) == [("GPU378", "error")]
    assert words in messages(wrong)


@pytest.mark.parametrize(
    "expression",
    [
        "100 - m1",
        "-m1",
        "IF(m1 > 80 AND HOUR(m1) < 6, 1, 0)",
        'FILL(m1, REPEAT) / SUM(METRICS("m"))',
        "SUM([m1, m1 * 2, 1.5e3])",
        "SORT(METRICS(), AVG, DESC, 10)",
        "ANOMALY_DETECTION_BAND(m1, 2)",
        "NOTHINGKNOWN(m1)",
        'SELECT AVG(CPUUtilization) FROM SCHEMA("AWS/ECS", ClusterName)',
        "(" * 3_000,
        "(" * 1_000 + "m1" + ")" * 1_000,
        {"Fn::Sub": "${AWS::Region}"},
    ],
)
def test_an_expression_that_may_work_is_fine(expression: Any) -> None:
    assert said(of_queries(query("m1"), {"Id": "e1", "Expression": expression})) == []


@pytest.mark.parametrize(
    ("returns", "expected"), [(None, [("GPU378", "error")]), (True, [("GPU378", "error")]), (False, [])]
)
def test_an_alarm_watches_one_result(returns: bool | None, expected: list[tuple[str, str]]) -> None:
    assert said(of_queries(query("m1", returns=returns), EXPRESSION)) == expected


def test_an_alarm_on_anomalies_returns_the_band_too() -> None:
    band = {"Id": "ad1", "Expression": "ANOMALY_DETECTION_BAND(m1, 2)"}
    comparison = "LessThanLowerOrGreaterThanUpperThreshold"
    good = of_queries(
        query("m1", returns=True), band, ThresholdMetricId="ad1", ComparisonOperator=comparison, Threshold=None
    )
    assert said(good) == []


@pytest.mark.parametrize(
    "action",
    [
        {"Fn::GetAtt": ["Queue", "Arn"]},
        {"Fn::GetAtt": ["Topic", "TopicName"]},
        "arn:aws:sqs:eu-west-1:111122223333:pages",
        "arn:aws:states:eu-west-1:111122223333:stateMachine:repair",
        {"Fn::Sub": "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/default"},
        "pages@example.com",
    ],
)
def test_an_alarm_starts_no_queue_and_no_bus(action: Any) -> None:
    queue = {"Type": "AWS::SQS::Queue"}
    assert said(alarm(AlarmActions=[action]), Topic=TOPIC, Queue=queue) == [("GPU379", "error")]


def test_the_default_of_a_parameter_may_be_an_empty_action() -> None:
    assert said(alarm(AlarmActions=[""])) == [("GPU379", "warning")]
    assert "has an empty text among its AlarmActions" in messages(alarm(AlarmActions=[""]))


@pytest.mark.parametrize(
    "actions",
    [
        [{"Ref": "Topic"}],
        [{"Fn::Sub": "arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:pages"}],
        ["arn:aws:automate:eu-west-1:ec2:reboot"],
        ["arn:aws:lambda:eu-west-1:111122223333:function:page"],
        [{"Fn::ImportValue": "Pages"}, {"Ref": "Elsewhere"}],
        [{"Ref": "Topic"}] * 5,
        {"Fn::If": ["X", [], []]},
    ],
)
def test_an_alarm_takes_topics_functions_and_actions_of_ec2(actions: Any) -> None:
    assert said(alarm(AlarmActions=actions), Topic=TOPIC) == []


def test_an_alarm_takes_five_actions() -> None:
    assert said(alarm(OKActions=[{"Ref": "Topic"}] * 6), Topic=TOPIC) == [("GPU379", "error")]


def test_a_composite_alarm_scales_nothing() -> None:
    action = "arn:aws:autoscaling:eu-west-1:1:scalingPolicy:x:autoScalingGroupName/a:policyName/b"
    rule = {"AlarmRule": "ALARM(Watched)", "AlarmActions": [action]}
    both = {"Type": "AWS::CloudWatch::CompositeAlarm", "Properties": rule}
    assert said(alarm(), Both=both) == [("GPU379", "error")]
    assert said(alarm(AlarmActions=[action])) == []


GONE = {"Statistic": "SampleCount", "ComparisonOperator": "LessThanThreshold"}
SPARSE = {
    "Namespace": "AWS/Events",
    "MetricName": "FailedInvocations",
    "Dimensions": [{"Name": "RuleName", "Value": "x"}],
    "Statistic": "Sum",
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({**SPARSE, "TreatMissingData": "breaching"}, "on whenever nothing happens"),
        (GONE, "counts running tasks"),
        ({**GONE, "TreatMissingData": "notBreaching"}, "are notBreaching; TreatMissingData: breaching"),
    ],
)
def test_missing_values_that_decide_the_alarm_are_a_warning(changes: dict[str, Any], words: str) -> None:
    wrong = alarm(**changes)
    assert said(wrong) == [("GPU380", "warning")]
    assert words in messages(wrong)


def test_a_service_without_copies_has_no_values() -> None:
    wrong = alarm(TreatMissingData="breaching")
    assert said(wrong) == []
    service = {
        "Type": "AWS::ECS::Service",
        "Properties": {
            "Cluster": {"Ref": "Cluster"},
            "TaskDefinition": "chat",
            "LaunchType": "FARGATE",
            "DesiredCount": 0,
        },
    }
    assert said(wrong, Service=service) == [("GPU380", "warning")]


@pytest.mark.parametrize(
    "changes",
    [
        {**SPARSE, "TreatMissingData": "notBreaching"},
        {"ComparisonOperator": "LessThanThreshold"},
        {"Statistic": "SampleCount", "ComparisonOperator": "LessThanThreshold", "TreatMissingData": "breaching"},
        {
            "Statistic": "SampleCount",
            "ComparisonOperator": "LessThanThreshold",
            "TreatMissingData": {"Ref": "AWS::Region"},
        },
    ],
)
def test_other_alarms_may_treat_them_as_they_like(changes: dict[str, Any]) -> None:
    assert said(alarm(**changes)) == []
