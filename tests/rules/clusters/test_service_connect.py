"""What ECS refuses of a service in Service Connect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.rules.clusters.service_connect import ports_are_named, room_for_the_proxy
from tests.rules.given import GPU_TASK, a_pool, only, running_on, said


@pytest.mark.parametrize(
    ("names", "on", "words"),
    [
        (("api",), True, "chat has api"),
        ((), True, "chat names none"),
        (("http", "api"), True, ""),
        (UNKNOWN, True, ""),
        (("api",), False, ""),
        (("api",), UNKNOWN, ""),
    ],
)
def test_service_connect_knows_ports_by_name(names: Any, on: Any, words: str) -> None:
    task = replace(GPU_TASK, containers=(replace(GPU_TASK.containers[0], port_names=names),))
    fleet = running_on(a_pool("g6.xlarge"), task=task, service_connect=on, connect_ports=("http",))
    assert [words in each.message for each in said(ports_are_named, fleet)] == [True] * bool(words)


def test_a_task_without_a_size_is_told_which_constructs_take_one() -> None:
    fix = only(room_for_the_proxy, running_on(a_pool("g6.xlarge"), service_connect=True)).fix
    assert fix.endswith("ecs.TaskDefinition(compatibility=ecs.Compatibility.EC2, cpu=…, memory_mib=…)")
