"""What bounds jobs and trainings of AWS Batch: what a start may cost, hours that may be lost, and where they resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_batch as batch
from aws_cdk import aws_s3 as s3

from gpu_constructs import (
    BatchRetries,
    CapacityChoice,
    GpuBatchJob,
    GpuConstructsError,
    IncompatibleError,
    InvalidValueError,
    JobData,
    MultiNodeTraining,
    Purchase,
)
from gpu_constructs.check.planning.starts import starts_of
from gpu_constructs.template.resources.fleet import fleet_of
from tests.jobs.batch.queues import hosts, job, queue, train
from tests.synthesis import Site, warned
from tests.template.written import read_stacks

DEFINITION = "AWS::Batch::JobDefinition"
HOURS_6, TWICE = cdk.Duration.hours(6), BatchRetries(attempts=2)


def _job(site: Site, **arguments: Any) -> GpuBatchJob:
    g6 = CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=4)
    return job(site, queue(site, g6, name=f"Queue{len(site.stack.node.children)}"), **arguments)


def _gang(site: Site, **arguments: Any) -> MultiNodeTraining:
    of = hosts(site, name=f"Queue{len(site.stack.node.children)}")
    return train(site, of, f"Train{len(site.stack.node.children)}", **arguments)


@pytest.mark.parametrize(
    ("define", "usd"), [(_job, 12 * 0.8048), (_gang, 4 * 12 * 4.6016)], ids=["a job", "a gang of four"]
)
def test_a_start_that_may_cost_more_than_allowed_is_refused_with_what_plan_says(
    site: Site, define: Callable[..., Any], usd: float
) -> None:
    define(site, timeout=HOURS_6, retries=TWICE, max_cost_usd=usd + 0.01)
    read = read_stacks([site.app.synth().directory])
    (start,) = starts_of(fleet_of(read.stacks, tasks=read.tasks))
    assert start.usd_at_most == pytest.approx(usd, abs=0.01)
    with pytest.raises(IncompatibleError, match=rf"one start may cost \${usd:,.2f}, in 12 hours") as refused:
        define(site, timeout=HOURS_6, retries=TWICE, max_cost_usd=usd - 0.01)
    assert refused.value.argument == "max_cost_usd"
    assert "BatchRetries" in str(refused.value.fix)
    with pytest.raises(IncompatibleError, match="only known at deploy time"):
        define(site, timeout=cdk.Duration.seconds(cdk.Token.as_number({"Ref": "Seconds"})), max_cost_usd=usd)
    with pytest.raises(InvalidValueError, match="US dollars"):
        define(site, max_cost_usd=True)


def test_a_job_is_a_day_on_spot_hosts_by_default_and_told_of_checkpoints(ground: Any) -> None:
    spot = CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=4, purchase=Purchase.spot())
    of, kept = queue(ground, spot), JobData.s3(s3.Bucket(ground.stack, "Kept", enforce_ssl=True), prefix="kept/")
    made = job(ground, of, "Lost"), job(ground, of, "Resumed", checkpoints=kept)
    assert [any("without checkpoints" in each for each in warned(one)) for one in made] == [True, False]


def test_a_job_is_told_its_places_may_use_them_and_resumes_under_its_own_name(site: Site) -> None:
    bucket = s3.Bucket(site.stack, "Data", enforce_ssl=True)
    volume = batch.EcsVolume.host(name="kept", container_path="/kept", host_path="/mnt/kept")
    read, written = (JobData.s3(bucket, prefix=f"{each}/") for each in ("in", "out"))
    places: Any = {"reads": {"DATA": read}, "writes": {"OUT": written}}
    of, kept = queue(site), JobData.directory("/kept/mine")
    job(site, of, **places, checkpoints=kept, volumes=[volume])
    job(site, of, "Named", checkpoints=kept, checkpoint_key="seven", volumes=[volume])
    own, named = (
        {e["Name"]: e["Value"] for e in d["ContainerProperties"]["Environment"]} for d in site.properties(DEFINITION)
    )
    assert own.keys() >= {"DATA", "OUT"}
    assert own["JOB_CHECKPOINTS"] == "/kept/mine/StackQueueTrain0A346F6A/"
    assert named["JOB_CHECKPOINTS"] == "/kept/mine/seven/"
    policies = str(site.properties("AWS::IAM::Policy"))
    assert "in/*" in policies
    assert "out/*" in policies


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"checkpoints": JobData.directory("/kept")}, "in none of the volumes"),
        ({"checkpoints": JobData.directory("/kept"), "checkpoint_key": "$.trial"}, "expects a directory, got"),
        ({"environment": {"JOB_CHECKPOINTS": "/kept"}, "reads": {"JOB_CHECKPOINTS": JobData.directory("/k")}}, "free"),
    ],
)
def test_places_that_cannot_be_are_refused(untouched: Site, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(GpuConstructsError, match=words):
        job(untouched, queue(untouched, name=f"Q{len(untouched.stack.node.children)}"), **wrong)
