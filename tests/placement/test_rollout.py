"""A rolling deployment that can always take its next step."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts.values import Identical
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.placement.assumptions import Assumption
from gpu_constructs.placement.packing import Load, Need, Packing, Room, copies_per_host, more_copies
from gpu_constructs.placement.rollout import PoolNeed, _slots_per_copy, rollout, rollout_percentages, task_slots
from tests.placement.given import a_pool, a_task


def deploys(desired: int, slots: int, min_percent: int, max_percent: int) -> bool:
    """Whether a rolling deployment ends, played step by step by the rules of the ECS documentation.

    Not fewer than minimumHealthyPercent of the desired count, rounded up, keep running, and not more than
    maximumPercent, rounded down, run at once.
    """
    lowest, highest = -(-desired * min_percent // 100), desired * max_percent // 100
    old, new = desired, 0
    for _ in range(4 * desired + 4):
        if new == desired and old == 0:
            return True
        if new < desired and old + new < min(highest, slots):
            new += 1
        elif old and old + new - 1 >= lowest:
            old -= 1
        else:
            return False
    return False


@given(st.integers(min_value=1, max_value=200), st.integers(min_value=0, max_value=300))
def test_a_deployment_ends_on_any_fleet_that_holds_the_service(desired: int, spare: int) -> None:
    slots = desired + spare
    percent = rollout(desired, slots)
    assert deploys(desired, slots, percent.min_healthy_percent, percent.max_healthy_percent)


@given(st.integers(min_value=1, max_value=99), st.integers(min_value=1, max_value=300))
def test_no_task_is_lost_while_there_is_a_free_slot(desired: int, spare: int) -> None:
    percent = rollout(desired, desired + spare)
    assert percent.min_healthy_percent == 100
    assert desired * percent.max_healthy_percent // 100 > desired


@given(st.integers(min_value=1, max_value=200), st.integers(min_value=0, max_value=300))
def test_ecs_takes_the_percentages(desired: int, slots: int) -> None:
    percent = rollout(desired, slots)
    assert 0 <= percent.min_healthy_percent < percent.max_healthy_percent <= 200


def test_on_an_unknown_fleet_a_task_may_stop_first() -> None:
    assert rollout(4, UNKNOWN).min_healthy_percent == 75
    assert rollout(UNKNOWN, UNKNOWN).min_healthy_percent == 50
    assert rollout(UNKNOWN, 1).min_healthy_percent == 0
    assert rollout(0, 5).max_healthy_percent == 200


@given(
    st.integers(min_value=1, max_value=50),
    st.integers(min_value=0, max_value=100),
    st.none() | st.integers(min_value=0, max_value=100),
    st.none() | st.integers(min_value=100, max_value=400),
)
def test_what_is_given_stays_and_the_other_goes_with_it(
    desired: int, spare: int, low: int | None, high: int | None
) -> None:
    least, most = rollout_percentages(desired, desired + spare, low, high)
    assert low is None or least == low
    assert high is None or most == high
    assert least < most or (low is not None and high is not None)
    if low is None:
        assert deploys(desired, desired + spare, least, most) or desired * most // 100 < desired


@pytest.mark.parametrize(
    ("desired", "high", "percentages"),
    [(10, 100, (90, 100)), (1, 150, (0, 150)), (4, 110, (75, 110))],
)
def test_a_maximum_without_room_for_a_whole_task_lets_one_stop_first(
    desired: int, high: int, percentages: tuple[int, int]
) -> None:
    assert rollout_percentages(desired, 20, None, high) == percentages


@pytest.mark.parametrize(
    ("gpus", "memory_mib", "assumption", "slots"),
    [
        ("1", 1024, Assumption.WORST, 8),
        ("1", 48_000, Assumption.BEST, 8),
        pytest.param(UNKNOWN, 1024, Assumption.WORST, UNKNOWN, id="a number of the deploy"),
    ],
)
def test_slots_of_a_pool_at_its_maximum(
    gpus: str | Unknown, memory_mib: int, assumption: Assumption, slots: int | Unknown
) -> None:
    hosts = a_pool("g6.12xlarge", max_instances=2)
    assert task_slots(a_task(gpus, memory_mib=memory_mib), hosts, assumption=assumption) == slots


def test_what_a_copy_displaces_is_what_every_number_of_copies_says() -> None:
    chance = Random(7)  # noqa: S311 - for a test
    for _ in range(300):
        gpus, memory, gpu_memory = chance.randint(0, 4), chance.randint(1, 40), chance.randint(1, 12)
        room = Room(units=(gpus, 0, chance.randint(1, 30), memory, 4), gpu_memory_mib=gpu_memory)
        one, two = (
            Need(
                units=(0 if shared else chance.randint(0, 2), 0, chance.randint(0, 5), chance.randint(1, 6), 0),
                shared_mib=shared,
            )
            for shared in (chance.choice((0, chance.randint(1, 6))) for _ in range(2))
        )
        alone, most = copies_per_host(one, room), copies_per_host(two, room)
        expected = Fraction(0)
        for copies in range(1, most + 1):
            host = Packing(room=room, most_hosts=1)
            host.place(Load(need=two, copies=copies))
            expected = max(expected, Fraction(alone - more_copies(one, host, 1), copies))
        mine, theirs = (PoolNeed(load=Load(need=each, copies=1), room=room, slots=1) for each in (one, two))
        assert _slots_per_copy(Identical(mine, theirs)) == expected, (one, two, room)
