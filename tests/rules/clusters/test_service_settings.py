"""Settings of a service that the API refuses beside each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, StrategyItem, Task
from gpu_constructs.rules import Severity
from gpu_constructs.rules.clusters.service_settings import (
    can_execute_commands,
    comes_after_providers,
    network_configured,
    one_destination,
    percentages_of_a_deployment,
)
from tests.rules.given import GPU_TASK, a_pool, a_task, managed_pool, on_launch_type, only, running_on, said

CPU_TASK = a_task(name="web")


def in_mode(mode: Any, **changes: Any) -> Task:
    return replace(GPU_TASK, network_mode=mode, **changes)


@pytest.mark.parametrize("launch_type", ["EC2", "FARGATE"])
def test_a_launch_type_beside_a_strategy_is_refused(launch_type: str) -> None:
    finding = only(one_destination, running_on(a_pool(), launch_type=launch_type))
    assert (finding.rule, finding.severity) == ("GPU120", Severity.ERROR)
    assert f"has the launch type {launch_type} and a capacity provider strategy (Hosts)" in finding.message
    assert finding.fix == "remove LaunchType"


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(a_pool()),
        running_on(a_pool(), launch_type=UNKNOWN),
        on_launch_type(a_pool(), task=GPU_TASK),
        on_launch_type(a_pool(), task=GPU_TASK, launch_type=None),
    ],
)
def test_one_of_both_and_what_nobody_knows_are_silent(fleet: Fleet) -> None:
    assert said(one_destination, fleet) == []


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(a_pool(), task=in_mode("awsvpc"), network_configuration=False),
        running_on(managed_pool("g6.xlarge"), task=in_mode("awsvpc"), network_configuration=False),
        running_on(a_pool(), task=replace(CPU_TASK, network_mode="awsvpc"), network_configuration=False),
        on_launch_type(task=in_mode("awsvpc"), network_configuration=False),
    ],
)
def test_awsvpc_without_a_network_configuration_is_refused(fleet: Fleet) -> None:
    finding = only(network_configured, fleet)
    assert (finding.rule, finding.severity) == ("GPU126", Severity.ERROR)
    assert "has no network configuration" in finding.message
    assert "has network mode awsvpc" in finding.message
    assert "AwsvpcConfiguration" in finding.fix


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
        running_on(a_pool(), task=in_mode(UNKNOWN), network_configuration=True),
        running_on(a_pool(), task=in_mode(UNKNOWN), network_configuration=False),
        running_on(a_pool(), task=in_mode("default"), network_configuration=True),
        running_on(managed_pool("g6.xlarge"), task=in_mode("bridge"), network_configuration=True),
        running_on(a_pool(), task=in_mode("bridge", compatibilities=("FARGATE",)), network_configuration=True),
        running_on(
            task=in_mode("bridge"), network_configuration=True, strategy=(StrategyItem(provider="elsewhere", weight=1),)
        ),
        on_launch_type(task=in_mode("bridge"), network_configuration=True, launch_type=None),
        running_on(a_pool("m6i.large"), task=replace(CPU_TASK, network_mode="awsvpc"), network_configuration=False),
    ],
)
def test_what_ecs_takes_or_may_take_is_silent(fleet: Fleet) -> None:
    assert said(network_configured, fleet) == []


@pytest.mark.parametrize(
    ("on", "role", "is_refused"), [(True, False, True), (True, True, False), (False, False, False)]
)
@pytest.mark.parametrize("unsure", [False, True])
def test_ecs_exec_needs_a_task_role(on: bool, role: bool, is_refused: bool, unsure: bool) -> None:
    task = replace(GPU_TASK, has_task_role=UNKNOWN if unsure else role)
    fleet = running_on(a_pool("g6.xlarge"), task=task, execute_command=on)
    assert bool(said(can_execute_commands, fleet)) is (is_refused and not unsure)


def test_a_service_that_may_come_before_its_providers_is_a_warning() -> None:
    early = running_on(a_pool("g6.xlarge"), task=GPU_TASK, may_precede_providers=True)
    finding = only(comes_after_providers, early)
    assert finding.severity is Severity.WARNING
    assert "ECS refuses it then" in finding.message
    by_default = replace(early.workloads[0], has_default_strategy=True)
    assert "gets launch type EC2 then" in only(comes_after_providers, replace(early, workloads=(by_default,))).message
    assert not said(comes_after_providers, running_on(a_pool("g6.xlarge"), task=GPU_TASK))


@pytest.mark.parametrize(
    ("changes", "said_of"),
    [
        ({"min_healthy_percent": 101}, "MinimumHealthyPercent 101"),
        ({"min_healthy_percent": 500, "max_healthy_percent": 600}, "MinimumHealthyPercent 500"),
        ({"max_healthy_percent": 99}, "MaximumPercent 99"),
        ({"min_healthy_percent": 100, "max_healthy_percent": 200}, ""),
        ({"min_healthy_percent": 50, "max_healthy_percent": 100}, ""),
        ({"min_healthy_percent": UNKNOWN, "max_healthy_percent": UNKNOWN}, ""),
        ({}, ""),
    ],
)
def test_percentages_are_those_that_ecs_takes(changes: dict[str, Any], said_of: str) -> None:
    found = said(percentages_of_a_deployment, running_on(a_pool(), **changes))
    assert [f"{each.property_name} {each.value}" for each in found] == ([said_of] if said_of else [])
