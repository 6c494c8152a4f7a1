"""What user data tells the ECS agent to keep from tasks: host ports, network interfaces, and what it can do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    HostImage,
    Relations,
    ResourceRequirement,
    Subnet,
    Task,
    Unknown,
    UserData,
)
from gpu_constructs.placement.prover import prove
from gpu_constructs.rules import Severity, check, find_rule
from tests.rules.given import a_pool, of_image, running_on

RULES = [find_rule(each) for each in ("GPU009", "GPU060", "GPU084")]


def a_task(port: int = 0, protocol: str = "tcp", mode: str = "bridge") -> Task:
    ports = ((port, protocol),) if port else ()
    container = Container(
        name="vllm", requirements=(ResourceRequirement.gpus(1),), memory_limit_mib=1024, host_ports=ports
    )
    return Task(name="chat", containers=(container,), network_mode=mode)


def that_logs(driver: str | None, *, privileged: bool | Unknown = False) -> Task:
    task = a_task()
    (container,) = task.containers
    changed = replace(container, relations=Relations(log_driver=driver), privileged=privileged)
    return replace(task, containers=(changed,))


DOES_NOT_FIT = ("GPU060", Severity.ERROR)


@pytest.mark.parametrize(
    ("settings", "task", "found", "answer"),
    [
        ({"ECS_RESERVED_PORTS": "[22,80]"}, a_task(80), ("GPU084", Severity.ERROR), False),
        ({}, a_task(22), ("GPU084", Severity.ERROR), False),
        ({}, a_task(51680), ("GPU084", Severity.WARNING), UNKNOWN),
        ({}, a_task(80), None, True),
        ({"ECS_RESERVED_PORTS": "[]"}, a_task(2376), ("GPU084", Severity.WARNING), UNKNOWN),
        ({"ECS_RESERVED_PORTS": UNKNOWN}, a_task(80), None, UNKNOWN),
        ({"ECS_ENABLE_TASK_ENI": "false"}, a_task(mode="awsvpc"), ("GPU060", Severity.ERROR), False),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": '["awslogs"]'}, that_logs("splunk"), DOES_NOT_FIT, False),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": '["awslogs"]'}, that_logs("awslogs"), None, True),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": '["awslogs"] # all'}, that_logs("awslogs"), None, True),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": "[]"}, that_logs("awslogs"), DOES_NOT_FIT, False),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": "[json-file,awslogs]"}, that_logs("awslogs"), DOES_NOT_FIT, False),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": "[json-file,awslogs]"}, that_logs("json-file"), None, True),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": UNKNOWN}, that_logs("splunk"), None, UNKNOWN),
        ({"ECS_AVAILABLE_LOGGING_DRIVERS": UNKNOWN}, that_logs("awslogs"), None, True),
        ({}, that_logs("splunk"), DOES_NOT_FIT, False),
        ({}, that_logs("fluentd"), None, True),
        ({}, that_logs("awsfirelens"), None, True),
        ({"ECS_DISABLE_PRIVILEGED": "true"}, that_logs(None, privileged=True), DOES_NOT_FIT, False),
    ],
)
def test_what_agents_keep_from_tasks_decides_where_these_run(
    settings: dict[str, str | Unknown], task: Task, found: tuple[str, Severity] | None, answer: bool | Unknown
) -> None:
    data = UserData(agent=tuple(sorted(settings.items())))
    fleet = running_on(a_pool("g6.xlarge", user_data=data), task=task, desired_count=1)
    assert [(each.rule, each.severity) for each in check(fleet, rules=RULES)] == ([found] if found else [])
    assert prove(fleet).workloads[0].answer is answer


@pytest.mark.parametrize(
    "changes",
    [
        {"user_data": UserData(complete=False)},
        {"image": HostImage.own(of_image().image)},
        {"image": of_image("bottlerocket-ecs-2-nvidia-x86_64")},
    ],
)
def test_log_drivers_that_something_else_may_list_are_not_checked(changes: dict[str, Any]) -> None:
    fleet = running_on(a_pool("g6.xlarge", **changes), task=that_logs("splunk"), desired_count=1)
    (found,) = check(fleet, rules=[*RULES, find_rule("GPU229")])
    assert (found.rule, "do not define the log drivers of" in found.message) == ("GPU229", True)


A, B, C = Subnet(zone="us-east-1a"), Subnet(zone="us-east-1b"), Subnet(zone="us-east-1c")


@pytest.mark.parametrize(
    ("hosts", "tasks", "mode", "fits"),
    [
        ((A, B), (C,), "awsvpc", False),
        ((A,), (C,), "bridge", True),
        ((Subnet(zone_index=0),), (Subnet(zone_index=1),), "awsvpc", False),
    ],
)
def test_network_interfaces_of_tasks_are_in_the_zones_of_their_hosts(
    hosts: tuple[Subnet, ...], tasks: tuple[Subnet, ...], mode: str, fits: bool
) -> None:
    fleet = running_on(
        replace(a_pool("g6.xlarge"), subnets=hosts), task=a_task(mode=mode), desired_count=1, subnets=tasks
    )
    assert [each.rule for each in check(fleet, rules=RULES)] == ([] if fits else ["GPU060"])
    assert (prove(fleet).workloads[0].answer is False) is not fits


@pytest.mark.parametrize("scaled", [False, True])
def test_a_group_may_launch_the_type_on_which_memory_is_short(scaled: bool) -> None:
    (container,) = a_task().containers
    task = Task(name="comfy", containers=(replace(container, memory_limit_mib=15900),))
    pool = a_pool("g6.2xlarge", "g6.xlarge", min_instances=1, max_instances=1, managed_scaling=scaled)
    fleet = running_on(pool, task=task, desired_count=1)
    assert [each.rule for each in check(fleet, rules=[find_rule("GPU006")])] == ["GPU006"]
