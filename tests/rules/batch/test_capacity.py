"""Whether compute environments can run GPU jobs at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, ComputeEnvironment, Fleet, Pool, PoolKind, PurchaseOption, Task, Unknown
from gpu_constructs.rules.batch.capacity import has_gpus, has_vcpus, nodes_stay
from gpu_constructs.rules.batch.jobs_and_environments import long_enough
from tests.rules.batch.test_jobs import job
from tests.rules.given import a_pool, container, fleet_of, gpu, only, said, task_of

JOB = job(gpu("1"), cpu=4096)
NODES = replace(JOB, nodes=2)
ON_FARGATE = ComputeEnvironment(name="jobs", lacks_gpus="is on Fargate, which has none")


def _environment(vcpus: int | Unknown | None = 64, purchase: PurchaseOption = PurchaseOption.ON_DEMAND) -> Pool:
    return replace(
        a_pool("g6.xlarge", purchase=purchase),
        kind=PoolKind.BATCH,
        max_vcpus=vcpus,
    )


def _fleet(task: Task, *pools: Pool) -> Fleet:
    return Fleet(pools=pools, tasks=(task,), is_whole=True)


SPOT = _environment(purchase=PurchaseOption.SPOT)


def test_multi_node_jobs_on_spot_alone_are_an_error() -> None:
    assert "is a multi-node job" in only(nodes_stay, _fleet(NODES, SPOT)).message


def test_the_fix_of_spot_names_the_strategy_too_that_goes_only_with_it() -> None:
    there = "in a compute environment for these jobs"
    assert only(nodes_stay, _fleet(NODES, SPOT)).fix == f"Type EC2, {there}"
    for_spot = replace(SPOT, allocation="SPOT_CAPACITY_OPTIMIZED")
    fix = f"Type EC2 with AllocationStrategy BEST_FIT_PROGRESSIVE, {there}"
    assert only(nodes_stay, _fleet(NODES, for_spot)).fix == fix


@pytest.mark.parametrize(
    "fleet",
    [
        _fleet(JOB, SPOT),
        _fleet(NODES, _environment()),
        _fleet(NODES, SPOT, replace(_environment(), name="more")),
        replace(_fleet(NODES, SPOT), is_whole=False),
    ],
)
def test_others_are_silent(fleet: Fleet) -> None:
    assert said(nodes_stay, fleet) == []


def test_a_gpu_job_needs_a_compute_environment_with_gpus() -> None:
    fleet = replace(_fleet(JOB), environments=(ON_FARGATE,))
    assert "jobs is on Fargate" in only(has_gpus, fleet).message
    assert said(has_gpus, replace(fleet, environments=(ON_FARGATE, ComputeEnvironment(name="other")))) == []
    assert said(has_gpus, replace(fleet, pools=(_environment(),))) == []
    assert said(has_gpus, replace(fleet, tasks=(job(gpu("0"), cpu=4096),))) == []
    assert said(has_gpus, replace(fleet, is_whole=False)) == []
    assert said(has_gpus, replace(fleet, tasks=(job(),))) == []


def test_one_job_may_not_ask_for_more_than_the_maximum() -> None:
    finding = only(has_vcpus, _fleet(JOB, _environment(3)))
    assert (finding.value, finding.fix) == (3, "a MaxvCpus of 4")
    for enough in (4, UNKNOWN, None):
        assert said(has_vcpus, _fleet(JOB, _environment(enough))) == []
    assert said(has_vcpus, replace(_fleet(JOB, _environment(3)), is_whole=False)) == []


@pytest.mark.parametrize(("seconds", "count"), [(59, 1), (60, 0), (None, 0), (UNKNOWN, 0)])
def test_a_timeout_is_a_minute_at_least(seconds: int | Unknown | None, count: int) -> None:
    task = replace(task_of(container(gpu())), attempt_seconds=seconds)
    assert len(said(long_enough, fleet_of(task))) == count
