"""What user data tells the ECS agent to keep from tasks: host ports and network interfaces."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Container, PoolKind, ResourceRequirement, Task, Unknown, UserData
from gpu_constructs.placement import prove
from gpu_constructs.rules import Severity, check, find_rule
from tests.rules.given import a_pool, running_on

RULES = [find_rule(each) for each in ("GPU009", "GPU060", "GPU084")]


def a_task(port: int = 0, protocol: str = "tcp", mode: str = "bridge") -> Task:
    ports = ((port, protocol),) if port else ()
    container = Container(
        name="vllm", requirements=(ResourceRequirement.gpus(1),), memory_limit_mib=1024, host_ports=ports
    )
    return Task(name="chat", containers=(container,), network_mode=mode)


@pytest.mark.parametrize(
    ("settings", "task", "found", "answer"),
    [
        ({"ECS_RESERVED_PORTS": "[22,80]"}, a_task(80), ("GPU084", Severity.ERROR), False),
        ({"ECS_RESERVED_PORTS": "[22,80]"}, a_task(8080), None, True),
        ({"ECS_RESERVED_PORTS": "[22,80]"}, a_task(2376), None, True),
        ({"ECS_RESERVED_PORTS": "[22,80]"}, a_task(80, mode="awsvpc"), None, True),
        ({"ECS_RESERVED_PORTS": "[22,80]"}, a_task(80, "udp"), None, True),
        ({"ECS_RESERVED_PORTS_UDP": "[53]"}, a_task(53, "udp"), ("GPU084", Severity.ERROR), False),
        ({"ECS_RESERVED_PORTS_UDP": "[53]"}, a_task(2376), ("GPU084", Severity.WARNING), UNKNOWN),
        ({"ECS_RESERVED_PORTS": "[]"}, a_task(2376), ("GPU084", Severity.WARNING), UNKNOWN),
        ({"ECS_RESERVED_PORTS": UNKNOWN}, a_task(80), None, UNKNOWN),
        ({"ECS_RESERVED_PORTS": "80"}, a_task(80), None, UNKNOWN),
        ({}, a_task(2376), ("GPU084", Severity.WARNING), UNKNOWN),
        ({"ECS_ENABLE_TASK_ENI": "false"}, a_task(mode="awsvpc"), ("GPU060", Severity.ERROR), False),
        ({"ECS_ENABLE_TASK_ENI": "true"}, a_task(mode="awsvpc"), None, True),
        ({"ECS_ENABLE_TASK_ENI": "false"}, a_task(), None, True),
    ],
)
def test_what_agents_keep_from_tasks_decides_where_these_run(
    settings: dict[str, str | Unknown], task: Task, found: tuple[str, Severity] | None, answer: bool | Unknown
) -> None:
    data = UserData(agent=tuple(sorted(settings.items())))
    fleet = running_on(a_pool("g6.xlarge", user_data=data), task=task, desired_count=1)
    assert [(each.rule, each.severity) for each in check(fleet, rules=RULES)] == ([found] if found else [])
    assert prove(fleet).workloads[0].answer is answer


def test_what_is_kept_from_a_task_is_said_with_the_setting() -> None:
    pool = a_pool("g6.xlarge", user_data=UserData(agent=(("ECS_ENABLE_TASK_ENI", "false"),)))
    (finding,) = check(running_on(pool, task=a_task(mode="awsvpc")), rules=RULES)
    assert "network interfaces for tasks: 1 asked, g6.xlarge has 0 (ECS_ENABLE_TASK_ENI is off)" in finding.message
    assert finding.fix == "ECS_ENABLE_TASK_ENI=true, or network mode bridge"


def test_managed_instances_have_no_agent_to_set_up() -> None:
    pool = a_pool("g6.xlarge", kind=PoolKind.MANAGED_INSTANCES)
    assert check(running_on(pool, task=a_task(mode="awsvpc"), desired_count=1), rules=RULES) == ()
