"""Ports of the host and of the container are the same where nothing translates them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.rules.tasks.ports import same_ports
from tests.rules.given import container, fleet_of, gpu, said, task_of


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
