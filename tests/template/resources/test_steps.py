"""How states that run tasks and jobs end, and what submits jobs, as templates say it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Step, Submission
from tests.template.resources.declared import fleet, resource

TASK = resource("ECS::TaskDefinition", Family="train", ContainerDefinitions=[{"Name": "main", "Memory": 100}])
JOB = resource("Batch::JobDefinition", Type="container", JobDefinitionName="job", ContainerProperties={"Image": "x"})
QUEUE = resource("Batch::JobQueue", JobQueueName="queue", ComputeEnvironmentOrder=[])
FAIR = resource("Batch::SchedulingPolicy", FairsharePolicy={})
QUOTAS = resource("Batch::SchedulingPolicy", QuotaSharePolicy={})
ALL = ["States.ALL"]
TO_PAUSE = [{"ErrorEquals": ALL, "Next": "Pause"}]
PAUSE = {"Type": "Wait", "Seconds": 60, "Next": "Train"}
SUBMIT = {"JobName": "x", "JobQueue": "queue", "JobDefinition": "job"}


def machine(definition: Any) -> dict[str, Any]:
    return {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": definition}}


def read(train: dict[str, Any], *, others: Any = None, top: Any = None, **resources: Any) -> Fleet:
    """A state machine whose state Train runs a task and waits for its end."""
    state = {"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask.sync", "Parameters": {"TaskDefinition": "train"}}
    definition = {"StartAt": "Train", "States": {"Train": {**state, **train}, **(others or {})}, **(top or {})}
    found = {"Task": TASK, "Job": JOB, "Machine": machine(json.dumps(definition))}
    return fleet({**found, "Queue": QUEUE, **resources})


def step(train: dict[str, Any], **given: Any) -> Step:
    (found,) = read(train, **given).steps
    return found


@pytest.mark.parametrize(
    ("train", "top", "limited"),
    [
        ({}, {"TimeoutSeconds": 60}, True),
        ({"HeartbeatSeconds": 60}, None, False),  # only what has a token sends heartbeats
        ({"Resource": "arn:aws:states:::ecs:runTask.waitForTaskToken", "HeartbeatSeconds": 60}, None, True),
    ],
)
def test_a_limit_is_that_of_the_state_or_of_the_execution(train: dict[str, Any], top: Any, limited: bool) -> None:
    assert step(train, top=top).is_limited is limited


@pytest.mark.parametrize(
    ("pattern", "train", "seconds"),
    [
        (".sync", {"TimeoutSeconds": 60}, (60, 90)),
        (".sync", {"TimeoutSecondsPath": "$.limit"}, (None, 90)),
        (".sync", {"TimeoutSeconds": "{% $limit %}"}, (UNKNOWN, 90)),
        (".waitForTaskToken", {"TimeoutSeconds": 60}, (None, None)),  # the task goes on
        ("", {"TimeoutSeconds": 60}, (None, None)),
    ],
)
def test_limits_that_end_what_runs_have_their_seconds(pattern: str, train: dict[str, Any], seconds: Any) -> None:
    found = step({"Resource": f"arn:aws:states:::ecs:runTask{pattern}", **train}, top={"TimeoutSeconds": 90})
    assert (found.limit_seconds, found.whole_seconds) == seconds


@pytest.mark.parametrize(
    ("retry", "attempts"),
    [
        ([], 1),
        ([{"ErrorEquals": ALL}], 4),
        ([{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 2}, {"ErrorEquals": ALL, "MaxAttempts": 5}], 8),
        ([{"ErrorEquals": ["ECS.AmazonECSException"], "MaxAttempts": 9}], 1),  # which RunTask says: nothing ran
        ([{"ErrorEquals": ALL, "MaxAttempts": "{% $n %}"}], UNKNOWN),
    ],
)
def test_each_entry_of_retry_counts_by_itself(retry: Any, attempts: Any) -> None:
    assert step({"Retry": retry}).attempts == attempts
    assert step({"Retry": retry, "Resource": "arn:aws:states:::ecs:runTask"}).attempts == 1


@pytest.mark.parametrize(
    ("train", "back"),
    [
        ({"End": True}, False),
        ({"Next": "Judge"}, True),
        ({"Catch": [{"ErrorEquals": ["Mine"], "Next": "Judge"}], "End": True}, True),
        ({"Next": "Done"}, False),
    ],
)
def test_a_way_back_may_be_a_choice(train: dict[str, Any], back: bool) -> None:
    judge = {"Type": "Choice", "Choices": [{"Next": "Done"}, {"Next": "Train"}], "Default": "Done"}
    assert step(train, others={"Judge": judge, "Done": {"Type": "Succeed"}}).may_come_back is back


@pytest.mark.parametrize(("states", "back"), [(50, False), (200, True)])
def test_a_long_way_may_lead_back(states: int, back: bool) -> None:
    others = {f"S{number}": {"Type": "Pass", "Next": f"S{number + 1}"} for number in range(states)}
    assert step({"Next": "S0"}, others=others).may_come_back is back


@pytest.mark.parametrize(
    ("train", "others", "way"),
    [
        ({"Catch": [{"ErrorEquals": ALL, "Next": "Train"}]}, {}, ()),
        ({"Catch": TO_PAUSE}, {"Pause": PAUSE | {"Next": "Pause"}}, None),
        ({"Catch": TO_PAUSE}, {}, None),
        ({"Catch": "odd"}, {}, None),
    ],
)
def test_a_way_back_decides_nothing(train: dict[str, Any], others: dict[str, Any], way: Any) -> None:
    assert step(train, others=others).way_back == way
    assert step(train, others=others, top={"TimeoutSeconds": 60}).way_back is None


def around(kind: str, **outer: Any) -> Step:
    """A state in a map or a parallel state, which has no handling of its own."""
    train = {"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask.sync", "Parameters": {"TaskDefinition": "train"}}
    inner = {"StartAt": "Train", "States": {"Train": train}}
    key, value = ("Branches", [inner]) if kind == "Parallel" else ("ItemProcessor", inner)
    states = {"All": {"Type": kind, key: value, **outer}, "Rest": {**PAUSE, "Next": "All"}}
    (found,) = fleet({"Task": TASK, "Machine": machine(json.dumps({"StartAt": "All", "States": states}))}).steps
    return found


@pytest.mark.parametrize("kind", ["Map", "Parallel"])
def test_a_failure_reaches_the_state_around(kind: str) -> None:
    assert around(kind, Catch=[{"ErrorEquals": ALL, "Next": "Rest"}]).way_back == ("Rest",)
    assert around(kind, Retry=[{"ErrorEquals": ALL, "MaxAttempts": 9999}]).attempts == 10_000
    assert (around(kind).way_back, around(kind).attempts) == (None, 1)
    assert around(kind, Catch=[{"ErrorEquals": ALL, "Next": "Rest"}]).may_come_back


@pytest.mark.parametrize(
    "definition", ['{"States": {"Train": ${odd} ecs:runTask }', '{"States": "batch:submitJob.sync', "ecs:runTask"]
)
def test_a_definition_that_cannot_be_read_is_said(definition: str) -> None:
    (remark,) = fleet({"Machine": machine(definition)}).remarks
    assert "DefinitionString: this is not JSON that can be read" in remark.text


@pytest.mark.parametrize("key", ["DefinitionS3Location", "DefinitionUri"])
def test_a_definition_that_is_in_no_file_is_said(key: str) -> None:
    elsewhere = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {key: {"Bucket": "b", "Key": "k"}}}
    (remark,) = fleet({"Machine": elsewhere, "Task": TASK}).remarks
    assert f"{key}: the definition is in no file" in remark.text
    assert fleet({"Machine": elsewhere}).remarks == ()  # there is no task that it might run


def test_arguments_that_are_an_expression_are_said() -> None:
    found = read({"Parameters": None, "Arguments": "{% $states.input %}"})
    assert found.steps == ()
    assert ["the input of Train says what it runs" in each.text for each in found.remarks] == [True]


def submission(**resources: Any) -> Submission:
    (found,) = fleet({"Job": JOB, "Queue": QUEUE, **resources}).submissions
    return found


def target(**given: Any) -> dict[str, Any]:
    return {"Type": "AWS::Events::Rule", "Properties": {"Targets": [{"Id": "a", "Arn": {"Ref": "Queue"}, **given}]}}


def schedule(arn: Any, request: Any) -> dict[str, Any]:
    properties = {"Target": {"Arn": arn, "Input": json.dumps(request)}}
    return {"Type": "AWS::Scheduler::Schedule", "Properties": properties}


def test_a_schedule_submits_what_its_request_says() -> None:
    request = {**SUBMIT, "ShareIdentifier": "a", "SchedulingPriorityOverride": 1}
    found = submission(Nightly=schedule("arn:aws:scheduler:::aws-sdk:batch:submitJob", request))
    assert (found.share, found.priority) == (True, True)


def test_a_submission_says_how_many_jobs_and_attempts() -> None:
    written = {"RetryStrategy": {"Attempts": 4}, "ArrayProperties": {"Size": 20}}
    request = {"JobDefinition": {"Ref": "Job"}, "JobName": "x", **written}
    found = submission(Uploaded=target(BatchParameters=request))
    assert (found.attempts, found.copies) == (4, 20)
    plain = submission(Uploaded=target(BatchParameters={"JobDefinition": {"Ref": "Job"}, "JobName": "x"}))
    assert (plain.attempts, plain.copies) == (None, None)
    retried = {**JOB, "Properties": {**JOB["Properties"], "RetryStrategy": {"Attempts": 3}}}
    assert [each.attempts for of in (JOB, retried) for each in fleet({"Job": of}).tasks] == [1, 3]


@pytest.mark.parametrize(("policy", "shares"), [(FAIR, True), (QUOTAS, UNKNOWN), (None, UNKNOWN)])
def test_a_policy_of_fair_shares_makes_shares(policy: Any, shares: Any) -> None:
    properties = {"SchedulingPolicyArn": {"Ref": "Policy"}}
    queue = {"Type": "AWS::Batch::JobQueue", "Properties": properties}
    resources = {"Queue": queue} if policy is None else {"Queue": queue, "Policy": policy}
    (found,) = fleet(resources).queues
    assert found.has_shares is shares
    (plain,) = fleet({"Queue": QUEUE}).queues
    assert plain.has_shares is False
