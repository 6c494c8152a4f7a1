"""Host ports within one task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import Container, Task
from gpu_constructs.rules import Severity
from gpu_constructs.rules.fit.copies_fit import ports_once
from tests.rules.given import container, fleet_of, only, task_of

HTTP = (8080, "tcp")


def taking(*ports: tuple[int, str], name: str = "main") -> Container:
    return replace(container(name=name), host_ports=ports)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (task_of(taking(HTTP, HTTP)), "main of train takes host port 8080/tcp more than once"),
        (task_of(taking(HTTP), taking(HTTP, name="b")), "main and b of train take host port 8080/tcp more than once"),
        (
            replace(task_of(taking(HTTP), taking(HTTP, name="b")), network_mode="host"),
            "main and b of train take host port 8080/tcp more than once",
        ),
    ],
)
def test_a_port_that_is_taken_twice_is_an_error(task: Task, words: str) -> None:
    finding = only(ports_once, fleet_of(task))
    assert (finding.rule, finding.severity) == ("GPU084", Severity.ERROR)
    assert words in finding.message
