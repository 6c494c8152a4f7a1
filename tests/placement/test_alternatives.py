"""The types on which a task would fit, for the fix of one that does not."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import Architecture
from gpu_constructs.fleet import UNKNOWN, PoolKind, Task
from gpu_constructs.placement import alternatives, demand_of, profile_of, runs_somewhere
from gpu_constructs.placement.one_host import on_host
from tests.placement.given import a_pool, a_task, member_of, neuron, shares


@pytest.mark.parametrize(
    ("task", "like", "first"),
    [
        (a_task("4"), "g5.xlarge", "g5.12xlarge"),
        (a_task("4"), "g6.xlarge", "g6.12xlarge"),
        (a_task("1", memory_mib=100_000), "g6e.xlarge", "g6e.4xlarge"),
        (a_task("1", cpu=8192), "g4dn.xlarge", "g4dn.2xlarge"),
        (a_task("2"), "g5g.xlarge", "g5g.16xlarge"),
        (a_task("0.25"), "g6f.large", "g6f.2xlarge"),
        (a_task("1"), "c7i.large", "g4dn.xlarge"),
        (shares(30_000), "g6.xlarge", "g6e.xlarge"),
        (a_task("1", architecture=Architecture.ARM64), "g6.xlarge", "g5g.xlarge"),
        (neuron("/dev/neuron5"), "inf2.xlarge", "inf2.24xlarge"),
        (a_task(cpu=8192), "c7i.xlarge", "c7i.2xlarge"),
    ],
)
def test_the_family_of_the_pool_comes_first_and_its_smallest_type(task: Task, like: str, first: str) -> None:
    types = alternatives(task, like=a_pool(like))
    assert types[0].name == first
    assert all(on_host(demand_of(task), each, profile_of(a_pool(like))).answer is True for each in types[:3])


def test_without_a_pool_the_smallest_host_of_all_comes_first() -> None:
    types = alternatives(a_task("8"))
    assert types[0].gpus == 8
    assert all(each.gpus >= 8 for each in types)


def test_nothing_is_named_that_no_region_offers() -> None:
    assert all(each.is_offered_anywhere for each in alternatives(a_task("1")))
    assert alternatives(a_task("16")) == ()  # p2.16xlarge


def test_the_region_of_the_pool_counts_where_it_is_recorded() -> None:
    everywhere = alternatives(a_task("8"), like=a_pool("g5.xlarge", region="nowhere-1"))
    here = alternatives(a_task("8"), like=a_pool("g5.xlarge", region="eu-west-3"))
    assert set(here) < set(everywhere)
    assert all("eu-west-3" in each.regions for each in here)


def test_constraints_and_values_of_the_deploy_do_not_count() -> None:
    task = a_task("4", cpu=UNKNOWN, constraints=(member_of("attribute:ecs.instance-type == g5.xlarge"),))
    assert alternatives(task, like=a_pool("g5.xlarge"))[0].name == "g5.12xlarge"


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (a_task("8"), True),
        (a_task("16"), True),  # p2.16xlarge, if an account still has it
        (a_task("17"), False),
        (a_task("8", memory_mib=5_000_000), False),
        (a_task("1", memory_mib=1_048_576), True),  # a type of eight GPUs
        (a_task("4", architecture=Architecture.ARM64), True),
        (a_task("5", architecture=Architecture.ARM64), False),
        (a_task("0.75"), False),
        (a_task("0.3"), True),  # a larger part may do
        (shares(300_000), True),  # nobody knows how much a GB200 has to share
        (neuron(resource=True), True),
    ],
)
def test_whether_any_type_can_run_it(task: Task, answer: bool) -> None:
    assert runs_somewhere(task) is answer


def test_the_kind_of_the_pool_counts() -> None:
    assert alternatives(neuron(resource=True), like=a_pool("inf2.xlarge")) == ()
    assert alternatives(neuron(resource=True), like=a_pool("inf2.xlarge", kind=PoolKind.MANAGED_INSTANCES))
