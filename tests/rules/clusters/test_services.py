"""Services and other runs: settings that ECS refuses beside each other, Service Connect, room that runs wait for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check import check_files
from gpu_constructs.fleet import UNKNOWN, Fleet, Starter, StrategyItem, Task
from gpu_constructs.rules import Severity, all_rules
from gpu_constructs.rules.clusters.services import network_configured, room_for_the_proxy
from tests.cli.templates import template, written
from tests.cli.test_explain import with_other_hosts
from tests.reports import of_part
from tests.rules.changed import severities
from tests.rules.given import GPU_TASK, a_pool, managed_pool, on_launch_type, only, running_on, said


def in_mode(mode: Any, **changes: Any) -> Task:
    return replace(GPU_TASK, network_mode=mode, **changes)


@pytest.mark.parametrize(
    ("mode", "target", "expected"),
    [
        ("awsvpc", {"GatewayId": {"Ref": "Gateway"}}, ["warning"]),
        ("awsvpc", {"NatGatewayId": "nat-1"}, []),
        ("awsvpc", {"GatewayId": {"Ref": "Gateway"}, "RouteTableId": {"Ref": "Other"}}, []),
        ("bridge", {"GatewayId": {"Ref": "Gateway"}}, ["error"]),
    ],
)
def test_tasks_with_an_interface_of_their_own_get_no_public_address(
    mode: str, target: dict[str, Any], expected: list[str]
) -> None:
    route = {"RouteTableId": {"Ref": "Routes"}, "DestinationCidrBlock": "0.0.0.0/0", **target}
    configured = {"NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": [{"Ref": "Subnet"}]}}}
    others = {
        "Gateway": {"Type": "AWS::EC2::InternetGateway"},
        "Out": {"Type": "AWS::EC2::Route", "Properties": route},
        "Other": {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": {"Ref": "Vpc"}}},
    }
    properties = {"Task": {"NetworkMode": mode}, "Service": configured}
    assert severities("GPU126", properties, of="GPU228", **others) == expected


@pytest.mark.parametrize("mode", ["bridge", "host", "none"])
@pytest.mark.parametrize("launch_type", ["EC2", None])
def test_a_network_configuration_without_an_interface_is_refused(mode: str, launch_type: str | None) -> None:
    changes: dict[str, Any] = {"network_configuration": True, "launch_type": launch_type}
    for fleet in (
        on_launch_type(a_pool(), task=in_mode(mode, compatibilities=("EC2",)), **changes),
        running_on(a_pool(), task=in_mode(mode), network_configuration=True),
        *(
            []
            if mode == "bridge"
            else [running_on(managed_pool("g6.xlarge"), task=in_mode(mode), network_configuration=True)]
        ),
    ):
        finding = only(network_configured, fleet)
        assert f"has network mode {mode}, which ECS accepts only without" in finding.message


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(a_pool(), task=in_mode("awsvpc"), network_configuration=True),
        running_on(a_pool(), task=in_mode("awsvpc")),
        running_on(a_pool(), task=in_mode("bridge"), network_configuration=False),
        on_launch_type(task=in_mode("bridge"), network_configuration=True, launch_type=None),
    ],
)
def test_what_ecs_takes_or_may_take_is_silent(fleet: Fleet) -> None:
    assert said(network_configured, fleet) == []


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ("", "ECS refuses it then"),
        (", Properties: {CapacityProviderStrategy: null}", "gets launch type EC2 then"),
    ],
)
def test_a_service_that_may_come_before_its_providers_is_a_warning(properties: str, words: str) -> None:
    default = "{DefaultCapacityProviderStrategy: [{CapacityProvider: !Ref Provider, Weight: 1}]}"
    part = f"Resources:\n  Association: {{Properties: {default}}}\n  Service: {{DependsOn: []{properties}}}\n"
    (finding,) = of_part("GPU259", part)
    assert finding.severity is Severity.WARNING
    assert words in finding.message
    assert of_part("GPU259", part.replace("[]", "Association", 1)) == []


@pytest.mark.parametrize("on", [True, False, UNKNOWN])
def test_managed_instances_have_no_service_connect(on: Any) -> None:
    for pool, is_refused in ((managed_pool("g6.xlarge"), on is True), (a_pool("g6.xlarge"), False)):
        found = said(room_for_the_proxy, running_on(pool, service_connect=on))
        assert any("Managed Instances" in each.message for each in found) is is_refused


@pytest.mark.parametrize(
    ("fleet", "is_refused"),
    [
        (on_launch_type(a_pool(), task=in_mode("awsvpc")), True),
        (running_on(task=in_mode("awsvpc"), strategy=(StrategyItem(provider="FARGATE", weight=1),)), False),
        (running_on(a_pool(), task=in_mode("awsvpc", compatibilities=("EC2", "FARGATE"))), False),
    ],
)
def test_a_public_address_of_a_task_is_for_fargate(fleet: Fleet, is_refused: bool) -> None:
    (workload,) = fleet.workloads
    addressed = replace(workload, network_configuration=True, assigns_public_ip=True)
    found = said(network_configured, replace(fleet, workloads=(addressed,)))
    assert ["Fargate only" in each.message for each in found] == [True] * is_refused


def test_tasks_that_end_leave_room_for_those_that_wait() -> None:
    rooms = {"GPU009", "GPU010", "GPU012", "GPU080", "GPU083", "GPU084", "GPU203"}
    of_a_run, of_a_service = (
        {each.rule for each in said(all_rules(), running_on(a_pool(max_instances=2), starter=starter, desired_count=8))}
        for starter in (Starter.SCHEDULE, Starter.SERVICE)
    )
    assert not of_a_run & rooms
    assert of_a_service & rooms


@pytest.mark.parametrize("expression", [None, "attribute:ecs.instance-type == g6.xlarge"])
def test_a_run_without_a_strategy_is_told_of_the_provider_that_fits(expression: str | None, tmp_path: Path) -> None:
    smaller = "c7i.xlarge" if expression is None else "g6.2xlarge"
    resources = with_other_hosts(template(), smaller)["Resources"]
    associated = resources["Association"]["Properties"]
    associated["DefaultCapacityProviderStrategy"] = [{"CapacityProvider": {"Ref": "BigProvider"}, "Weight": 1}]
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
