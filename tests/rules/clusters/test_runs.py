"""Runs of tasks, other than services: how many at once, and the room that they wait for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_constructs.check import check_files
from gpu_constructs.fleet import Starter
from gpu_constructs.rules import RULES, Severity
from tests.cli.templates import template, written
from tests.rules.given import a_pool, running_on, said


def test_tasks_that_end_leave_room_for_those_that_wait() -> None:
    rooms = {"GPU009", "GPU010", "GPU012", "GPU080", "GPU083", "GPU084", "GPU203"}
    of_a_run, of_a_service = (
        {each.rule for each in said(RULES, running_on(a_pool(max_instances=2), starter=starter, desired_count=8))}
        for starter in (Starter.SCHEDULE, Starter.SERVICE)
    )
    assert not of_a_run & rooms
    assert of_a_service & rooms


@pytest.mark.parametrize("expression", [None, "attribute:ecs.instance-type == g6.xlarge"])
def test_a_run_without_a_strategy_is_told_of_the_provider_that_fits(expression: str | None, tmp_path: Path) -> None:
    resources = template()["Resources"]
    for name in ("LaunchTemplate", "Hosts", "Provider"):
        small = json.dumps(resources[name]).replace("g6.xlarge", "g6f.xlarge" if expression is None else "g6.2xlarge")
        for other in ("LaunchTemplate", "Hosts"):
            small = small.replace(f'"{other}"}}', f'"Small{other}"}}').replace(f'["{other}",', f'["Small{other}",')
        resources[f"Small{name}"] = json.loads(small)
    associated = resources["Association"]["Properties"]
    associated["CapacityProviders"].append({"Ref": "SmallProvider"})
    associated["DefaultCapacityProviderStrategy"] = [{"CapacityProvider": {"Ref": "SmallProvider"}, "Weight": 1}]
    if expression is not None:
        constraint = {"Type": "memberOf", "Expression": expression}
        resources["Chat"]["Properties"]["PlacementConstraints"] = [constraint]
    target = {
        "Id": "Chat",
        "Arn": {"Fn::GetAtt": ["Cluster", "Arn"]},
        "RoleArn": "arn:aws:iam::111122223333:role/ecsEventsRole",
        "EcsParameters": {"TaskDefinitionArn": {"Ref": "Chat"}},
    }
    resources["Service"] = {"Type": "AWS::Events::Rule", "Properties": {"Targets": [target]}}
    report = check_files([written({"Resources": resources}, tmp_path / "t.json")])
    (finding,) = [each for each in report.findings if each.severity is Severity.ERROR]
    assert (finding.rule, finding.property_name) == ("GPU060", "CapacityProviderStrategy")
    assert finding.fix == "a CapacityProviderStrategy with Provider"
    assert finding.origin is not None
    assert finding.origin.path[-3:] == ("Targets", 0, "EcsParameters")
