"""What is said of small worlds at random against an exhaustive search written from the ECS documentation alone.

``python -m bench.oracle --examples 0 --worlds 20000`` tries more of them and counts what they are.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.properties.judged_worlds import checked, disagreements, is_not_worked_out, truth_of
from tests.properties.oracle import Job, Kind, Provider, World, always, ever, with_hosts
from tests.properties.small_worlds import small_world

WORLDS = 40  # `make fuzz` takes 10,000


def test_every_error_has_a_reason_and_whatever_finds_no_place_is_named() -> None:
    seen: Counter[str] = Counter()
    for seed in range(WORLDS):
        design = small_world(Random(seed))  # noqa: S311 - no secrets
        assert not list(disagreements(design, checked(design))), seed
        seen[truth_of(design)] += 1
    assert {"not known", "a task finds no place", "room for some", "room whatever comes"} <= seen.keys()


# What was judged wrong once: services of launch type EC2 that have no room together, on the only group and on the only
# one of two that they fit; copies that fit the larger type of a group, of which another service may start a host; and
# a service beside hosts that join a cluster of other files.
@pytest.mark.parametrize("seed", [1139, 52_056, 5266, 1185])
def test_worlds_that_were_judged_wrong(seed: int) -> None:
    design = small_world(Random(seed))  # noqa: S311 - no secrets
    report = checked(design)
    assert not list(disagreements(design, report))
    assert not is_not_worked_out(design, report)


ONE = Kind(gpus=1, gpu_memory=(9_000, 10_000), cpu=4_096, memory=(14_000, 16_000), interfaces=2)
NONE = Kind(gpus=0, gpu_memory=(0, 0), cpu=4_096, memory=(14_000, 16_000), interfaces=2)


def test_a_task_without_a_strategy_goes_to_any_host() -> None:
    by_hand = Job(copies=2, gpus=1)
    assert always(World((Provider((ONE,), 1), Provider((ONE,), 1)), (by_hand,)))
    assert not ever(World((Provider((ONE,), 1), Provider((NONE,), 3)), (by_hand,)))
    assert ever(World((Provider((NONE,), 3),), (by_hand,), is_open=True))


def test_only_a_strategy_starts_hosts() -> None:
    by_hand, sent = Job(copies=1), Job(copies=1, strategy=((1, 0, 1),))
    from_zero, running = Provider((ONE,), 1), Provider((ONE,), 1, least_hosts=1)
    assert with_hosts(World((from_zero, from_zero), (by_hand,)), 0) == frozenset()
    assert with_hosts(World((from_zero, running), (by_hand,)), 0) == {1}
    assert with_hosts(World((from_zero, from_zero), (by_hand, sent)), 0) == {1}
    assert with_hosts(World((Provider((ONE,), 1, is_scaled=False),), (by_hand,)), 0) == {0}
