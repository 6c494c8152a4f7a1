"""Queues of AWS Batch, and what is submitted to them."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, JobQueue, PurchaseOption, QueuedEnvironment, Starter, Submission
from gpu_constructs.fleet import PoolKind as Kind
from gpu_constructs.hardware import Architecture
from gpu_constructs.rules import Severity
from gpu_constructs.rules.batch.capacity import allocates, one_architecture
from gpu_constructs.rules.batch.queues import accepted_numbers, go_together, share_as_its_queue
from tests.rules.batch.test_jobs import job
from tests.rules.given import a_pool, gpu, only, said

GPU_JOB = job(gpu("1"), cpu=4096)
HOSTS = QueuedEnvironment(name="Hosts", platform="EC2", architectures=frozenset({Architecture.X86_64}))
ARM = QueuedEnvironment(name="Arm", platform="EC2", architectures=frozenset({Architecture.ARM64}))
FARGATE = QueuedEnvironment(name="Small", platform="Fargate")


def _queue(*environments: QueuedEnvironment, **changes: Any) -> Fleet:
    queue = JobQueue(name="Queue", environments=environments or (HOSTS,), **changes)
    return Fleet(pools=(a_pool(),), queues=(queue,))


def _submitted(*, shares: Any = False, **changes: Any) -> Fleet:
    queue = JobQueue(name="Queue", has_shares=shares)
    submission = {"name": "Nightly", "starter": Starter.RULE, "queue": queue, "task": GPU_JOB, **changes}
    return Fleet(submissions=(Submission(**submission),))


@pytest.mark.parametrize(
    ("changes", "words", "severity"),
    [
        ({"shares": True}, "without a share, and Queue has a fair-share policy", Severity.ERROR),
        ({"shares": True, "may_share": False}, "the target of a rule or a pipe names no share", Severity.ERROR),
        (
            {"shares": True, "share": True},
            "neither it nor the job definition has a scheduling priority",
            Severity.WARNING,
        ),
        ({"share": True}, "with a share, and Queue has no fair-share policy", Severity.ERROR),
    ],
)
def test_a_share_goes_with_the_policy_of_the_queue(changes: dict[str, Any], words: str, severity: Severity) -> None:
    finding = only(share_as_its_queue, _submitted(**changes))
    assert words in finding.message
    assert finding.severity is severity


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shares": True, "share": True, "priority": True},
        {"shares": True, "share": UNKNOWN},
        {"shares": True, "share": True, "priority": UNKNOWN},
        {"shares": UNKNOWN, "share": True},
        {"shares": UNKNOWN},
        {"shares": True, "task": None},
        {"shares": True, "task": job()},
        {"shares": True, "queue": None},
    ],
)
def test_what_may_be_right_is_not_said(changes: dict[str, Any]) -> None:
    assert said(share_as_its_queue, _submitted(**changes)) == []


@pytest.mark.parametrize(
    ("environments", "words"),
    [
        ((HOSTS, FARGATE), "Hosts (EC2) and Small (Fargate), which cannot be in one queue"),
        ((HOSTS, ARM), "Hosts (x86_64) and Arm (arm64), and all hosts of a queue must have one architecture"),
        ((HOSTS, HOSTS, HOSTS, HOSTS), "4 compute environments, and AWS Batch takes 3"),
    ],
)
def test_environments_of_a_queue_go_together(environments: tuple[QueuedEnvironment, ...], words: str) -> None:
    assert words in only(go_together, _queue(*environments)).message


@pytest.mark.parametrize(
    "environments",
    [(HOSTS, HOSTS, HOSTS), (FARGATE, ARM), (HOSTS, QueuedEnvironment(name="other")), (HOSTS,)],
)
def test_environments_that_may_go_together_are_fine(environments: tuple[QueuedEnvironment, ...]) -> None:
    assert said(go_together, _queue(*environments)) == []


@pytest.mark.parametrize(
    ("changes", "is_wrong"),
    [
        ({"array_size": 1}, True),
        ({"array_size": 2}, False),
        ({"array_size": 10_001}, True),
        ({"attempts": 11}, True),
        ({"attempts": 10}, False),
        ({"attempt_seconds": 59}, True),
        ({"attempt_seconds": 10**6}, False),
        ({"attempt_seconds": UNKNOWN}, False),
        ({"array_size": 1, "task": job()}, False),
    ],
)
def test_numbers_of_a_submission_have_limits(changes: dict[str, Any], is_wrong: bool) -> None:
    assert len(said(accepted_numbers, _submitted(**changes))) == is_wrong


@pytest.mark.parametrize(("seconds", "is_wrong"), [(599, True), (600, False), (86_401, True), (UNKNOWN, False)])
def test_a_queue_lets_jobs_wait_for_ten_minutes_to_a_day(seconds: Any, is_wrong: bool) -> None:
    assert len(said(accepted_numbers, _queue(wait_seconds=(seconds,)))) == is_wrong


def test_instance_types_of_an_environment_have_one_architecture() -> None:
    finding = only(one_architecture, Fleet(pools=(a_pool("g6.xlarge", "g5g.xlarge", kind=Kind.BATCH),)))
    assert "g6.xlarge (x86_64) and g5g.xlarge (arm64)" in finding.message
    for pool in (
        a_pool("g6.xlarge", "g5g.xlarge"),
        a_pool("g6.xlarge", "g6.2xlarge", kind=Kind.BATCH),
        a_pool("c7i.large", "c7g.large", kind=Kind.BATCH),
    ):
        assert said(one_architecture, Fleet(pools=(pool,))) == []


@pytest.mark.parametrize(
    ("option", "allocation", "fix"),
    [
        (PurchaseOption.ON_DEMAND, "SPOT_CAPACITY_OPTIMIZED", "BEST_FIT_PROGRESSIVE"),
        (PurchaseOption.SPOT, "BEST_FIT", "SPOT_PRICE_CAPACITY_OPTIMIZED"),
        (PurchaseOption.SPOT, "BEST_FIT_PROGRESSIVE_ORDERED", "SPOT_PRICE_CAPACITY_OPTIMIZED"),
    ],
)
def test_an_allocation_strategy_goes_with_the_purchase(option: PurchaseOption, allocation: str, fix: str) -> None:
    pool = a_pool(purchase=option, kind=Kind.BATCH, allocation=allocation, lacks_fleet_role=True)
    assert only(allocates, Fleet(pools=(pool,))).fix == fix


@pytest.mark.parametrize(
    ("option", "allocation", "lacks_role"),
    [
        (PurchaseOption.ON_DEMAND, "BEST_FIT", True),
        (PurchaseOption.SPOT, "BEST_FIT", False),
        (PurchaseOption.SPOT, "BEST_FIT_PROGRESSIVE", True),
        (PurchaseOption.SPOT, UNKNOWN, True),
    ],
)
def test_other_strategies_are_taken(option: PurchaseOption, allocation: Any, lacks_role: bool) -> None:
    pool = a_pool(purchase=option, kind=Kind.BATCH, allocation=allocation, lacks_fleet_role=lacks_role)
    assert said(allocates, Fleet(pools=(pool,))) == []
