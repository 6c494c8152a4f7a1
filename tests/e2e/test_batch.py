"""Queues of AWS Batch on the emulator: deployed, jobs run on hosts from zero, interrupted, retried and destroyed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from ecs_emulator.account import Account
from ecs_emulator.local import Local
from gpu_constructs import BatchRetries, CapacityChoice, FairShares, GpuBatchQueue, Purchase

from tests.synthesis import Properties, synthesized

from .deployed_jobs import submitted, until

STACK = "Batch"


@cache
def _template(
    *,
    types: tuple[str, ...] = ("g6.xlarge", "g6.2xlarge"),
    share: str | None = None,
    **of_job: Any,
) -> Properties:
    return synthesized(STACK, lambda stack: _define(stack, types, share, of_job))


def _define(stack: cdk.Stack, types: tuple[str, ...], share: str | None, of_job: Mapping[str, Any]) -> None:
    queue = GpuBatchQueue(
        stack,
        "Queue",
        vpc=ec2.Vpc(stack, "Vpc", restrict_default_security_group=False),
        environments=[
            CapacityChoice("Spot", instance_types=["g6.xlarge"], max_instances=2, purchase=Purchase.spot()),
            CapacityChoice("OnDemand", instance_types=types, max_instances=2),
        ],
        shares=None if share is None else FairShares(shares={"research": 3, "product": 1}),
        start_within=cdk.Duration.minutes(15),
    )
    image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
    job = queue.add_job("Train", image=image, command=["nvidia-smi"], share=share, **of_job)
    cdk.CfnOutput(stack, "Submit", value=job.submit_command())


def _instances(account: Account) -> list[tuple[str, str]]:
    """Type and market of every instance that runs."""
    reservations = account.client("ec2").describe_instances()["Reservations"]
    return [
        (each["InstanceType"], each.get("InstanceLifecycle", "on-demand"))
        for reservation in reservations
        for each in reservation["Instances"]
        if each["State"]["Name"] == "running"
    ]


def _scheduled(stack: cdk.Stack) -> None:
    choice = CapacityChoice("A", instance_types=["g6.xlarge"], max_instances=1)
    queue = GpuBatchQueue(stack, "Queue", vpc=ec2.Vpc(stack, "Vpc", max_azs=2), environments=[choice])
    job = queue.add_job("Train", image=ecs.ContainerImage.from_registry("example/train:1"))
    request = {"JobName": "weekly", "JobQueue": queue.job_queue.job_queue_arn}
    for name, definition in (("weekly", job.job_definition.job_definition_arn), ("wrong", "no-such-job")):
        scheduler.Schedule(
            stack,
            name,
            schedule_name=name,
            schedule=scheduler.ScheduleExpression.rate(cdk.Duration.days(7)),
            target=scheduler_targets.Universal(
                service="batch",
                action="submitJob",
                input=scheduler.ScheduleTargetInput.from_object({**request, "JobDefinition": definition}),
            ),
        )


def test_a_schedule_submits_a_job(cloud: Local) -> None:
    deployed, batch = cloud.deploy(synthesized(STACK, _scheduled)), cloud.account.client("batch")
    cloud.switch("due", "weekly,wrong")

    for _ in range(10):
        jobs = batch.describe_jobs(jobs=[])["jobs"]

    assert [(each["jobName"], each["status"]) for each in jobs] == [("weekly", "SUCCEEDED")]
    runs = cloud.account.client("ssm").get_parameters_by_path(Path="/emulator/runs")["Parameters"]
    said = {each["Name"].rpartition("/")[2]: each["Value"] for each in runs}
    assert said["weekly"] == f"started {jobs[0]['jobArn']}"
    assert said["wrong"].startswith("failed: JobDefinition no-such-job not found")
    cloud.destroy(deployed)


@pytest.mark.parametrize(
    ("attempts", "end", "of_job"),
    [
        ("lost,0", ("SUCCEEDED", 2), {}),
        ("lost", ("FAILED", 3), {}),
        ("1", ("FAILED", 1), {}),
        ("75,lost,0", ("SUCCEEDED", 3), {"retries": BatchRetries(exit_codes=(75,))}),
        ("75", ("FAILED", 2), {"retries": BatchRetries(attempts=2, exit_codes=(75,))}),
        ("forever", ("FAILED", 1), {"timeout": cdk.Duration.minutes(5)}),
    ],
    ids=["a lost host", "every host lost", "a mistake", "a code and a lost host", "one code", "no end"],
)
def test_a_job_is_tried_again_by_cause_within_its_budget(
    cloud: Local, attempts: str, end: tuple[str, int], of_job: dict[str, Any]
) -> None:
    stack = cloud.deploy(_template(**of_job), STACK)
    cloud.switch("jobs/Train", attempts)

    described = until(cloud.account, submitted(cloud.account, stack.outputs), 40)

    assert (described["status"], len(described["attempts"])) == end
    cloud.destroy(stack)


def test_where_there_is_no_spot_the_next_environment_takes_the_job(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    cloud.switch("no-capacity", "g6.xlarge:spot,g6.xlarge:on-demand")
    job = submitted(cloud.account, stack.outputs)

    until(cloud.account, job, 3)
    assert _instances(cloud.account) == [("g6.2xlarge", "on-demand")]
    assert until(cloud.account, job, 10)["status"] == "SUCCEEDED"
    # Hosts without a job go.
    until(cloud.account, submitted(cloud.account, stack.outputs), 10)
    for _ in range(15):
        cloud.account.client("batch").describe_jobs(jobs=[job])
    assert _instances(cloud.account) == []
    cloud.destroy(stack)


def test_where_spot_is_full_the_next_environment_takes_the_jobs_that_wait(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    cloud.switch("jobs/Train", "forever")
    jobs = [submitted(cloud.account, stack.outputs) for _ in range(6)]

    until(cloud.account, jobs[0], 12)

    assert sorted(market for _, market in _instances(cloud.account)) == ["on-demand", "on-demand", "spot", "spot"]
    described = cloud.account.client("batch").describe_jobs(jobs=jobs)["jobs"]
    assert [each["status"] for each in described] == ["RUNNING"] * 4 + ["RUNNABLE"] * 2
    cloud.destroy(stack)


def test_shares_get_what_the_policy_gives_them(cloud: Local) -> None:
    stack = cloud.deploy(_template(share="product"), STACK)
    jobs = {
        share: [submitted(cloud.account, stack.outputs, shareIdentifier=share) for _ in range(24)]
        for share in ("product", "research")
    }

    every = [each for of_share in jobs.values() for each in of_share]
    for _ in range(20):
        described = cloud.account.client("batch").describe_jobs(jobs=every)["jobs"]
    by_id = {each["jobId"]: each["status"] for each in described}
    research, product = (sum(by_id[each] == "SUCCEEDED" for each in jobs[share]) for share in ("research", "product"))

    assert product >= 3
    assert 2 <= research / product <= 4
    cloud.destroy(stack)


def test_a_job_definition_with_a_name_of_its_own_gets_a_new_revision(cloud: Local) -> None:
    stack = cloud.deploy(_template(job_definition_name="sweep"), STACK)
    updated = cloud.update(stack, _template(job_definition_name="sweep", timeout=cdk.Duration.hours(2)))

    definitions = cloud.account.client("batch").describe_job_definitions(status="ACTIVE")["jobDefinitions"]
    assert [(each["jobDefinitionName"], each["revision"]) for each in definitions] == [("sweep", 2)]
    # The line of before the update starts the newest revision.
    assert until(cloud.account, submitted(cloud.account, stack.outputs), 10)["status"] == "SUCCEEDED"
    cloud.destroy(updated)


def test_a_job_that_no_host_comes_for_is_cancelled_and_says_why(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    cloud.switch("no-capacity", "g6.xlarge,g6.2xlarge")
    job = submitted(cloud.account, stack.outputs)

    assert until(cloud.account, job, 15)["status"] == "RUNNABLE"
    described = until(cloud.account, job, 5)
    assert (described["status"], described["statusReason"]) == ("FAILED", "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY")
    assert described["attempts"] == []
    cloud.destroy(stack)


def test_an_update_keeps_the_environments_and_their_jobs(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    environments = cloud.account.client("batch").describe_compute_environments
    before = {each["computeEnvironmentArn"] for each in environments()["computeEnvironments"]}
    cloud.switch("jobs/Train", "forever")
    running = submitted(cloud.account, stack.outputs)
    until(cloud.account, running, 5)

    updated = cloud.update(stack, _template(types=("g5.xlarge",), gpu_memory_gib=16))

    now = environments()["computeEnvironments"]
    assert {each["computeEnvironmentArn"] for each in now} == before
    assert ["g5.xlarge"] in [each["computeResources"]["instanceTypes"] for each in now]
    assert until(cloud.account, running, 1)["status"] == "RUNNING"
    cloud.switch("jobs/Train", "0")
    assert until(cloud.account, submitted(cloud.account, updated.outputs), 10)["status"] == "SUCCEEDED"
    cloud.destroy(updated)
