"""Runs of tasks, other than services: how many at once, and the room that they wait for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_constructs.checking import check_files
from gpu_constructs.fleet import UNKNOWN, Starter, Unknown
from gpu_constructs.rules import RULES, Severity
from gpu_constructs.rules.clusters.runs import few_at_once, may_run
from tests.cli.templates import template, written
from tests.rules.given import GPU_TASK, a_pool, fleet_of, only, running_on, said, service


@pytest.mark.parametrize(("starter", "name"), [(Starter.SCHEDULE, "TaskCount"), (Starter.STATE_MACHINE, "Count")])
def test_more_tasks_than_one_call_starts_are_refused(starter: Starter, name: str) -> None:
    finding = only(few_at_once, running_on(a_pool(), starter=starter, desired_count=11))
    assert (finding.rule, finding.severity, finding.property_name) == ("GPU219", Severity.ERROR, name)
    assert finding.message == "chat-service starts 11 tasks at once, and RunTask takes 10"


@pytest.mark.parametrize(
    ("starter", "count"),
    [
        (Starter.SCHEDULE, 10),
        (Starter.SCHEDULE, UNKNOWN),
        (Starter.RULE, 11),
        (Starter.PIPE, 11),
        (Starter.SERVICE, 11),
    ],
)
def test_what_has_no_such_limit_may_start_more(starter: Starter, count: int | Unknown) -> None:
    assert said(few_at_once, running_on(a_pool(), starter=starter, desired_count=count)) == []


def test_tasks_that_end_leave_room_for_those_that_wait() -> None:
    rooms = {"GPU009", "GPU010", "GPU012", "GPU080", "GPU083", "GPU084", "GPU203"}
    of_a_run, of_a_service = (
        {each.rule for each in said(RULES, running_on(a_pool(max_instances=2), starter=starter, desired_count=8))}
        for starter in (Starter.SCHEDULE, Starter.SERVICE)
    )
    assert not of_a_run & rooms
    assert of_a_service & rooms


def test_a_run_without_a_role_is_an_error() -> None:
    run = service(GPU_TASK, a_pool(), starter=Starter.RULE, lacks_role=True)
    fleet = replace(fleet_of(GPU_TASK), workloads=(run,))
    assert "without a role" in only(may_run, fleet).message
    assert said(may_run, replace(fleet, workloads=(replace(run, lacks_role=False),))) == []


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
