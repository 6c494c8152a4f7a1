"""Priorities of jobs and queues of AWS Batch, and their shares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import Fleet, JobQueue, Origin, QueuedEnvironment, Starter, Submission
from gpu_constructs.rules.batch.shares import accepted_shares
from tests.rules.given import GPU_TASK, a_pool, container, only, said, task_of
from tests.template.resources.declared import fleet as read

HERE = Origin(resource="Queue")
QUEUE = JobQueue(name="Queue", environments=(QueuedEnvironment(name="Hosts"),))


def _queue(key: str, value: float, pool: Any = None) -> Fleet:
    return Fleet(pools=(pool or a_pool(),), queues=(replace(QUEUE, numbers=((key, value, HERE),)),))


@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("WeightFactor", (0, 1000, 5000), (0.0001, 999.9999)),
        ("ShareDecaySeconds", (-1, 604_801), (0, 604_800)),
        ("ComputeReservation", (-1, 100), (0, 99)),
        ("Priority", (-1, 10_000), (0, 9999)),
    ],
)
def test_numbers_of_a_queue_have_their_limits(key: str, wrong: tuple[float, ...], right: tuple[float, ...]) -> None:
    for each in wrong:
        assert only(accepted_shares, _queue(key, each)).value == each
        assert said(accepted_shares, _queue(key, each, a_pool("c7i.xlarge"))) == []
    for each in right:
        assert said(accepted_shares, _queue(key, each)) == []


def test_a_scheduling_priority_has_its_limits() -> None:
    job = Submission(name="Nightly", starter=Starter.SCHEDULE, queue=None, task=GPU_TASK, scheduling_priority=10_000)
    assert "Nightly has SchedulingPriority 10,000" in only(accepted_shares, Fleet(submissions=(job,))).message
    for each in (replace(job, scheduling_priority=9999), replace(job, task=task_of(container()))):
        assert said(accepted_shares, Fleet(submissions=(each,))) == []


def test_a_policy_is_read_with_its_queue() -> None:
    shares = {"ShareDecaySeconds": 60, "ShareDistribution": [{"ShareIdentifier": "a", "WeightFactor": "0.5"}]}
    policy = {"Type": "AWS::Batch::SchedulingPolicy", "Properties": {"FairsharePolicy": shares}}
    own = {"Priority": 7, "SchedulingPolicyArn": {"Ref": "Policy"}, "ComputeEnvironmentOrder": []}
    (queue,) = read({"Policy": policy, "Queue": {"Type": "AWS::Batch::JobQueue", "Properties": own}}).queues
    assert [each[:2] for each in queue.numbers] == [("Priority", 7), ("ShareDecaySeconds", 60), ("WeightFactor", 0.5)]
