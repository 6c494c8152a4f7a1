"""Processors, shared GPU memory and Neuron devices of hosts against what tasks are made for."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import Architecture
from gpu_constructs.fleet import NEURON_DEVICE, Container, Pool, PoolKind, ResourceRequirement, Task
from gpu_constructs.rules import Severity
from tests.rules.given import FIT_RULES, a_pool, a_task, found, only, running_on, unpriced


def given_devices(*paths: str) -> Task:
    return Task(name="train", containers=(Container(name="c", devices=paths),))


NEURON_RESOURCE = Task(
    name="train",
    containers=(Container(name="c", requirements=(ResourceRequirement(type=NEURON_DEVICE, value="ALL"),)),),
)


@pytest.mark.parametrize(
    ("task", "pool"),
    [
        (a_task("1", architecture=Architecture.X86_64), a_pool()),
        (a_task("1", architecture=Architecture.ARM64), a_pool(has_unknown_types=True)),
        (NEURON_RESOURCE, a_pool("inf2.xlarge")),  # found by GPU027
    ],
)
def test_hosts_that_are_what_a_task_is_made_for_have_no_finding(task: Task, pool: Pool) -> None:
    assert found(running_on(pool, task=task)) == []


@pytest.mark.parametrize(
    ("task", "pool", "rule", "message", "fix"),
    [
        (
            a_task("1", architecture=Architecture.ARM64),
            a_pool("g6.xlarge", "g6.2xlarge"),
            "GPU067",
            "train cannot run on Hosts: a host (g6.xlarge or g6.2xlarge) is x86_64, and the task is built for arm64",
            "arm64 hosts, such as g5g.xlarge",
        ),
        (
            given_devices("/dev/neuron0", "/dev/neuron1"),
            a_pool("inf2.xlarge"),
            "GPU060",
            "Neuron devices: 2 asked, inf2.xlarge has 1",
            "hosts with as many Neuron devices, such as inf2.24xlarge",
        ),
        (
            NEURON_RESOURCE,
            a_pool(kind=PoolKind.MANAGED_INSTANCES),
            "GPU060",
            "a host (g6.xlarge) has no Neuron device",
            "hosts with as many Neuron devices, such as inf",
        ),
    ],
)
def test_hosts_that_are_something_else_are_an_error(task: Task, pool: Pool, rule: str, message: str, fix: str) -> None:
    finding = only(FIT_RULES, running_on(pool, task=task))
    assert (finding.rule, finding.severity) == (rule, Severity.ERROR)
    assert message in finding.message
    assert fix in unpriced(finding.fix)
