"""The types on which a task would fit, for the fix of one that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.facts import Architecture
from gpu_constructs.fleet import UNKNOWN, Container, ResourceRequirement, Task
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.fit import alternatives, runs_somewhere
from gpu_constructs.placement.one_host import on_host
from gpu_constructs.placement.pool_profile import profile_of
from tests.placement.given import a_pool, a_task, neuron, shares

ANY = ResourceRequirement(type=UNKNOWN, value=UNKNOWN)


@pytest.mark.parametrize(
    ("task", "like", "first"),
    [
        (a_task("4"), "g5.xlarge", "g5.12xlarge"),
        (a_task("1", architecture=Architecture.ARM64), "g6.xlarge", "g5g.xlarge"),
        (neuron("/dev/neuron5"), "inf2.xlarge", "inf2.24xlarge"),
        (a_task(cpu=8192), "c7i.xlarge", "c7i.2xlarge"),
    ],
)
def test_the_family_of_the_pool_comes_first_and_its_smallest_type(task: Task, like: str, first: str) -> None:
    types = alternatives(task, like=a_pool(like))
    assert types[0].name == first
    assert all(on_host(demand_of(task), each, profile_of(a_pool(like))).answer is True for each in types[:3])


def test_where_only_the_deploy_knows_of_gpus_types_have_some_as_those_of_the_pool() -> None:
    task = replace(a_task(cpu=8192), containers=(Container(name="c", requirements=(ANY,), cpu=8192),))
    assert alternatives(task, like=a_pool("g4dn.xlarge"))[0].name == "g4dn.2xlarge"
    assert not alternatives(task, like=a_pool("c7i.xlarge"))[0].accelerators


def test_nothing_is_named_that_no_region_offers() -> None:
    assert all(each.is_offered_anywhere for each in alternatives(a_task("1")))
    assert alternatives(a_task("16")) == ()  # p2.16xlarge


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (a_task("17"), False),
        (a_task("0.3"), True),  # a larger part may do
        (shares(300_000), True),  # nobody knows how much a GB200 has to share
        (neuron(resource=True), True),
    ],
)
def test_whether_any_type_can_run_it(task: Task, answer: bool) -> None:
    assert runs_somewhere(task) is answer
