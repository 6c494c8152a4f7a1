"""A watched queue of AWS Batch on the emulator: who is told of what, and which looks fail, as its alarm counts them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sns as sns
from ecs_emulator.local import Local
from gpu_constructs import BatchRetries, CapacityChoice, GpuBatchQueue, HostNetwork, MultiNodeTraining

from tests.synthesis import Properties, synthesized

from .deployed_jobs import submitted, until
from .test_batch import STACK


def _define(stack: cdk.Stack, *, gang: bool) -> None:
    choice = CapacityChoice(
        "Hosts", instance_types=["g6.xlarge"], max_instances=2, network=HostNetwork(placement_group=True)
    )
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
    queue = GpuBatchQueue(stack, "Queue", vpc=vpc, environments=[choice], start_within=cdk.Duration.minutes(10))
    given: dict[str, Any] = {
        "image": ecs.ContainerImage.from_registry("example/train:1"),
        "command": ["train.py"],
        "retries": BatchRetries(attempts=2),
    }
    if gang:
        job: Any = MultiNodeTraining(stack, "Train", queue=queue, hosts=2, **given)
    else:
        job = queue.add_job("Train", **given)
    watch = queue.watch(notify=sns.Topic(stack, "Operators", enforce_ssl=True), stuck_after=cdk.Duration.minutes(5))
    cdk.CfnOutput(stack, "Submit", value=job.submit_command())
    cdk.CfnOutput(stack, "Machine", value=watch.state_machine.state_machine_arn)
    cdk.CfnOutput(stack, "Alarm", value=watch.alarm.alarm_name)


@cache
def _template(*, gang: bool = False) -> Properties:
    return synthesized(STACK, partial(_define, gang=gang))


def _told(cloud: Local) -> Callable[..., list[str]]:
    """What the topic has said since."""
    account = cloud.account
    (topic,) = account.client("sns").list_topics()["Topics"]
    sqs = account.client("sqs")
    url = sqs.create_queue(QueueName="operators")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    subscription = account.client("sns").subscribe(TopicArn=topic["TopicArn"], Protocol="sqs", Endpoint=arn)

    def messages(*, last: bool = False) -> list[str]:
        found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        for each in found:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
        if last:
            sqs.delete_queue(QueueUrl=url)
            account.client("sns").unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])
        return [json.loads(each["Body"])["Message"] for each in found]

    return messages


@pytest.mark.parametrize("gang", [False, True], ids=["a job", "a training"])
def test_of_a_job_that_failed_there_is_one_notice_with_its_reason(cloud: Local, *, gang: bool) -> None:
    stack = cloud.deploy(_template(gang=gang), STACK)
    told = _told(cloud)
    cloud.switch("jobs/Train", "lost,1")
    job = submitted(cloud.account, stack.outputs)
    assert until(cloud.account, job, 30)["status"] == "FAILED"

    looks = cloud.account.client("stepfunctions").list_executions(stateMachineArn=stack.outputs["Machine"])
    assert looks["executions"] == []  # a rule of a schedule hears of no event
    (words,) = told()
    assert f"GPU job Train ({job}) failed: Essential container in task exited. Exit code: 1." in words
    cloud.switch("jobs/Train", "0")
    assert until(cloud.account, submitted(cloud.account, stack.outputs), 30)["status"] == "SUCCEEDED"
    assert told(last=True) == []
    cloud.destroy(stack)


def test_of_a_queue_without_hosts_there_are_a_notice_an_alarm_and_a_cancelled_job(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    told = _told(cloud)
    cloud.switch("no-capacity", "g6.xlarge")
    job = submitted(cloud.account, stack.outputs)
    until(cloud.account, job, 2)
    (words,) = told()
    assert f"GPU job Train ({job}) does not start and blocks its queue: CAPACITY:INSUFFICIENT" in words

    assert _look(cloud, stack.outputs) == ("FAILED", "Stuck")
    assert until(cloud.account, job, 20)["status"] == "FAILED"
    (words,) = told(last=True)
    assert "failed: CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY" in words
    cloud.destroy(stack)


def test_the_alarm_is_about_jobs_without_a_host_and_invalid_environments_alone(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    assert _look(cloud, stack.outputs) == ("SUCCEEDED", None)

    cloud.switch("jobs/Train", "forever")
    for _ in range(4):  # two run, and two wait for their hosts
        last = submitted(cloud.account, stack.outputs)
    until(cloud.account, last, 10)
    assert _look(cloud, stack.outputs) == ("SUCCEEDED", None)

    cloud.switch("invalid", "Queue:CLIENT_ERROR - Access denied")
    assert _look(cloud, stack.outputs) == ("FAILED", "EnvironmentInvalid")
    (alarm,) = cloud.account.client("cloudwatch").describe_alarms(AlarmNames=[stack.outputs["Alarm"]])["MetricAlarms"]
    (topic,) = cloud.account.client("sns").list_topics()["Topics"]
    assert alarm["AlarmActions"] == [topic["TopicArn"]]
    cloud.destroy(stack)


def _look(cloud: Local, outputs: Any) -> tuple[str, str | None]:
    """How the next look ends, and its error, which the metric ExecutionsFailed counts."""
    (name,) = [each["Name"] for each in cloud.account.client("events").list_rules()["Rules"] if "Looks" in each["Name"]]
    cloud.switch("due", name)
    machines = cloud.account.client("stepfunctions")
    for _ in range(12):
        cloud.account.client("batch").describe_jobs(jobs=[])
        newest = machines.list_executions(stateMachineArn=outputs["Machine"])["executions"][:1]
        if (
            newest
            and newest[0]["status"] != "RUNNING"
            and cloud.account.client("ssm").get_parameters(Names=["/emulator/due"])["Parameters"] == []
        ):
            break
    described = machines.describe_execution(executionArn=newest[0]["executionArn"])
    return described["status"], described.get("error")
