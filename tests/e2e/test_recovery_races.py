"""However the executions of several events interleave, each host counts once, and no more are replaced than may be."""

from __future__ import annotations

import itertools

import pytest
from ecs_emulator.state_language import StateError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .recovery_world import World

_tries = itertools.count()


@pytest.mark.usefixtures("table")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.integers(1, 3), min_size=2, max_size=5),
    most=st.integers(1, 3),
    order=st.lists(st.integers(0, 4), max_size=60),
)
def test_each_host_counts_once_and_no_more_are_replaced_than_may_be(
    numbers: list[int], most: int, order: list[int]
) -> None:
    world = World(most=most)
    # An instance lives once.
    attempt = next(_tries)
    hosts = [f"i-{attempt}-{each}" for each in numbers]
    executions = dict(enumerate(map(world.fault, hosts)))
    failed = set()
    for number in itertools.chain(order, itertools.cycle(range(len(hosts)))):
        if not executions:
            break
        if number in executions:
            try:
                next(executions[number])
            except StopIteration:
                del executions[number]
            except StateError as error:
                del executions[number]
                failed.add((hosts[number], error.error))
    replaced = min(len(set(hosts)), most)
    ended = [host for host, _ in world.ended]
    assert len(ended) == len(set(ended)) == len(world.told) == replaced
    assert world.draining == set(ended)
    assert failed == {(each, "BudgetUsed") for each in set(hosts) - set(ended)}
