"""Ports of the host and of the container are the same where nothing translates them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.rules.tasks.ports import same_ports
from tests.rules.given import a_pool, container, fleet_of, gpu, running_on, said, task_of


@pytest.mark.parametrize(
    ("mode", "mappings", "fixes"),
    [
        ("awsvpc", ((8000, 80),), ["HostPort 8000, or leave it out"]),
        ("host", ((8000, 80), (9000, 9000)), ["HostPort 8000, or leave it out"]),
        ("awsvpc", ((8000, 8000), (9000, 0)), []),
        ("bridge", ((8000, 80),), []),
        (UNKNOWN, ((8000, 80),), []),
        ("awsvpc", UNKNOWN, []),
    ],
)
def test_a_port_of_the_host_is_that_of_the_container(
    mode: str | Unknown, mappings: tuple[tuple[int, int], ...] | Unknown, fixes: list[str]
) -> None:
    task = replace(task_of(replace(container(gpu()), port_mappings=mappings)), network_mode=mode)
    assert [each.fix for each in said(same_ports, fleet_of(task))] == fixes


@pytest.mark.parametrize(("host", "count"), [("g6.xlarge", 1), ("m7i.large", 0)])
def test_a_task_without_gpus_is_asked_on_hosts_that_have_some(host: str, count: int) -> None:
    task = replace(task_of(replace(container(), port_mappings=((8000, 80),))), network_mode="awsvpc")
    assert len(said(same_ports, running_on(a_pool(host), task=task))) == count
