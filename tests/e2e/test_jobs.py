"""Jobs on the emulator: a host comes from zero, the task ends, and what ended badly is run again within its budget."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from ecs_emulator.local import Deployed, Local
from gpu_constructs import (
    GpuCluster,
    GpuJob,
    GpuTaskDefinition,
    JobData,
    JobRetries,
)
from gpu_constructs.tasks.task_target import Capacity

from tests.synthesis import Properties, synthesized

from .deployed_jobs import Jobs

LIMIT = cdk.Duration.hours(6)
RETRIES = JobRetries(no_host=1, not_started=1, lost_host=2, exit_codes={75: 1})


@dataclass(frozen=True)
class Job(Jobs):
    """One job that is deployed."""

    cloud: Local
    stack: Deployed

    @property
    def machine(self) -> str:
        """Its state machine."""
        return self.stack.outputs["Machine"]

    def run(self, ends: str) -> str:
        """Starts it; its tasks end like this."""
        self.cloud.switch("ends/train", ends)
        return self.start(self.machine)


Deploy = Callable[..., Job]
ONE: Any = {"instance_types": ["g6.xlarge"], "max_instances": 1}


@functools.cache
def _template(
    *,
    timeout: cdk.Duration = LIMIT,
    checkpoints: JobData | None = None,
    checkpoint_key: str | None = None,
    network_mode: ecs.NetworkMode | None = None,
    capacity: Callable[[GpuCluster], Sequence[Capacity]] = lambda cluster: [cluster.add_capacity("L4", **ONE)],
    adds: Callable[[cdk.Stack, GpuJob], object] = lambda *_: None,
) -> Properties:
    def define(stack: cdk.Stack) -> None:
        cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
        hosts = list(capacity(cluster))
        train = GpuTaskDefinition(stack, "Train", capacity=hosts, family="train", network_mode=network_mode)
        train.add_gpu_container("train", image=ecs.ContainerImage.from_registry("example/train:1"), gpus=1)
        job = GpuJob(
            stack,
            "Job",
            cluster=cluster,
            task_definition=train,
            timeout=timeout,
            retries=RETRIES,
            checkpoints=checkpoints,
            checkpoint_key=checkpoint_key,
        )
        adds(stack, job)
        cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(stack, "Machine", value=job.state_machine.state_machine_arn)

    return synthesized("Jobs", define)


@pytest.fixture(name="deploy")
def _deploy(cloud: Local) -> Iterator[Deploy]:
    deployed: list[Job] = []

    def deploy(**how: Any) -> Job:
        made = cloud.deploy(_template(**how))
        deployed.append(Job(cloud.account, made.outputs["ClusterName"], cloud, made))
        return deployed[-1]

    yield deploy
    for each in deployed:
        each.cloud.account.stop_all(each.cluster)
        each.cloud.destroy(each.stack)


def test_a_job_gets_a_host_from_zero_and_ends_well(deploy: Deploy, cloud: Local) -> None:
    job = deploy()
    assert cloud.account.hosts(job.cluster) == ()
    end = job.end(job.run("0"))
    assert end["status"] == "SUCCEEDED"
    (task,) = job.tasks()
    assert json.loads(end["output"])["TaskArn"] == task["taskArn"]
    assert task["containers"][0]["exitCode"] == 0


@pytest.mark.parametrize(
    ("ends", "attempts", "error", "words"),
    [
        ("1", 1, "OtherExitCode", "the container train ended with exit code 1"),
        ("75", 2, "ExitCode75", "the container train ended 2 times with exit code 75"),
        ("host,1", 2, "OtherExitCode", "the container train ended with exit code 1"),
        ("75,1", 2, "OtherExitCode", "the container train ended with exit code 1"),
        ("spot", 3, "LostHost", r"its host was lost 3 times: Host EC2 \(instance i-\w+\) terminated\."),
        ("start", 2, "NotStarted", "a host came, and the containers did not start 2 times: CannotPullContainerError.*"),
    ],
)
def test_each_cause_has_a_budget_and_the_end_says_what_happened(
    deploy: Deploy, ends: str, attempts: int, error: str, words: str
) -> None:
    job = deploy()
    end = job.end(job.run(ends))
    assert (end["status"], end["error"]) == ("FAILED", error)
    assert re.fullmatch(rf"{words} \(task {job.tasks()[-1]['taskArn']}\)", end["cause"])
    assert len(job.tasks()) == attempts


def test_a_job_that_runs_during_a_deploy_keeps_its_retries_and_its_image(deploy: Deploy, cloud: Local) -> None:
    job = deploy()
    execution = job.run("late")
    cloud.minutes(job.cluster, 6)
    cloud.update(job.stack, json.loads(json.dumps(_template()).replace("example/train:1", "example/train:2")))
    cloud.switch("ends/train", "0")
    cloud.account.client("ec2").terminate_instances(
        InstanceIds=[each.instance_id for each in cloud.account.hosts(job.cluster)]
    )
    assert job.end(execution)["status"] == "SUCCEEDED"
    job.end(job.run("0"))
    assert [each["taskDefinitionArn"].rpartition(":")[2] for each in job.tasks()] == ["1", "1", "2"]
    cloud.account.client("ecs").deregister_task_definition(taskDefinition="train:1")  # no stack has it any more


def test_a_job_that_no_host_comes_for_ends_and_says_so(deploy: Deploy, cloud: Local) -> None:
    cloud.switch("no-capacity", "g6.xlarge")
    job = deploy()
    end = job.end(job.run("0"))
    assert end["error"] == "NoHost"
    assert end["cause"].startswith("no host came 2 times: Timeout waiting for capacity (task ")
    assert len(job.tasks()) == 2


def test_a_forgotten_job_is_ended_by_its_limit_and_gives_its_host_back(deploy: Deploy) -> None:
    job = deploy(timeout=cdk.Duration.hours(1))
    other = job.run("late")
    first = job.end(other, minutes=80)
    assert (first["error"], first["cause"]) == ("TimeLimit", "it passed its time limit of 1 hour")
    (task,) = job.tasks()
    assert (task["stopCode"], task["stoppedReason"]) == ("UserInitiated", "it passed its time limit of 1 hour")


def test_a_job_that_somebody_stops_is_not_run_again(deploy: Deploy, cloud: Local) -> None:
    job = deploy()
    execution = job.run("late")
    cloud.minutes(job.cluster, 6)
    cloud.account.stop_all(job.cluster)
    end = job.end(execution)
    assert end["error"] == "Stopped"
    assert end["cause"].startswith("the task was stopped: the story goes on (task ")
    assert len(job.tasks()) == 1


def test_the_task_of_an_aborted_execution_is_stopped(deploy: Deploy, cloud: Local) -> None:
    job = deploy()
    execution = job.run("late")
    cloud.minutes(job.cluster, 6)
    cloud.account.client("stepfunctions").stop_execution(executionArn=execution)
    assert job.end(execution)["status"] == "ABORTED"
    assert cloud.account.tasks(job.cluster) == ()


def _every_start(stack: cdk.Stack, job: GpuJob) -> None:
    queue = sqs.Queue(stack, "Work", enforce_ssl=True)
    daily = scheduler.ScheduleExpression.rate(cdk.Duration.days(1))
    job.run_on_schedule("Nightly", schedule=daily, schedule_name="nightly", job_input={"epochs": 3})
    job.run_from_queue("Queued", queue=queue)
    rule = job.run_on_object("New", bucket=s3.Bucket.from_bucket_name(stack, "In", "scans-in"), prefix="scans/")
    step = job.step(stack, "Embed", job_input=sfn.TaskInput.from_object({"step": True}))
    mine = sfn.StateMachine(stack, "Mine", definition_body=sfn.DefinitionBody.from_chainable(step))
    cdk.CfnOutput(stack, "Queue", value=queue.queue_url)
    cdk.CfnOutput(stack, "Rule", value=rule.rule_name)
    cdk.CfnOutput(stack, "MineArn", value=mine.state_machine_arn)


def test_a_schedule_a_queue_an_object_and_a_step_start_a_job(deploy: Deploy, cloud: Local) -> None:
    job = deploy(adds=_every_start)
    outputs, client = job.stack.outputs, cloud.account.client
    cloud.switch("ends/train", "0")
    event = {"detail": {"bucket": {"name": "scans-in"}, "object": {"key": "scans/1"}}}
    cloud.switch(f"events/{outputs['Rule']}", json.dumps(event))
    cloud.switch("due", f"nightly,{outputs['Rule']}")
    client("sqs").send_message(QueueUrl=outputs["Queue"], MessageBody="a scan")
    mine = client("stepfunctions").start_execution(stateMachineArn=outputs["MineArn"])["executionArn"]
    assert job.end(mine)["status"] == "SUCCEEDED"
    cloud.minutes(job.cluster, 6)
    for execution in client("stepfunctions").list_executions(stateMachineArn=job.machine)["executions"]:
        assert job.end(execution["executionArn"])["status"] == "SUCCEEDED"
    given = [json.loads(job.environment(each)["JOB_INPUT"]) for each in job.tasks()]
    assert sorted(given, key=str) == sorted(["a scan", {"step": True}, {"epochs": 3}, event], key=str)
    attributes = client("sqs").get_queue_attributes(QueueUrl=outputs["Queue"], AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessages"] == attributes["ApproximateNumberOfMessagesNotVisible"] == "0"


@pytest.mark.parametrize("overlap", [False, True])
def test_a_schedule_whose_job_still_runs_starts_another_only_where_it_may(
    deploy: Deploy, cloud: Local, *, overlap: bool
) -> None:
    def nightly(_: cdk.Stack, job: GpuJob) -> None:
        daily = scheduler.ScheduleExpression.rate(cdk.Duration.days(1))
        job.run_on_schedule("Nightly", schedule=daily, schedule_name="nightly", may_overlap=overlap)

    job = deploy(adds=nightly)
    client = cloud.account.client("stepfunctions")

    def runs() -> list[str]:
        cloud.minutes(job.cluster, 3)
        return [each["status"] for each in client.list_executions(stateMachineArn=job.machine)["executions"]]

    cloud.switch("ends/train", "late")
    by_hand = job.start(job.machine)
    for _ in range(2):
        cloud.switch("due", "nightly")
        started = runs()
    assert started == ["RUNNING"] * (3 if overlap else 2)
    for each in client.list_executions(stateMachineArn=job.machine)["executions"]:
        client.stop_execution(executionArn=each["executionArn"])
    cloud.switch("ends/train", "0")
    cloud.minutes(job.cluster, 1)
    cloud.switch("due", "nightly")
    assert len(runs()) == len(started) + 1
    assert job.end(by_hand)["status"] == "ABORTED"


@pytest.mark.parametrize(
    ("key", "directories"),
    [(None, ["JobsJob14EE367C", "JobsJob14EE367C"]), ("nightly", ["nightly", "nightly"]), ("$.trial", ["1", "2"])],
)
def test_a_job_that_is_started_again_resumes_where_its_key_says(
    deploy: Deploy, cloud: Local, key: str | None, directories: list[str]
) -> None:
    job = deploy(checkpoints=JobData.directory("/checkpoints"), checkpoint_key=key)
    for number, ends in enumerate(("spot,1", "0"), start=1):
        cloud.switch("ends/train", ends)
        job.end(job.start(job.machine, json.dumps({"trial": number})))
    places = [job.environment(each)["JOB_CHECKPOINTS"] for each in job.tasks()]
    first, second = (f"/checkpoints/{each}/" for each in directories)
    assert places == [first, first, second]


def _four_steps(stack: cdk.Stack, job: GpuJob) -> None:
    steps = [job.step(stack, f"Step{number}", result_path="$.last") for number in range(4)]
    chain = steps[0].next(steps[1]).next(steps[2]).next(steps[3])
    mine = sfn.StateMachine(stack, "Mine", definition_body=sfn.DefinitionBody.from_chainable(chain))
    cdk.CfnOutput(stack, "MineArn", value=mine.state_machine_arn)


def test_each_of_four_steps_gets_what_the_pipeline_was_started_with(deploy: Deploy, cloud: Local) -> None:
    job = deploy(adds=_four_steps)
    cloud.switch("ends/train", "0")
    given = {"text": "x" * 6_000}
    end = job.end(job.start(job.stack.outputs["MineArn"], json.dumps(given)))
    assert end["status"] == "SUCCEEDED"
    assert [json.loads(job.environment(each)["JOB_INPUT"]) for each in job.tasks()] == [given] * 4
    assert json.loads(end["output"]).keys() == {"text", "last"}


def test_the_command_of_an_output_starts_a_host(deploy: Deploy, cloud: Local) -> None:
    job = deploy(
        adds=lambda stack, made: cdk.CfnOutput(stack, "RunTask", value=made.task_definition.run_task_command()),
    )
    assert len(cloud.account.run_command(job.stack.outputs["RunTask"]).tasks) == 1
    cloud.minutes(job.cluster, 5)
    assert [each.status for each in cloud.account.tasks(job.cluster)] == ["RUNNING"]
