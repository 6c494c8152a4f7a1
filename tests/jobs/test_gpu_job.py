"""A job is refused before it is made where it cannot work, and what it makes is what was asked for."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_stepfunctions as sfn

from gpu_constructs import (
    GpuConstructsError,
    GpuJob,
    GpuTaskDefinition,
    IncompatibleError,
    InvalidValueError,
    JobData,
    JobRetries,
    ModelCache,
    ModelServer,
    Purchase,
)
from gpu_constructs.check.planning.starts import starts_of
from gpu_constructs.fleet import Starter
from gpu_constructs.template.resources.fleet import fleet_of
from tests.synthesis import Ground, Site, warned
from tests.template.written import read_stacks

HOURS = cdk.Duration.hours(6)
NIGHTLY = scheduler.ScheduleExpression.rate(cdk.Duration.days(1))


@pytest.fixture(name="train")
def _train(ground: Ground) -> GpuTaskDefinition:
    return task_of(ground)


def task_of(site: Site) -> GpuTaskDefinition:
    task = site.task(name="Train")
    task.add_gpu_container("train", image=site.image, gpus=1)
    return task


def job(site: Site, task: GpuTaskDefinition, **arguments: Any) -> GpuJob:
    return GpuJob(
        site.stack, "Job", **{"cluster": site.cluster, "task_definition": task, "timeout": HOURS, **arguments}
    )


@pytest.fixture(scope="module")
def made(shared_site: Site) -> GpuJob:
    """A job with data, retries and a sidecar, whose template several tests read."""
    bucket = s3.Bucket.from_bucket_name(shared_site.stack, "Bucket", "data-bucket")
    data, results = JobData.s3(bucket, prefix="in/"), JobData.s3(bucket, prefix="out/")
    task = shared_site.task(name="Train")
    task.add_container("agent", image=shared_site.image, memory_limit_mib=128)
    task.add_gpu_container("train", image=shared_site.image)
    return job(
        shared_site,
        task,
        reads={"DATASET": data},
        writes={"RESULTS": results},
        checkpoints=JobData.directory("/ckpt"),
        retries=JobRetries(exit_codes={75: 2}),
    )


@pytest.fixture(scope="module")
def definition(shared_site: Site, made: GpuJob) -> dict[str, Any]:
    """The state machine of the job, with the names of what it refers to."""
    assert made.node.id == "Job"
    pieces = shared_site.only("AWS::StepFunctions::StateMachine")["DefinitionString"]["Fn::Join"][1]
    text = "".join(each if isinstance(each, str) else next(iter(each)) for each in pieces)
    # Takes two seconds, in one worker instead of both.
    from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser  # noqa: PLC0415

    AmazonStateLanguageParser.parse(text)
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_whole_execution_has_time_for_every_attempt(definition: dict[str, Any]) -> None:
    attempts = JobRetries(exit_codes={75: 2}).attempts
    assert definition["States"]["Run"]["TimeoutSeconds"] == HOURS.to_seconds()
    assert attempts * HOURS.to_seconds() < definition["TimeoutSeconds"] < (attempts + 1) * HOURS.to_seconds()


def test_what_is_read_back_is_what_was_built(shared_site: Site, made: GpuJob) -> None:
    held = made.workload
    assert shared_site.warnings() == []
    read = read_stacks([shared_site.app.outdir])
    (found,) = fleet_of(read.stacks, tasks=read.tasks).workloads
    assert found.starter is held.starter is Starter.STATE_MACHINE
    assert [(each.weight, each.base) for each in found.strategy] == [(each.weight, each.base) for each in held.strategy]
    # Templates call them by their path, and name the cluster and the variables.
    assert replace(found, name=held.name, strategy=held.strategy, cluster=None, variables=()) == held


def test_a_job_is_told_where_its_data_are(definition: dict[str, Any]) -> None:
    (override,) = definition["States"]["Run"]["Parameters"]["Overrides"]["ContainerOverrides"]
    values = {each["Name"]: each.get("Value") or each["Value.$"] for each in override["Environment"]}
    assert values["DATASET"] == "s3://data-bucket/in/"
    assert values["RESULTS"] == "s3://data-bucket/out/"
    assert values["JOB_CHECKPOINTS"] == "/ckpt/StackJob67D221D8/"


def test_a_cache_lets_the_tasks_of_a_job_in(site: Site) -> None:
    files = efs.FileSystem(site.stack, "Files", vpc=site.vpc)
    task = site.task(name="Train", network_mode=ecs.NetworkMode.AWS_VPC)
    task.add_model_server("vllm", server=ModelServer.vllm("qwen"), cache=ModelCache.efs(files))
    job(site, task)
    rules = site.properties("AWS::EC2::SecurityGroupIngress")
    assert any("Job" in json.dumps(each["SourceSecurityGroupId"]) for each in rules)


@pytest.mark.parametrize(
    ("arguments", "argument", "fix"),
    [
        ({"timeout": cdk.Duration.seconds(5)}, "timeout", "cdk.Duration.seconds(60)"),
        ({"timeout": cdk.Duration.days(366)}, "timeout", "cdk.Duration.seconds("),
        ({"container_name": "tain"}, "container_name", "leave it out"),
        ({"retries": 3}, "retries", "JobRetries("),
        ({"checkpoint_key": "one"}, "checkpoint_key", "checkpoints="),
        ({"launch_type": "EC2"}, "launch_type", "did you mean capacity"),
        ({"checkpoint_key": "$.a b", "checkpoints": JobData.directory("/c")}, "checkpoint_key", "'$.trial'"),
        ({"reads": {"JOB_NAME": JobData.directory("/data")}}, "reads", "DATASET"),
        ({"reads": {"PATH": JobData.directory("/data")}}, "reads", "DATASET"),
        ({"writes": {"NVIDIA_VISIBLE_DEVICES": JobData.directory("/data")}}, "writes", "DATASET"),
        ({"writes": {"RESULTS": "/data"}}, "writes", "JobData.s3(bucket, prefix='data/')"),
        ({"vpc_subnets": ec2.SubnetSelection()}, "vpc_subnets", ""),
        ({"security_groups": []}, "security_groups", ""),
        ({"task_definition": object()}, "task_definition", "GpuTaskDefinition"),
        ({"cluster": object()}, "cluster", "GpuCluster"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    ground: Ground, train: GpuTaskDefinition, arguments: dict[str, Any], argument: str, fix: str
) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        job(ground, train, **arguments)
    assert refused.value.argument == argument
    assert fix in str(refused.value)
    assert ground.stack.node.try_find_child("Job") is None


def test_the_command_quotes_what_the_job_is_given(ground: Ground, train: GpuTaskDefinition) -> None:
    made = job(ground, train)
    assert shlex.split(made.start_command(job_input={"text": "it's"}))[-2:] == ["--input", '{"text": "it\'s"}']
    with pytest.raises(InvalidValueError, match="JSON"):
        made.start_command(job_input={"text": object()})


@pytest.mark.parametrize(
    ("job_input", "words"),
    [
        ({"a": sfn.JsonPath.string_at("$.x")}, r"\$\.x is a field"),
        ({"a": [sfn.JsonPath.number_at("$.x")]}, "only known at deploy time"),
        ({"a": sfn.JsonPath.list_at("$.x")}, "only known at deploy time"),
    ],
    ids=["text", "number", "list"],
)
def test_an_input_that_no_attempt_can_get_is_refused(
    ground: Ground, train: GpuTaskDefinition, job_input: dict[str, Any], words: str
) -> None:
    made = job(ground, train)
    before = len(made.node.find_all())
    with pytest.raises(InvalidValueError, match=words) as refused:
        made.start_command(job_input=job_input)
    assert (refused.value.argument, bool(refused.value.fix)) == ("job_input", True)
    with pytest.raises(InvalidValueError, match=words):
        made.run_on_schedule("Nightly", schedule=NIGHTLY, job_input=job_input)
    assert len(made.node.find_all()) == before


def test_a_job_of_another_stack_runs_on_the_cluster(site: Site) -> None:
    other = cdk.Stack(site.app, "Other")
    task = GpuTaskDefinition(other, "Train", capacity=[site.l4])
    task.add_gpu_container("train", image=site.image)
    GpuJob(other, "Job", cluster=site.cluster, task_definition=task, timeout=HOURS)
    read = read_stacks([site.app.synth().directory])
    (found,) = fleet_of(read.stacks, tasks=read.tasks).workloads
    assert [each.pool is not None for each in found.strategy] == [True]


def test_jobs_that_run_at_once_have_checkpoints_of_their_own(ground: Ground, train: GpuTaskDefinition) -> None:
    bucket = s3.Bucket(ground.stack, "Bucket")
    shared = job(ground, train, checkpoints=JobData.directory("/ckpt"))
    with pytest.raises(IncompatibleError, match=r"checkpoint_key='\$\.detail\.object\.key'"):
        shared.run_on_object("New", bucket=bucket)
    with pytest.raises(IncompatibleError) as refused:
        shared.run_on_schedule("Nightly", schedule=NIGHTLY, may_overlap=True)
    assert refused.value.fix == "checkpoint_key='$$.Execution.Name'"


def test_what_a_job_is_started_with_has_the_field_of_its_checkpoints(ground: Ground, train: GpuTaskDefinition) -> None:
    made = job(ground, train, checkpoints=JobData.directory("/ckpt"), checkpoint_key="$.trial.id")
    assert '{"trial": {"id": 1}}' in made.start_command(job_input={"trial": {"id": 1}})
    for given in ({}, {"trial": 1}, {"tral": {"id": 1}}):
        with pytest.raises(InvalidValueError, match=r"has no 'trial\.id'") as refused:
            made.start_command(job_input=given)
        assert refused.value.argument == "job_input"
    with pytest.raises(InvalidValueError, match="has no 'trial"):
        made.run_on_schedule("Nightly", schedule=NIGHTLY)


def test_an_object_for_the_input_of_a_step_is_answered_with_what_makes_one(
    ground: Ground, train: GpuTaskDefinition
) -> None:
    wrong: Any = {"epochs": 3}
    with pytest.raises(InvalidValueError) as refused:
        job(ground, train).step(ground.stack, "Run", job_input=wrong)
    assert refused.value.fix == "sfn.TaskInput.from_object({'epochs': 3})"


def test_a_limit_of_cost_that_only_the_deploy_knows_is_refused(ground: Ground, train: GpuTaskDefinition) -> None:
    with pytest.raises(InvalidValueError, match="only known at deploy time") as refused:
        job(ground, train, max_cost_usd=cdk.Token.as_number({"Ref": "Limit"}))
    assert "e+" not in str(refused.value)


def test_a_start_that_may_cost_more_than_allowed_is_refused_with_what_plan_says(site: Site) -> None:
    task = task_of(site)
    retries = JobRetries(no_host=0, not_started=0, lost_host=1)
    job(site, task, retries=retries, max_cost_usd=12.25)
    read = read_stacks([site.app.synth().directory])
    (start,) = starts_of(fleet_of(read.stacks, tasks=read.tasks))
    assert start.usd_at_most == pytest.approx(12.22, abs=0.01)
    with pytest.raises(IncompatibleError, match=r"one start may cost \$12\.22, in 750 minutes") as refused:
        job(site, task, retries=retries, max_cost_usd=12)
    assert refused.value.argument == "max_cost_usd"
    with pytest.raises(IncompatibleError, match=r"with all attempts"):
        job(site, task, max_cost_usd=20)
    with pytest.raises(InvalidValueError, match="US dollars"):
        job(site, task, max_cost_usd=0)


@pytest.mark.parametrize(
    ("purchase", "hours", "checkpoints", "is_told"),
    [
        (Purchase.spot(), 7, None, True),
        (Purchase.spot(), 6, None, False),
        (Purchase.spot(), 7, JobData.directory("/ckpt"), False),
        (Purchase.on_demand(), 7, None, False),
    ],
    ids=["long on Spot", "short on Spot", "with checkpoints", "on demand"],
)
def test_a_long_job_on_spot_hosts_without_checkpoints_is_a_warning(
    ground: Ground, purchase: Purchase, hours: int, checkpoints: JobData | None, *, is_told: bool
) -> None:
    task = ground.task(ground.capacity("g6.xlarge", purchase=purchase), name="Train")
    task.add_gpu_container("train", image=ground.image, gpus=1)
    made = job(ground, task, timeout=cdk.Duration.hours(hours), checkpoints=checkpoints)
    assert any("without checkpoints" in each for each in warned(made)) is is_told
