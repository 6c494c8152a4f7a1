"""What `add_recovery` defines: one machine for all capacities; tests/policies holds what it may do."""

from __future__ import annotations

import json
import re

import pytest
from aws_cdk import aws_sns as sns

from gpu_constructs import InvalidValueError
from gpu_constructs.cluster.monitoring.recovery_states import RecoveryRun
from tests.synthesis import Site, unwritten

RUN = RecoveryRun(
    partition="aws",
    cluster_arn="arn:aws:ecs:us-east-1:1:cluster/c",
    providers=["l4"],
    daemon="daemon",
    table="table",
    topic="arn:aws:sns:us-east-1:1:t",
    replacements_per_day=3,
    drain_seconds=3600,
)


def test_it_knows_capacities_that_come_after_it(site: Site) -> None:
    site.capacity("g6.xlarge", name="Before")
    site.cluster.add_monitoring("Monitoring", notify=sns.Topic(site.stack, "Operators")).add_recovery()
    site.capacity("g5.xlarge", name="After")
    site.managed("Managed", instance_types=["g6.xlarge"])
    text = json.dumps(site.only("AWS::StepFunctions::StateMachine")["DefinitionString"])
    assert re.findall(r'"Ref": "Cluster(\w+?)Provider\w*"', text) == ["Before", "After"]
    (groups,) = [
        statement["Resource"]
        for each in site.properties("AWS::IAM::Role")
        for policy in each.get("Policies", ())
        for statement in policy["PolicyDocument"]["Statement"]
        if statement.get("Sid") == "ReplaceHosts"
    ]
    assert [each["Fn::Join"][1][-2:][0] for each in groups] == [":autoScalingGroup:*:autoScalingGroupName/"] * 2


def test_somebody_is_told_by_topic_and_alarm(site: Site) -> None:
    monitoring = site.cluster.add_monitoring("Monitoring")
    with unwritten(), pytest.raises(InvalidValueError, match="a recovery needs a topic for its messages") as refused:
        monitoring.add_recovery()
    assert refused.value.argument == "notify"
    own = sns.Topic(site.stack, "Own")
    recovery = monitoring.add_recovery(notify=own)
    assert monitoring.recovery is recovery
    name = site.stack.resolve(own.topic_arn)
    (alarm,) = [
        each for each in site.properties("AWS::CloudWatch::Alarm") if "not replaced" in each.get("AlarmDescription", "")
    ]
    assert alarm["AlarmActions"] == [name]
    with pytest.raises(InvalidValueError, match="has a recovery already"):
        monitoring.add_recovery(notify=own)
