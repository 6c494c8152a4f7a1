"""Rules of EventBridge on events of ECS: can an event ever match?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.monitoring.templates import events, messages, said

TASK = "ECS Task State Change"
ARN = {"Fn::GetAtt": ["Cluster", "Arn"]}


def of_tasks(**detail: Any) -> dict[str, Any]:
    return events(source=["aws.ecs"], detail__type=[TASK], detail=detail)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ({"source": ["ecs"], "detail__type": [TASK]}, "the source ecs, and those of ECS are of aws.ecs"),
        ({"source": ["aws:ecs"]}, "the source aws:ecs"),
        ({"source": ["ecs.amazonaws.com"], "detail__type": [TASK]}, "the source ecs.amazonaws.com"),
        ({"source": ["aws.ecs"], "detail__type": ["ECS Task state change"]}, f"ECS calls them {TASK}"),
        ({"source": ["aws.ecs"], "detail__type": ["ECS Task State Changes"]}, f"ECS calls them {TASK}"),
    ],
)
def test_a_source_or_type_that_ecs_does_not_have_never_matches(pattern: dict[str, Any], words: str) -> None:
    assert said(events(**pattern)) == [("GPU381", "error")]
    assert words in messages(events(**pattern))


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ({"stopCode": ["SPOT_INTERRUPTION"]}, "stopCode SPOT_INTERRUPTION, which ECS never sends; SpotInterruption"),
        ({"lastStatus": ["stopped"]}, "lastStatus stopped, which ECS never sends; STOPPED"),
        ({"lastStatus": ["FAILED"]}, "lastStatus FAILED"),
        ({"stopCode": [""]}, "stopCode an empty text, which ECS never sends"),
        ({"laststatus": ["STOPPED"]}, "detail.laststatus, and events of ECS have detail.lastStatus"),
        ({"clusterArn": [{"Ref": "Cluster"}]}, "a name, not an ARN; !GetAtt Cluster.Arn"),
        ({"clusterArn": ["gpu"]}, "the clusterArn gpu, which is a name"),
    ],
)
def test_a_field_that_no_event_has_never_matches(detail: dict[str, Any], words: str) -> None:
    assert said(of_tasks(**detail)) == [("GPU381", "error")]
    assert words in messages(of_tasks(**detail))


def test_ten_wrong_texts_of_a_field_are_enough() -> None:
    assert len(said(of_tasks(lastStatus=[f"X{number}" for number in range(3_000)]))) == 10


def test_a_text_beside_others_that_match_is_a_warning() -> None:
    assert said(of_tasks(stopCode=["SpotInterruption", "Interrupted"])) == [("GPU381", "warning")]
    both = events(source=["aws.ecs"], detail__type=[TASK, "ECS Service Actions"])
    assert said(both) == [("GPU381", "warning")]


def test_an_event_name_is_only_wrong_as_a_slip_of_one() -> None:
    def action(name: str) -> dict[str, Any]:
        return events(source=["aws.ecs"], detail__type=["ECS Service Action"], detail={"eventName": [name]})

    assert said(action("SERVICE_TASK_PLACEMENT_FAILURES")) == [("GPU381", "error")]
    assert said(action("SERVICE_WITH_A_NEW_NAME")) == []


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["aws.ecs"]},
        {"source": ["aws.ecs", "aws.elasticloadbalancing"], "detail__type": [TASK, "AWS API Call via CloudTrail"]},
        {"source": ["my.app"], "detail__type": [TASK]},
        {"source": ["aws.ecs"], "detail__type": ["ECS Daemon Deployment State Change"], "detail": {"status": ["x"]}},
        {"source": ["aws.ecs"], "detail__type": [{"prefix": "ECS"}], "detail": {"lastStatus": ["x"]}},
        {"source": ["aws.ecs"], "$or": [{"detail-type": [TASK]}, {"detail": {"eventName": ["x"]}}]},
        {"source": ["aws.ecs"], "$or": {"Ref": "AWS::StackName"}},
        {"source": ["aws.ec2"], "detail__type": ["EC2 Spot Instance Interruption Warning"]},
        {"source": "aws.s3"},
        {
            "source": ["aws.ecs"],
            "detail__type": [TASK],
            "detail": {"a": {"b": {"c": ["d"]}}, "containers": {"exitCode": [1]}},
        },
    ],
)
def test_a_pattern_that_may_match_is_fine(pattern: dict[str, Any]) -> None:
    assert said(events(**pattern)) == []


def test_values_that_ecs_sends_are_fine() -> None:
    good = of_tasks(
        clusterArn=[ARN, {"Fn::Sub": "arn:aws:ecs:${AWS::Region}:1:cluster/x"}],
        lastStatus=["STOPPED", {"anything-but": ["RUNNING"]}],
        stopCode=["SpotInterruption", "TerminationNotice"],
        stoppedReason=[{"prefix": "Host EC2"}],
    )
    assert said(good) == []


def test_a_text_without_a_list_is_refused() -> None:
    assert said(events(source="aws.ecs")) == [("GPU382", "error")]
    assert said(of_tasks(lastStatus="STOPPED")) == [("GPU382", "error")]


def test_each_of_several_patterns_is_read_with_what_all_have() -> None:
    tasks = {"detail-type": [TASK], "detail": {"stopCode": ["Interrupted"]}}
    actions = {"detail-type": ["ECS Service Action"]}
    both = events(source=["aws.ecs"], **{"$or": [tasks, actions]})
    assert said(both) == [("GPU381", "warning")]
    assert "stopCode Interrupted" in messages(both)
    other = {"source": ["gpu-constructs"], "detail-type": ["GPU Fault"]}
    assert said(events(**{"$or": [{"source": ["aws.ecs"], **actions}, other]})) == []
