"""Messages that become jobs: as many at once as there are hosts, and none of them is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sqs as sqs
from ecs_emulator.account import Account
from ecs_emulator.local import Deployed, Local
from ecs_emulator.process import ACCOUNT, REGION
from gpu_constructs import GpuCluster, GpuJob, GpuTaskDefinition, JobRetries
from moto.sqs.models import sqs_backends

from tests.synthesis import Properties, synthesized

from .deployed_jobs import Jobs

STACK, HOSTS, BURST = "Renders", 8, 30


def _define_renders(stack: cdk.Stack, **of_queue: Any) -> None:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, restrict_default_security_group=False)
    cluster = GpuCluster(stack, "Cluster", vpc=vpc)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=HOSTS)
    render = GpuTaskDefinition(stack, "Render", capacity=[l4], family="render")
    render.add_gpu_container("render", image=ecs.ContainerImage.from_registry("example/render:1"), gpus=1)
    job = GpuJob(
        stack,
        "Job",
        cluster=cluster,
        task_definition=render,
        timeout=cdk.Duration.hours(1),
        retries=JobRetries(exit_codes={75: 1}),
    )
    scenes = sqs.Queue(stack, "Scenes", enforce_ssl=True, **of_queue)
    failed = sqs.Queue(stack, "Failed", enforce_ssl=True)
    job.run_from_queue("Scenes", queue=scenes, dead_letter_queue=failed)
    for name, value in {
        "ClusterName": cluster.cluster.cluster_name,
        "Machine": job.state_machine.state_machine_arn,
        "Scenes": scenes.queue_url,
        "Failed": failed.queue_url,
    }.items():
        cdk.CfnOutput(stack, f"Its{name}", value=value)


@cache
def _template(**how: Any) -> Properties:
    return synthesized(STACK, lambda stack: _define_renders(stack, **how))


@dataclass(frozen=True)
class Renders(Jobs):
    """Jobs of a queue.

    Args:
        outputs: Those of the stack.
    """

    outputs: dict[str, str]

    @staticmethod
    def of(account: Account, outputs: Any) -> Renders:
        """Those of a deployed stack."""
        return Renders(account, outputs["ItsClusterName"], dict(outputs))

    def send(self, bodies: Sequence[str], **more: str) -> None:
        """Puts messages into the queue."""
        for each in bodies:
            self.account.client("sqs").send_message(QueueUrl=self.outputs["ItsScenes"], MessageBody=each, **more)

    def all_ended(self, count: int, minutes: int = 400) -> int:
        """Waits until so many jobs have ended and the queue is empty; how many ran at once at most."""
        machines = self.account.client("stepfunctions")
        most = 0
        for _ in range(minutes):
            found = machines.list_executions(stateMachineArn=self.outputs["ItsMachine"])["executions"]
            running = len([each for each in found if each["status"] == "RUNNING"])
            most = max(most, running)
            if len(found) >= count and not running and not self.left():
                return most
            self.account.hosts(self.cluster)
        raise AssertionError(f"{len(found)} jobs, {running} of them run, after {minutes} minutes")

    def left(self) -> int:
        """Messages that the queue still has, those in work included."""
        said = self.account.client("sqs").get_queue_attributes(
            QueueUrl=self.outputs["ItsScenes"], AttributeNames=["All"]
        )
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        return sum(int(said["Attributes"][each]) for each in names)

    def failed(self) -> list[tuple[str, str]]:
        """The messages whose jobs failed, and why."""
        read = self.account.client("sqs").receive_message(
            QueueUrl=self.outputs["ItsFailed"], MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        )
        found = read.get("Messages", [])
        return [(each["Body"], each["MessageAttributes"]["Why"]["StringValue"]) for each in found]

    def given(self) -> list[Any]:
        """What the tasks were given."""
        return [json.loads(self.environment(each)["JOB_INPUT"]) for each in self.tasks()]


@dataclass(frozen=True)
class Here:
    """A stack in this process."""

    cloud: Local
    stack: Deployed
    jobs: Renders


@pytest.fixture(name="here")
def _here(cloud: Local, request: pytest.FixtureRequest) -> Iterator[Here]:
    stack = cloud.deploy(_template(**getattr(request, "param", {})), STACK)
    jobs = Renders.of(cloud.account, stack.outputs)
    yield Here(cloud, stack, jobs)
    cloud.account.stop_all(jobs.cluster)
    cloud.destroy(stack)


def test_a_message_whose_job_failed_is_kept_with_the_reason(here: Here) -> None:
    here.cloud.switch("ends/render", "75,1,0")
    here.jobs.send(["first", '{"scene": 2}'])
    here.jobs.all_ended(2)
    ((body, why),) = here.jobs.failed()
    assert body in {"first", '{"scene": 2}'}
    assert why.startswith("States.TaskFailed: ")
    assert "the container render ended with exit code 1" in why
    assert {json.dumps(each) for each in here.jobs.given()} == {'"first"', '{"scene": 2}'}


def test_what_is_no_json_though_it_looks_so_is_given_up_and_kept(here: Here) -> None:
    here.cloud.switch("ends/render", "0")
    here.jobs.send(["{scene"])
    queue = here.jobs.outputs["ItsScenes"]
    for _ in range(4):
        here.cloud.minutes(here.jobs.cluster, 3)
        _give_back(queue)
    here.cloud.minutes(here.jobs.cluster, 3)
    assert [body for body, _ in here.jobs.failed()] == ["{scene"]
    assert (here.jobs.left(), here.jobs.tasks()) == (0, [])


def test_a_message_that_comes_back_while_its_job_runs_starts_no_second_one(here: Here) -> None:
    here.cloud.switch("ends/render", "20*0")
    here.jobs.send(["scene"])
    here.cloud.minutes(here.jobs.cluster, 10)
    _give_back(here.jobs.outputs["ItsScenes"])
    here.jobs.all_ended(1)
    assert len(here.jobs.tasks()) == 1


def test_a_worker_that_is_stopped_loses_no_message(here: Here) -> None:
    here.cloud.switch("ends/render", "late")
    here.jobs.send(["scene"])
    here.cloud.minutes(here.jobs.cluster, 8)
    machines = here.cloud.account.client("stepfunctions")
    for machine in machines.list_state_machines()["stateMachines"]:
        arn = machine["stateMachineArn"]
        for each in machines.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]:
            if arn != here.jobs.outputs["ItsMachine"]:
                machines.stop_execution(executionArn=each["executionArn"])
    here.cloud.switch("ends/render", "0")
    _give_back(here.jobs.outputs["ItsScenes"])
    here.jobs.all_ended(2)
    assert (here.jobs.failed(), here.jobs.given()) == ([], ["scene", "scene"])


@pytest.mark.parametrize("here", [{"queue_name": "scenes.fifo", "content_based_deduplication": True}], indirect=True)
def test_a_fifo_queue_keeps_the_order_of_each_group(here: Here) -> None:
    here.cloud.switch("ends/render", "2*0")
    here.jobs.send(["1", "2", "3"], MessageGroupId="film")
    assert here.jobs.all_ended(3) == 1
    assert here.jobs.given() == ["1", "2", "3"]


def test_a_burst_of_thirty_messages_on_eight_hosts_loses_none(here: Here) -> None:
    here.cloud.switch("ends/render", "3*0")
    bodies = [{"scene": number} for number in range(BURST)]
    here.jobs.send([json.dumps(each) for each in bodies])
    assert here.jobs.all_ended(BURST) == HOSTS
    assert sorted(here.jobs.given(), key=str) == sorted(bodies, key=str)
    assert here.jobs.failed() == []


def _give_back(queue: str) -> None:
    """What happens when the time is over for which a message is held from others; moto's own is that of the machine."""
    backend, name = sqs_backends[ACCOUNT][REGION], queue.rpartition("/")[2]
    for each in backend.queues[name]._messages:
        backend.change_message_visibility(name, str(each.receipt_handle), 0)
