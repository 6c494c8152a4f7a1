"""The proof of small fleets at random against an exhaustive search written from the ECS documentation alone.

``python -m bench.oracle --examples 30000`` runs more of them and counts what the proof cannot say.
"""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_constructs.placement.proof import Counts
from gpu_constructs.placement.prover import prove
from tests.examples import times
from tests.properties import oracle
from tests.properties.oracle import Job, Kind, Provider, World, always, ever, runs_daemons
from tests.properties.small_fleets import small_fleet


@settings(max_examples=times(100))  # `make fuzz` also runs `bench.oracle`
@given(st.integers(min_value=0, max_value=2**40).map(Random))
def test_yes_has_a_placement_whatever_comes_and_no_has_none_whatever_comes(random: Random) -> None:
    fleet, world = small_fleet(random)
    answer = prove(fleet).answer
    if answer is True:
        assert always(world)
    if answer is False:
        assert not (ever(world) and runs_daemons(world))


@given(st.integers(min_value=0, max_value=2**40).map(Random))
def test_workloads_that_nothing_scales_are_proved_alike_at_their_maximum(random: Random) -> None:
    fleet, _ = small_fleet(random)
    assert prove(fleet, counts=Counts.MAXIMUM).answer is prove(fleet).answer


def test_the_search_shares_nothing_with_the_library() -> None:
    assert oracle.__file__ is not None
    tree = ast.parse(Path(oracle.__file__).read_text(encoding="utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name for name in names if name and name.startswith("gpu_constructs")}


FOUR = Kind(gpus=4, gpu_memory=(9_000, 10_000), cpu=4_096, memory=(14_000, 16_000), interfaces=2)
ONE = Kind(gpus=1, gpu_memory=(9_000, 10_000), cpu=4_096, memory=(14_000, 16_000), interfaces=2)


@pytest.mark.parametrize(
    ("hosts", "jobs", "found"),
    [
        pytest.param(1, [Job(copies=4, gpus=1)], True, id="as many as GPUs"),
        pytest.param(1, [Job(copies=5, gpus=1)], False, id="more than GPUs"),
        pytest.param(1, [Job(copies=1, all_gpus=True), Job(copies=1)], True, id="all GPUs beside none"),
        pytest.param(1, [Job(copies=1, all_gpus=True), Job(copies=1, gpus=1)], False, id="all GPUs beside one"),
        pytest.param(1, [Job(copies=1, gpus=3), Job(copies=2, shared=4_000)], True, id="shared beside whole GPUs"),
        pytest.param(1, [Job(copies=1, gpus=3), Job(copies=3, shared=4_000)], False, id="too many on a shared GPU"),
        pytest.param(2, [Job(copies=2, ports=frozenset({80}))], True, id="a port on each host"),
        pytest.param(1, [Job(copies=2, ports=frozenset({80}))], False, id="a port once on a host"),
        pytest.param(2, [Job(copies=3, distinct=True)], False, id="distinct hosts"),
        pytest.param(1, [Job(copies=3, interfaces=1)], False, id="network interfaces"),
        pytest.param(1, [Job(copies=2, cpu=2_049)], False, id="CPU"),
    ],
)
def test_the_search_knows_what_a_host_takes(hosts: int, jobs: list[Job], found: bool) -> None:
    sent = tuple(Job(**{**vars(job), "strategy": ((0, 0, 1),)}) for job in jobs)
    world = World((Provider((FOUR,), hosts),), sent)
    assert always(world) is found
    assert ever(world) is found


def test_the_search_looks_at_the_least_and_at_the_most_that_may_be() -> None:
    near = World((Provider((FOUR,), 1),), (Job(copies=1, memory=15_000, strategy=((0, 0, 1),)),))
    assert (always(near), ever(near)) == (False, True)
    mixed = World((Provider((FOUR, ONE), 1),), (Job(copies=2, gpus=1, strategy=((0, 0, 1),)),))
    assert (always(mixed), ever(mixed)) == (False, True)
    larger_than_the_smallest = World((Provider((FOUR, ONE), 1),), (Job(copies=1, gpus=2, strategy=((0, 0, 1),)),))
    assert ever(larger_than_the_smallest) is False


def test_the_search_splits_copies_as_a_strategy_does() -> None:
    one, three = Provider((ONE,), 1), Provider((ONE,), 3)
    assert ever(World((one, three), (Job(copies=4, gpus=1, strategy=((0, 0, 1), (1, 0, 1))),))) is False
    by_weight = Job(copies=4, gpus=1, strategy=((0, 0, 1), (1, 0, 3)))
    assert always(World((one, three), (by_weight,)))
    by_base = Job(copies=4, gpus=1, strategy=((1, 2, 1), (0, 0, 1)))
    assert always(World((one, three), (by_base,)))
