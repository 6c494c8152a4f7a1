"""What ECS refuses of a service in Service Connect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.rules.clusters.service_connect import (
    not_on_managed_instances,
    ports_are_named,
    ports_in_a_mode_with_a_proxy,
    room_for_the_proxy,
)
from tests.rules.given import GPU_TASK, a_pool, managed_pool, only, running_on, said


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


@pytest.mark.parametrize(
    ("mode", "ports", "on", "is_refused"),
    [
        ("host", ("http",), True, True),
        ("none", ("http",), True, True),
        ("host", (), True, False),
        ("host", ("http",), False, False),
        ("bridge", ("http",), True, False),
        ("awsvpc", ("http",), True, False),
        (UNKNOWN, ("http",), True, False),
    ],
)
def test_only_a_task_with_a_network_of_its_own_is_made_known(
    mode: Any, ports: tuple[str, ...], on: Any, is_refused: bool
) -> None:
    task = replace(GPU_TASK, network_mode=mode)
    fleet = running_on(a_pool("g6.xlarge"), task=task, service_connect=on, connect_ports=ports)
    assert bool(said(ports_in_a_mode_with_a_proxy, fleet)) is is_refused


@pytest.mark.parametrize("on", [True, False, UNKNOWN])
def test_managed_instances_have_no_service_connect(on: Any) -> None:
    assert bool(said(not_on_managed_instances, running_on(managed_pool("g6.xlarge"), service_connect=on))) is (
        on is True
    )
    assert said(not_on_managed_instances, running_on(a_pool("g6.xlarge"), service_connect=on)) == []
