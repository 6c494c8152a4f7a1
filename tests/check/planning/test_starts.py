"""What one start of a job takes and costs: sums by hand with the prices of us-east-1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.in_words import rows_of_starts
from gpu_constructs.check.planning.plan_difference import difference
from gpu_constructs.check.planning.starts import JobStart
from gpu_constructs.facts.prices import on_demand_price
from gpu_constructs.fleet import (
    UNKNOWN,
    Fleet,
    Origin,
    PoolKind,
    PurchaseOption,
    Scheduler,
    Starter,
    Step,
    StrategyItem,
    Submission,
)
from tests.check.planning.given import fleet, job, pool, service, usd

P5, L4, L4_LARGER, L4X4 = 55.04, 0.8048, 0.9776, 4.6016  # p5.48xlarge, g6.xlarge, g6.2xlarge and g6.12xlarge
HOUR = 3600
H100 = pool("p5.48xlarge", name="H100")


def test_the_prices_of_this_file_are_those_of_the_list() -> None:
    names = ("p5.48xlarge", "g6.xlarge", "g6.2xlarge", "g6.12xlarge")
    assert [each.usd_per_hour for each in map(on_demand_price, names) if each] == [P5, L4, L4_LARGER, L4X4]


def run(step: dict[str, Any] | None = None, **changes: Any) -> JobStart:
    """A state of a state machine on hosts with 8 GPUs."""
    steps = (Step(name="tune", task=None, **(step or {})),)
    (found,) = plan(replace(fleet(job(H100, **{"gpus": 8, **changes})), steps=steps)).starts
    return found


def costs(start: JobStart) -> tuple[int | None, float | None, float | None]:
    """Hosts, and dollars of one attempt and of all."""
    one = usd(start.usd_until_limit)
    return start.hosts, None if one is None else one[1], start.usd_at_most


@pytest.mark.parametrize(
    ("step", "changes", "expected"),
    [
        ({"limit_seconds": 12 * HOUR}, {"copies": 4}, (4, 2641.92, 2641.92)),  # 4 x 55.04 x 12
        ({"limit_seconds": 12 * HOUR}, {"copies": 4, "gpus": 2}, (1, 660.48, 660.48)),  # 4 copies on 8 GPUs
        ({"limit_seconds": HOUR, "attempts": 3}, {}, (1, 55.04, 165.12)),
        ({"limit_seconds": HOUR, "attempts": 3, "whole_seconds": 2 * HOUR}, {}, (1, 55.04, 110.08)),
        ({"whole_seconds": 2 * HOUR, "attempts": 3}, {}, (1, 110.08, 110.08)),
        ({"limit_seconds": HOUR, "may_come_back": True}, {}, (1, 55.04, None)),
        ({"limit_seconds": HOUR, "may_come_back": True, "whole_seconds": 9 * HOUR}, {}, (1, 55.04, 495.36)),
        ({"limit_seconds": HOUR, "attempts": UNKNOWN}, {}, (1, 55.04, None)),
        ({"limit_seconds": UNKNOWN}, {}, (1, None, None)),
        ({}, {}, (1, None, None)),
        ({"limit_seconds": HOUR}, {"copies": UNKNOWN}, (None, None, None)),
    ],
)
def test_a_state_costs_until_its_limits(step: dict[str, Any], changes: dict[str, Any], expected: Any) -> None:
    assert costs(run(step, **changes)) == pytest.approx(expected)


def test_a_start_is_told_in_one_row() -> None:
    (row,) = rows_of_starts(plan(replace(fleet(job(H100, gpus=8)), steps=()))).values()
    assert row == "1 host of H100, $55.04 an hour; no time limit is known, so neither is the cost"
    steps = (Step(name="tune", task=None, limit_seconds=90 * 60, attempts=2),)
    assert rows_of_starts(plan(replace(fleet(job(H100, gpus=8, copies=2)), steps=steps))) == {
        "tune": "2 hosts of H100, $110.08 an hour; $165.12 until its time limit of 1.5 hours, at most $330.24 with all "
        "retries"
    }


@pytest.mark.parametrize(("copies", "hosts"), [(1, 1), (2, None)])
def test_one_copy_of_a_task_of_other_files_takes_one_host(copies: int, hosts: int | None) -> None:
    untold = replace(job(H100, copies=copies), task=None)
    assert [each.hosts for each in plan(fleet(untold, service(H100))).starts] == [hosts]


def test_a_service_and_what_is_turned_off_start_nothing() -> None:
    assert plan(fleet(service(H100), job(H100, copies=0))).starts == ()


@pytest.mark.parametrize(
    ("on", "price"),
    [
        (pool("g6.xlarge", "g6.2xlarge"), (L4, L4_LARGER)),
        (pool("g6.xlarge", purchase=PurchaseOption.SPOT), (None, L4)),
        (pool("p5.48xlarge", purchase=PurchaseOption.CAPACITY_BLOCK), None),
        (pool("g6.xlarge", kind=PoolKind.MANAGED_INSTANCES), None),
    ],
)
def test_a_host_costs_what_it_costs_in_its_pool(on: Any, price: Any) -> None:
    (start,) = plan(fleet(job(on, starter=Starter.SCHEDULE))).starts
    assert (start.hosts, usd(start.usd_per_hour)) == (1, price)


def test_a_copy_goes_to_one_of_several_pools() -> None:
    both = pool("g6.xlarge", name="Small"), pool(name="Large")
    strategy = tuple(StrategyItem(provider=each.name, pool=each, weight=1) for each in both)
    (start,) = plan(fleet(job(both[0], strategy=strategy))).starts
    assert (start.pools, start.hosts, usd(start.usd_per_hour)) == (("Small", "Large"), 1, (L4, L4X4))
    (start,) = plan(fleet(job(both[0], strategy=strategy, copies=2))).starts
    assert start.hosts is None


def batch(*submissions: Submission, task: dict[str, Any] | None = None) -> tuple[JobStart, ...]:
    """Starts of a job with one GPU, on an environment with one L4 in each host."""
    made = service(H100).task
    assert made is not None
    values = {"scheduler": Scheduler.BATCH, "attempt_seconds": HOUR, "attempts": 2, "network_mode": "host"}
    of = replace(made, **{**values, **(task or {})})
    on = pool("g6.xlarge", name="Queue", kind=PoolKind.BATCH, max_vcpus=64)
    return plan(
        Fleet(pools=(on,), tasks=(of,), submissions=tuple(replace(each, task=of) for each in submissions))
    ).starts


def submitted(name: str, **changes: Any) -> Submission:
    return Submission(name=name, starter=Starter.SCHEDULE, queue=None, **changes)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({}, (1, 0.8048, 1.6096)),
        ({"attempt_seconds": None}, (1, None, None)),
        ({"nodes": 4, "network_mode": "awsvpc"}, (4, 3.2192, 6.4384)),
        ({"nodes": UNKNOWN, "network_mode": "awsvpc"}, (None, None, None)),
    ],
)
def test_a_job_of_batch_costs_all_its_attempts(task: dict[str, Any], expected: Any) -> None:
    (start,) = batch(task=task)
    assert costs(start) == pytest.approx(expected)


def test_each_submission_of_a_job_is_a_start_with_its_own_ends() -> None:
    found = batch(
        submitted("Nightly"),
        submitted("Weekly", attempt_seconds=5 * HOUR, attempts=1),
        submitted("Sweep", copies=20),
    )
    assert [each.job for each in found] == ["Nightly", "Weekly", "Sweep"]
    assert [each.hosts for each in found] == [1, 1, 20]
    assert [each.usd_at_most for each in found] == pytest.approx([1.6096, 4.024, 32.192])


def test_jobs_on_fargate_have_no_hosts() -> None:
    assert batch(task={"compatibilities": ("FARGATE",)}) == ()


def test_ranges_of_nodes_are_one_job_in_the_queues_of_their_stage() -> None:
    made = service(H100).task
    assert made is not None
    ranges = [
        replace(made, name=f"Gang[{each}]", scheduler=Scheduler.BATCH, nodes=3, node_types=types)
        for each, types in (("0:0", ()), ("1:", ("g6.2xlarge",)))
    ]
    on = pool("g6.xlarge", "g6.2xlarge", name="Queue", kind=PoolKind.BATCH)
    other = replace(on, name="Other", origin=Origin(file="assembly-prod/prod.template.json", resource="Queue"))
    (start,) = plan(Fleet(pools=(other, on), tasks=tuple(ranges))).starts
    assert (start.job, start.hosts, start.pools) == ("Gang", 3, ("Queue",))
    assert usd(start.usd_per_hour) == (2.9328, 2.9328)  # 3 x 0.9776


def test_a_difference_has_the_starts_that_changed() -> None:
    old, new = (plan(fleet(job(H100, gpus=8, copies=each))) for each in (1, 2))
    found = difference(old, new)
    assert [(each.what, each.old[:6], each.new[:7]) for each in found.starts] == [("tune", "1 host", "2 hosts")]
    assert not found.is_empty
    assert difference(old, old).starts == ()
    assert [each.new for each in difference(old, plan(fleet())).starts] == ["-"]


def test_another_stack_renames_no_start() -> None:
    of = Origin(resource="Job", stack="Gpu")
    on = pool(name="H100", origin=of), pool(name="Gpu/H100", origin=of)
    before, after = (
        plan(fleet(job(each, name=name, origin=of))) for each, name in zip(on, ("Job", "Gpu/Job"), strict=True)
    )
    assert [each.job for each in (*before.starts, *after.starts)] == ["Gpu/Job"] * 2
    assert difference(before, after).starts == ()


def test_what_fits_nowhere_has_no_start() -> None:
    assert plan(fleet(job(pool("g6.xlarge"), gpus=8))).starts == ()


def test_a_task_is_counted_beside_nothing_but_daemons() -> None:
    daemon = service(H100, name="probe", gpus=4, daemon=True)
    jobs = job(H100, gpus=4, copies=4), service(H100, name="chat", gpus=4)
    assert [each.hosts for each in plan(fleet(*jobs)).starts] == [2]
    assert [each.hosts for each in plan(fleet(*jobs, daemon)).starts] == [4]
