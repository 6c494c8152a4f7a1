"""What `add_recovery` defines: one machine, with no more permissions than it uses, in one line."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import aws_sns as sns

from gpu_constructs import InvalidValueError
from gpu_constructs.cluster.monitoring.recovery_states import RecoveryRun, recovery_definition
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


def test_its_role_allows_each_call_that_it_makes_and_no_other(site: Site) -> None:
    recovery = site.cluster.add_monitoring("Monitoring", notify=sns.Topic(site.stack, "Operators")).add_recovery()
    allowed: set[str] = set()
    for document in _documents(site, str(recovery.node.path)):
        for statement in document["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            allowed.update(actions)
            limited = statement["Resource"] != "*" or "Condition" in statement
            # These know no resources in IAM.
            assert limited or all(each.startswith("autoscaling:Describe") for each in actions)
    made = set()
    for machine in _machines(recovery_definition(RUN)):
        for state in machine["States"].values():
            if state["Type"] == "Task":
                service, action = state["Resource"].removeprefix("arn:aws:states:::").split(":")[-2:]
                made.add(f"{service}:{action[0].upper()}{action[1:]}")
    assert allowed == made | {"states:StartExecution"}


def _machines(definition: Any) -> list[Any]:
    maps = (each["ItemProcessor"] for each in definition["States"].values() if each["Type"] == "Map")
    return [definition, *(inner for each in maps for inner in _machines(each))]


def _documents(site: Site, path: str) -> list[Any]:
    prefix = path.removeprefix("Stack/").replace("/", "")
    return [
        document
        for name, each in site.template()["Resources"].items()
        if name.startswith(prefix) and each["Type"].startswith("AWS::IAM::")
        for document in (
            [each["Properties"]["PolicyDocument"]]
            if each["Type"] == "AWS::IAM::Policy"
            else [policy["PolicyDocument"] for policy in each["Properties"].get("Policies", ())]
        )
    ]


def test_it_knows_capacities_that_come_after_it(site: Site) -> None:
    site.capacity("g6.xlarge", name="Before")
    site.cluster.add_monitoring("Monitoring", notify=sns.Topic(site.stack, "Operators")).add_recovery()
    site.capacity("g5.xlarge", name="After")
    site.managed("Managed", instance_types=["g6.xlarge"])
    text = json.dumps(site.only("AWS::StepFunctions::StateMachine")["DefinitionString"])
    assert re.findall(r'"Ref": "Cluster(\w+?)Provider\w*"', text) == ["Before", "After"]
    (groups,) = [
        statement["Resource"]
        for document in _documents(site, "Stack/Cluster/Monitoring/Recovery")
        for statement in document["Statement"]
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
