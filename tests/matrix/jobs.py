"""Jobs of the matrix as constructs, how each kind is started, and how it ended."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn

from gpu_constructs import GpuBatchQueue, GpuCluster, GpuJob, GpuTaskDefinition, MultiNodeTraining
from gpu_constructs.tasks.task_target import Capacity
from tests.matrix.case import Case
from tests.matrix.choices import Choice
from tests.matrix.job_choices import GANG, HARDWARE, HOSTS, KINDS, MODES, JobCombination
from tests.matrix.tasks import image

if TYPE_CHECKING:  # it loads all of moto that the emulator needs, and half of those who import this need none
    from ecs_emulator.local import Local

__all__ = ["KIND_OF", "Kind", "Place", "case_of"]

_BUCKET = "matrix-in"
_GANG: Mapping[str, Any] = MappingProxyType({"hosts": GANG, "command": ["train.py"]})

Outputs = Mapping[str, str]


@dataclass(eq=False)
class Place:
    """Hosts of one kind with one hardware, and the jobs on them; what several jobs can share is made once.

    Args:
        cluster: Where tasks run; jobs of AWS Batch run in its network.
        called: What all construct ids begin with.
        choices: The kind of hosts and their hardware.
    """

    cluster: GpuCluster
    called: str
    choices: tuple[Choice, Choice]
    _capacity: Sequence[Capacity] | None = None
    _tasks: dict[tuple[Choice, Choice], GpuJob] = field(default_factory=dict)
    _defined: int = 0

    @property
    def stack(self) -> cdk.Stack:
        return cdk.Stack.of(self.cluster)

    def define(self, its: JobCombination) -> None:
        """Adds one job and what starts it.

        Raises:
            GpuConstructsError: It is refused.
        """
        self._defined += 1
        KIND_OF[its.kind].define(self, its, f"{self.called}Start{self._defined}")

    def job(self, its: JobCombination) -> GpuJob:
        """The job of a combination, whatever starts it."""
        if its.task not in self._tasks:
            name = f"{self.called}Task{self._defined}"
            mode, containers = its.task
            task = GpuTaskDefinition(self.stack, name, capacity=self._joined(), family=name, network_mode=MODES[mode])
            # Before it, so that the container whose end is that of the job is not the first one.
            if "several containers" in containers.traits:
                task.add_container("sidecar", image=image(), memory_limit_mib=128, essential=False)
            task.add_gpu_container("work", image=image(), **HARDWARE[self.choices[1]].asked)
            job = GpuJob(
                self.stack,
                f"{name}Job",
                cluster=self.cluster,
                task_definition=task,
                timeout=cdk.Duration.hours(6),
            )
            self._tasks[its.task] = job
        return self._tasks[its.task]

    def queued(self, its: JobCombination, name: str) -> None:
        """A queue of AWS Batch with a job."""
        job = self._queue(name).add_job("Work", image=image(), **_asked_of_task(its), **HARDWARE[self.choices[1]].asked)
        self.output(name, job.submit_command(job_name=name))

    def queued_gang(self, its: JobCombination, name: str) -> None:
        """A queue of AWS Batch with a training on several hosts."""
        asked = {**_GANG, **_asked_of_task(its), **HARDWARE[self.choices[1]].asked}
        training = MultiNodeTraining(self.stack, f"{name}Gang", queue=self._queue(name), image=image(), **asked)
        self.output(name, training.submit_command(job_name=name))

    def _queue(self, name: str) -> GpuBatchQueue:
        hosts, hardware = HOSTS[self.choices[0]], HARDWARE[self.choices[1]]
        environments: Any = hosts.environments(self.cluster, f"{name}Hosts", hardware, self._zone())
        return GpuBatchQueue(self.stack, name, vpc=self.cluster.hosts.vpc, environments=environments)

    def output(self, name: str, value: str) -> None:
        cdk.CfnOutput(self.stack, f"{name}Output", value=value)

    def _joined(self) -> list[Capacity]:
        if self._capacity is None:
            hosts, hardware = HOSTS[self.choices[0]], HARDWARE[self.choices[1]]
            self._capacity = hosts.join(self.cluster, f"{self.called}Hosts", hardware, self._zone())
        return list(self._capacity)

    def _zone(self) -> ec2.SubnetSelection:
        """EFA and Capacity Blocks are in one."""
        return ec2.SubnetSelection(subnets=self.cluster.hosts.vpc.private_subnets[:1])


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of jobs.

    Args:
        define: Adds one to a place, with an output of its name.
        start: Starts it on the emulator; gets the output. Returns the state machine or the job of AWS Batch to look at.
        tasks: How many tasks each of its jobs runs in the cluster.
    """

    define: Callable[[Place, JobCombination, str], None]
    start: Callable[[Local, str], str]
    tasks: int = 1


