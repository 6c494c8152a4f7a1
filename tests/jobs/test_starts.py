"""What starts a job: objects, queues and schedules; what would start in a circle or nowhere is refused."""

from __future__ import annotations

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from gpu_constructs import (
    GpuCluster,
    GpuJob,
    GpuTaskDefinition,
    IncompatibleError,
    InvalidValueError,
    JobData,
)
from tests.jobs.test_gpu_job import HOURS, job, task_of
from tests.synthesis import Ground, Site, warned


@pytest.fixture(name="train")
def _train(ground: Ground) -> GpuTaskDefinition:
    return task_of(ground)


def test_a_schedule_given_as_text_is_offered_as_an_expression(ground: Ground, train: GpuTaskDefinition) -> None:
    with pytest.raises(InvalidValueError, match=r"ScheduleExpression\.expression\('cron\(0 2 \* \* \? \*\)'\)"):
        job(ground, train).run_on_schedule("Nightly", schedule="cron(0 2 * * ? *)")  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["writes", "checkpoints"])
def test_a_job_that_its_own_results_would_start_is_refused(
    ground: Ground, train: GpuTaskDefinition, place: str
) -> None:
    bucket = s3.Bucket(ground.stack, "Bucket")
    out = JobData.s3(bucket, prefix="raw/out/")
    places = (
        {"writes": {"RESULTS": out}} if place == "writes" else {place: out, "checkpoint_key": "$.detail.object.key"}
    )
    made = job(ground, train, **places)
    with pytest.raises(IncompatibleError, match="start itself again"):
        made.run_on_object("New", bucket=bucket, prefix="raw/")
    made.run_on_object("New", bucket=bucket, prefix="in/")


def test_a_queue_has_one_reader_and_goes_with_its_job(ground: Ground, train: GpuTaskDefinition) -> None:
    made = job(ground, train)
    other = GpuJob(ground.stack, "Other", cluster=ground.cluster, task_definition=train, timeout=HOURS)
    queue = sqs.Queue(ground.stack, "Scenes")
    far = "arn:aws:sqs:us-east-1:111122223333:far"
    imported = [sqs.Queue.from_queue_arn(ground.stack, name, far) for name in ("One", "Two")]
    for given, failed, words in (
        (queue, queue, "start again"),
        (queue, sqs.Queue(ground.stack, "Fifo", fifo=True), "no order"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            made.run_from_queue("Queued", queue=given, dead_letter_queue=failed)
    made.run_from_queue("Queued", queue=queue)
    other.run_from_queue("Far", queue=imported[0])
    again: list[tuple[GpuJob, sqs.IQueue]] = [(other, queue), (made, queue), (made, imported[1])]
    for second, given_again in again:
        with pytest.raises(IncompatibleError, match="one reader alone"):
            second.run_from_queue("Again", queue=given_again)


def test_more_workers_than_can_be_counted_are_refused(ground: Ground, train: GpuTaskDefinition) -> None:
    with pytest.raises(InvalidValueError, match="1 to 999"):
        job(ground, train).run_from_queue("Queued", queue=sqs.Queue(ground.stack, "Queue"), max_concurrent=1000)


def test_a_message_waits_for_no_job_that_sqs_gives_out_again(ground: Ground, train: GpuTaskDefinition) -> None:
    made = job(ground, train, timeout=cdk.Duration.hours(13))
    with pytest.raises(IncompatibleError, match="12 hours, and one attempt may take 13 hours"):
        made.run_from_queue("Queued", queue=sqs.Queue(ground.stack, "Queue"))


def test_as_many_jobs_of_a_queue_run_at_once_as_there_is_room_for(site: Site) -> None:
    task = site.task(site.capacity("g6.12xlarge", name="Four", max_instances=3), name="Train")
    task.add_gpu_container("train", image=site.image, gpus=2)
    made = job(site, task)
    made.run_from_queue("Queued", queue=sqs.Queue(site.stack, "Scenes"))
    made.run_from_queue(
        "Old", queue=sqs.Queue(site.stack, "Other"), max_concurrent=2, max_message_age=cdk.Duration.hours(2)
    )
    assert [
        each
        for each in site.properties("AWS::StepFunctions::StateMachine")
        if "of which 6 run at once" in json.dumps(each)
    ]
    waits, old = (each for each in site.properties("AWS::CloudWatch::Alarm") if "Messages wait" in str(each))
    assert waits["Metrics"][0]["Expression"] == "IF(waiting > 0 AND held < 1, 1, 0)"
    assert (waits["EvaluationPeriods"], old["MetricName"], old["Threshold"]) == (
        3,
        "ApproximateAgeOfOldestMessage",
        7200,
    )


def test_jobs_that_start_each_other_are_refused_where_the_circle_closes(
    ground: Ground, train: GpuTaskDefinition
) -> None:
    bucket = s3.Bucket(ground.stack, "Bucket")

    def part(name: str, reads: str, writes: str) -> GpuJob:
        each = GpuJob(
            ground.stack,
            name,
            cluster=ground.cluster,
            task_definition=train,
            timeout=HOURS,
            writes={"RESULTS": JobData.s3(bucket, prefix=writes)},
        )
        each.run_on_object("New", bucket=bucket, prefix=reads)
        return each

    part("Cut", "raw/", "cut/")
    part("Embed", "cut/", "vectors/")
    with pytest.raises(IncompatibleError, match=r"Index → .*Cut → .*Embed → .*Index: each writes") as refused:
        part("Index", "vectors/", "raw/new/")
    assert refused.value.argument == "prefix"
    assert not any("each may write" in each for each in warned(part("Keep", "vectors/", "index/")))
    may = part("Sort", "index/new/", "vectors/sorted/")
    assert any("each may write what starts the next one" in each for each in warned(may))


def test_a_job_that_may_write_what_starts_it_is_warned_of(ground: Ground, train: GpuTaskDefinition) -> None:
    bucket = s3.Bucket.from_bucket_name(ground.stack, "Data", "data")
    made = job(ground, train, writes={"RESULTS": JobData.s3(bucket, prefix="out/")})
    made.run_on_object("New", bucket=bucket, prefix="out/new/")
    assert any("starts it again" in each for each in warned(made))


def test_what_is_in_another_region_starts_nothing(site: Site) -> None:
    here = cdk.Stack(site.app, "Here", env=cdk.Environment(region="us-east-1", account="123456789012"))
    bucket = s3.Bucket.from_bucket_attributes(here, "Bucket", bucket_name="far", region="eu-west-1")
    queue = sqs.Queue.from_queue_arn(here, "Queue", "arn:aws:sqs:eu-west-1:123456789012:far")
    vpc = ec2.Vpc.from_vpc_attributes(
        here, "Vpc", vpc_id="vpc-12345678", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-bbbbbbb1"]
    )
    cluster = GpuCluster(here, "Cluster", vpc=vpc)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    task = GpuTaskDefinition(here, "Train", capacity=[l4])
    task.add_gpu_container("train", image=site.image)
    made = GpuJob(here, "Job", cluster=cluster, task_definition=task, timeout=HOURS)
    with pytest.raises(IncompatibleError, match="eu-west-1"):
        made.run_on_object("New", bucket=bucket)
    with pytest.raises(IncompatibleError, match="eu-west-1"):
        made.run_from_queue("Queued", queue=queue)
