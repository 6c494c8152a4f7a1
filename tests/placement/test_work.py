"""What is asked grows with what differs, and beyond the budget nothing is judged and the report says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts.budget import one_call
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool
from gpu_constructs.placement import packing, prover
from gpu_constructs.placement.destinations import assignments, routes_of, unassigned
from gpu_constructs.placement.packing import Load, Need, Packing, Room, pack
from gpu_constructs.placement.prover import prove
from gpu_constructs.placement.reach import STEPS_OF_PAIR, unjudged
from gpu_constructs.rules import check
from tests.rules.given import GPU_TASK, a_pool, fleet_of, on_launch_type, service


def _pools(number: int) -> tuple[Pool, ...]:
    types = a_pool().instance_types  # as the catalogue has them: the very same objects
    return tuple(a_pool(name=f"Pool{each}", cluster="gpu", instance_types=types) for each in range(number))


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many loads each packing had."""
    asked: list[int] = []

    def counted(loads: list[Load], room: Room, *, most_hosts: int | None = None) -> Packing:
        asked.append(len(loads))
        return pack(loads, room, most_hosts=most_hosts)

    monkeypatch.setattr(prover, "pack", counted)
    return asked


@pytest.mark.parametrize("pools", [2, 20])
def test_pools_that_are_alike_are_packed_once(pools: int, packed: list[int]) -> None:
    task = replace(GPU_TASK, name="one")
    fleet = on_launch_type(*_pools(pools), task=task)
    proof = prove(fleet)
    assert len(packed) <= 3  # as for one pool
    first, *others = proof.pools
    assert [each.pool.name for each in proof.pools] == [each.name for each in fleet.pools]
    assert all(replace(each, pool=first.pool) == first for each in others)


def _of_eight_pairs() -> Fleet:
    """Three services on the launch type, each with two pools, and a task that nothing runs."""
    pools, tasks = _pools(2), tuple(replace(GPU_TASK, name=f"task{each}") for each in range(3))
    workloads = tuple(
        service(each, name=f"{each.name}-service", strategy=(), cluster="gpu", launch_type="EC2") for each in tasks
    )
    by_hand = replace(GPU_TASK, name="by-hand")
    return replace(fleet_of(*tasks, by_hand, workloads=workloads, is_whole=True), pools=pools)


def test_within_the_budget_everything_is_judged() -> None:
    fleet = _of_eight_pairs()
    with one_call(8 * STEPS_OF_PAIR):
        assert not unjudged(fleet)
        assert not [each for each in check(fleet) if each.rule == "GPU116"]


def test_beyond_the_budget_nothing_is_judged_and_that_is_said() -> None:
    fleet = _of_eight_pairs()
    with one_call(5 * STEPS_OF_PAIR):
        assert [each.name for each in unjudged(fleet).values()] == ["task2-service", "by-hand"]
    assert [each.workload.name for each in assignments(fleet)] == ["task0-service", "task1-service"]
    assert not list(unassigned(fleet))
    assert routes_of(fleet, fleet.tasks[2])[0].answer is UNKNOWN
    proof = prove(fleet)
    assert [each.answer for each in proof.pools] == [UNKNOWN, UNKNOWN]
    assert proof.workloads[2].answer is UNKNOWN
    said = [each.message for each in check(fleet) if each.rule == "GPU116"]
    assert len(said) == 1
    assert said[0].startswith("whether task2-service and 1 more fit their hosts was not checked")


def _of_two_sizes(pool: Pool, **of_service: Any) -> Fleet:
    """Two services on one pool, whose tasks differ in memory."""
    tasks = GPU_TASK, replace(GPU_TASK, name="large", memory_limit_mib=9_000)
    workloads = tuple(service(each, pool, name=each.name, **of_service) for each in tasks)
    return replace(fleet_of(*tasks, workloads=workloads), pools=(pool,))


def test_tasks_that_are_too_many_and_too_different_are_not_packed_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, packed: list[int]
) -> None:
    monkeypatch.setattr(prover, "SQUARES_OF_STEP", 1)
    fleet = _of_two_sizes(*_pools(1))
    with one_call(2 * STEPS_OF_PAIR + 3):
        proof = prove(fleet)
        (said,) = [each.message for each in check(fleet) if each.rule == "GPU080"]
    assert not packed
    assert (proof.pools[0].answer, proof.pools[0].is_packed) == (UNKNOWN, False)
    assert [each.answer for each in proof.workloads] == [UNKNOWN, UNKNOWN]
    assert said.startswith("whether the workloads of Pool0 have room together was not worked out")


def test_that_they_have_no_room_is_said_though_they_are_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover, "SQUARES_OF_STEP", 1)
    fleet = _of_two_sizes(replace(_pools(1)[0], max_instances=2), desired_count=2)
    with one_call(2 * STEPS_OF_PAIR + 3):
        (said,) = [each.message for each in check(fleet) if each.rule == "GPU080"]
    assert "need 4 hosts for GPUs, and MaxSize is 2" in said


def test_hosts_that_have_too_little_of_anything_are_passed_over_together(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 2_000
    looked_at = 0
    most = packing._most

    def counted(*arguments: Any) -> int:
        nonlocal looked_at
        looked_at += 1
        return most(*arguments)

    monkeypatch.setattr(packing, "_most", counted)
    # Each host has CPU for all of them and memory for one.
    loads = [Load(need=Need(units=(0, 0, 1, 9_000 + each, 0)), copies=2) for each in range(number)]
    assert pack(loads, Room(units=(1, 0, 4_096, 15_000, 0))).hosts == 2 * number
    assert looked_at < 100 * number  # not the square, 2 million
