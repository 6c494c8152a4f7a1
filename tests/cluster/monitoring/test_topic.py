"""Alarms reach the topic that is to be told of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns

from gpu_constructs import GpuCluster, IncompatibleError
from tests.synthesis import Site, warned

ALARMS = {"Service": "cloudwatch.amazonaws.com"}


def _statements(site: Site) -> list[dict[str, Any]]:
    return [one for each in site.properties("AWS::SNS::TopicPolicy") for one in each["PolicyDocument"]["Statement"]]


@pytest.mark.parametrize("enforce_ssl", [False, True])
def test_alarms_may_publish_whatever_else_the_policy_of_the_topic_has(site: Site, enforce_ssl: bool) -> None:
    topic = sns.Topic(site.stack, "Told", enforce_ssl=enforce_ssl)
    monitoring = site.cluster.add_monitoring("Monitoring", notify=topic)
    monitoring.add_recovery()
    (allows,) = [each for each in _statements(site) if each["Principal"] == ALARMS]
    assert (allows["Effect"], allows["Action"]) == ("Allow", "sns:Publish")
    arn = str(allows["Condition"]["ArnLike"]["aws:SourceArn"])
    assert "cloudwatch" in arn
    assert "AWS::AccountId" in arn
    assert len(_statements(site)) == 1 + enforce_ssl
    assert not warned(monitoring)


def test_alarms_may_use_the_key_of_the_topic(site: Site) -> None:
    site.cluster.add_monitoring("Monitoring", notify=sns.Topic(site.stack, "Told", master_key=kms.Key(site.stack, "K")))
    (key,) = site.properties("AWS::KMS::Key")
    (allows,) = (each for each in key["KeyPolicy"]["Statement"] if each["Principal"] == ALARMS)
    assert allows["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]


def test_of_an_imported_topic_it_is_said_what_its_policy_must_allow(untouched: Site) -> None:
    site = untouched
    told = sns.Topic.from_topic_arn(site.stack, "Told", "arn:aws:sns:us-east-1:111122223333:told")
    (text,) = warned(site.cluster.add_monitoring("Monitoring", notify=told))
    assert "topic Told is not changed" in text
    assert "sns:Publish to cloudwatch.amazonaws.com" in text


@pytest.mark.parametrize("of_recovery", [False, True])
@pytest.mark.parametrize(
    ("arn", "message"),
    [
        ("arn:aws:sns:us-east-1:111122223333:told.fifo", "notify: a FIFO topic sends nothing to people"),
        ("arn:aws:sns:eu-west-1:111122223333:told", "notify: .*topic is in region eu-west-1.* in us-east-1"),
    ],
)
def test_a_topic_that_no_alarm_reaches_is_refused_and_leaves_nothing(
    site: Site, arn: str, message: str, of_recovery: bool
) -> None:
    stack = cdk.Stack(site.app, "Placed", env=cdk.Environment(region="us-east-1", account="111122223333"))
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-12345678", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-bbbbbbb1"]
    )
    cluster = GpuCluster(stack, "Cluster", vpc=vpc)
    told = sns.Topic.from_topic_arn(stack, "Told", arn)
    add = (
        cluster.add_monitoring("Monitoring").add_recovery
        if of_recovery
        else partial(cluster.add_monitoring, "Monitoring")
    )
    with pytest.raises(IncompatibleError, match=message):
        add(notify=told)
    gone = "Recovery" if of_recovery else "Monitoring"
    assert not any(each.endswith(gone) for each in (one.node.path for one in stack.node.find_all()))
