"""Jobs of AWS Batch: what they ask for, how often they are repeated, and what is submitted to a queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import (
    UNKNOWN,
    Fleet,
    JobQueue,
    ResourceRequirement,
    Scheduler,
    Starter,
    Submission,
    Task,
)
from gpu_constructs.rules import Severity
from gpu_constructs.rules.batch.jobs import accepted_numbers, share_as_its_queue
from gpu_constructs.rules.tasks.requests import taken
from tests.rules.given import container, fleet_of, gpu, mps, only, said, task_of
from tools.rule_examples import example_of

LOST = '{OnStatusReason: "Host EC2*", Action: RETRY}'


def job(*requirements: ResourceRequirement, **changes: Any) -> Task:
    return replace(task_of(replace(container(*requirements), **changes)), scheduler=Scheduler.BATCH)


GPU_JOB = job(gpu("1"), cpu=4096)


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        (gpu("ALL"), "asks AWS Batch for ALL GPUs of its host"),
        (gpu("0.5"), "asks AWS Batch for '0.5' of a GPU"),
        (replace(mps(), value=None), "asks AWS Batch for a share of a GPU (SharingStrategy)"),
    ],
)
def test_anything_but_whole_gpus_is_an_error(requirement: ResourceRequirement, words: str) -> None:
    finding = only(taken, fleet_of(job(requirement)))
    assert (finding.rule, finding.severity) == ("GPU020", Severity.ERROR)
    assert words in finding.message
    assert "ALL" not in finding.allowed
    assert finding.fix == '{"Type": "GPU", "Value": "1"}'


@pytest.mark.parametrize(
    "task",
    [job(gpu("8")), replace(job(gpu("ALL")), compatibilities=("FARGATE",))],
)
def test_whole_gpus_and_tasks_of_ecs_are_silent(task: Task) -> None:
    assert said(taken, fleet_of(task)) == []


def _submitted(*, shares: Any = False, **changes: Any) -> Fleet:
    queue = JobQueue(name="Queue", has_shares=shares)
    submission = {"name": "Nightly", "starter": Starter.SCHEDULE, "queue": queue, "task": GPU_JOB, **changes}
    return Fleet(submissions=(Submission(**submission),))


@pytest.mark.parametrize(
    ("changes", "words", "severity"),
    [
        ({"shares": True}, "without a share, and Queue has a fair-share policy", Severity.ERROR),
        (
            {"shares": True, "share": True},
            "neither it nor the job definition has a scheduling priority",
            Severity.WARNING,
        ),
    ],
)
def test_a_share_goes_with_the_policy_of_the_queue(changes: dict[str, Any], words: str, severity: Severity) -> None:
    finding = only(share_as_its_queue, _submitted(**changes))
    assert words in finding.message
    assert finding.severity is severity


@pytest.mark.parametrize(
    "changes",
    [
        {"shares": True, "share": UNKNOWN},
        {"shares": True, "task": None},
        {"shares": True, "task": job()},
        {"shares": True, "queue": None},
    ],
)
def test_what_may_be_right_is_not_said(changes: dict[str, Any]) -> None:
    assert said(share_as_its_queue, _submitted(**changes)) == []


@pytest.mark.parametrize(
    ("changes", "fixes"),
    [
        ({"copies": 1}, ["ArrayProperties.Size of 2 to 10,000"]),
        ({"attempts": 11}, ["RetryStrategy.Attempts of 1 to 10"]),
        ({"attempt_seconds": 59}, ["Timeout.AttemptDurationSeconds of 60 or more"]),
        ({"copies": 2, "attempts": UNKNOWN, "attempt_seconds": 60}, []),
        ({"copies": 1, "starter": Starter.RULE}, []),  # EventBridge refuses the target itself
    ],
)
def test_numbers_that_only_a_run_would_see_refused(changes: dict[str, Any], fixes: list[str]) -> None:
    assert [each.fix for each in said(accepted_numbers, _submitted(**changes))] == fixes


def rules(retries: str) -> list[str]:
    job = f"Resources:\n  Job:\n    Properties:\n      RetryStrategy: {retries}"
    part = f"Parameters: {{Pattern: {{Type: String}}}}\n{job}"
    found = check_files(["-"], stdin=example_of("GPU331").file(part).encode()).findings
    return [each.rule for each in found if each.rule == "GPU331"]


@pytest.mark.parametrize(
    ("retries", "found"),
    [
        (f"{{Attempts: 3, EvaluateOnExit: [{LOST}]}}", ["GPU331"]),
        ('{Attempts: 3, EvaluateOnExit: [{OnExitCode: "1", Action: EXIT}]}', []),
    ],
)
def test_what_is_said_of_retries(retries: str, found: list[str]) -> None:
    assert rules(retries) == found