def _by_hand(place: Place, its: JobCombination, name: str) -> None:
    place.output(name, place.job(its).start_command(job_input={"by": name}))


def _start_by_hand(cloud: Local, output: str) -> str:
    """What ``aws stepfunctions start-execution`` does with the words of the output."""
    words = shlex.split(output)
    assert words[:3] == ["aws", "stepfunctions", "start-execution"]
    given = dict(zip(words[3::2], words[4::2], strict=True))
    cloud.account.client("stepfunctions").start_execution(
        stateMachineArn=given["--state-machine-arn"], input=given["--input"]
    )
    return given["--state-machine-arn"]


def _on_schedule(place: Place, its: JobCombination, name: str) -> None:
    job, daily = place.job(its), scheduler.ScheduleExpression.rate(cdk.Duration.days(1))
    job.run_on_schedule(name, schedule=daily, schedule_name=name)
    place.output(name, f"{name} {job.state_machine.state_machine_arn}")


def _due(cloud: Local, output: str) -> str:
    name, machine = output.split()
    waiting = cloud.account.client("ssm").get_parameters(Names=["/emulator/due"])["Parameters"]
    cloud.switch("due", ",".join([*(each["Value"] for each in waiting), name]))
    return machine


def _from_queue(place: Place, its: JobCombination, name: str) -> None:
    job, queue = place.job(its), sqs.Queue(place.stack, f"{name}Queue", enforce_ssl=True)
    job.run_from_queue(name, queue=queue, max_concurrent=4)
    place.output(name, f"{queue.queue_url} {job.state_machine.state_machine_arn}")


def _send(cloud: Local, output: str) -> str:
    url, machine = output.split()
    cloud.account.client("sqs").send_message(QueueUrl=url, MessageBody="work")
    return machine


def _on_object(place: Place, its: JobCombination, name: str) -> None:
    job = place.job(its)
    bucket = place.stack.node.try_find_child("In") or s3.Bucket.from_bucket_name(place.stack, "In", _BUCKET)
    rule = job.run_on_object(name, bucket=bucket)  # type: ignore[arg-type]
    place.output(name, f"{rule.rule_name} {job.state_machine.state_machine_arn}")


def _arrives(cloud: Local, output: str) -> str:
    event = {"detail": {"bucket": {"name": _BUCKET}, "object": {"key": "work"}}}
    cloud.switch(f"events/{output.split(maxsplit=1)[0]}", json.dumps(event))
    return _due(cloud, output)


def _as_step(place: Place, its: JobCombination, name: str) -> None:
    step = place.job(its).step(place.stack, f"{name}Step")
    machine = sfn.StateMachine(
        place.stack,
        f"{name}Machine",
        definition_body=sfn.DefinitionBody.from_chainable(step),
        timeout=cdk.Duration.days(2),
    )
    place.output(name, machine.state_machine_arn)


def _start(cloud: Local, machine: str) -> str:
    cloud.account.client("stepfunctions").start_execution(stateMachineArn=machine, input="{}")
    return machine


def _submit(cloud: Local, output: str) -> str:
    """What ``aws batch submit-job`` does with the words of the output."""
    words = shlex.split(output)
    assert words[:3] == ["aws", "batch", "submit-job"]
    given = dict(zip(words[3::2], words[4::2], strict=True))
    names = {"--job-name": "jobName", "--job-queue": "jobQueue", "--job-definition": "jobDefinition"}
    submitted = cloud.account.client("batch").submit_job(**{names[key]: value for key, value in given.items()})
    return str(submitted["jobId"])


KIND_OF: Mapping[Choice, Kind] = MappingProxyType(
    dict(
        zip(
            KINDS,
            (
                Kind(_by_hand, _start_by_hand),
                Kind(_on_schedule, _due),
                Kind(_from_queue, _send),
                Kind(_on_object, _arrives),
                Kind(_as_step, _start),
                Kind(lambda place, its, name: place.queued(its, name), _submit, tasks=0),
                Kind(lambda place, its, name: place.queued_gang(its, name), _submit, tasks=0),
            ),
            strict=True,
        )
    )
)
"""In the order of `job_choices.KINDS`."""


def case_of(combinations: Sequence[JobCombination], *, providers: int) -> Case:
    """Combinations of one place, as one case of `build`."""
    choices = combinations[0].place

    def define(cluster: GpuCluster, called: str) -> None:
        place = Place(cluster, called, choices)
        for each in combinations:
            place.define(each)

    return Case(", ".join(each.name for each in choices), define, providers=providers)


def _asked_of_task(its: JobCombination) -> dict[str, Any]:
    """What a task definition is asked for, of what defines its tasks itself."""
    mode, containers = its.task
    return {
        **({} if MODES[mode] is None else {"network_mode": MODES[mode]}),
        **({"containers": []} if "several containers" in containers.traits else {}),
    }
