"""What every job of AWS Batch defines, whether it is for one host or for several."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.refusal import require_yes
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.fleet import METADATA_KEY, UNKNOWN, Task, Unknown, known
from gpu_constructs.jobs.batch.job_plan import JobPlan, arguments_of
from gpu_constructs.jobs.data import JobData
from gpu_constructs.tasks.gpu_ask import metadata_of
from gpu_constructs.tasks.host_share import GPU_LIMITS

if TYPE_CHECKING:
    from gpu_constructs.jobs.batch.queue import GpuBatchQueue

_VISIBLE = "NVIDIA_VISIBLE_DEVICES"

_Definition = TypeVar("_Definition", batch.EcsJobDefinition, batch.MultiNodeJobDefinition)

_ULIMITS = [
    batch.Ulimit(name=batch.UlimitName[name.upper()], soft_limit=limit, hard_limit=limit)
    for name, limit in GPU_LIMITS.items()
]


class BatchWork(Construct):
    """Defines a container, its role and a log group for it.

    Attributes:
        queue: Its queue.
        task: What it asks of a host, or of each of several, as the value that every check reads.
        share: The share of the queue that it counts against; None in a queue without shares.
        data: Where it reads, writes and resumes.
        log_group: Where its logs go.
        job_role: What it may do on AWS.
        container: Its container.
        job_definition: The job definition.
    """

    job_definition: batch.IJobDefinition

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: GpuBatchQueue,
        plan: JobPlan,
        image: ecs.ContainerImage,
        command: Sequence[str] | None,
    ) -> None:
        options = plan.options
        secrets, volumes = options.get("secrets"), options.get("volumes")
        _require_variables(plan, secrets or {})
        super().__init__(scope, construct_id)
        if plan.places.checkpoints is not None:
            plan = plan.resuming(cdk.Names.unique_resource_name(self, max_length=64))
        self.queue: GpuBatchQueue = queue
        self.data: tuple[JobData, ...] = plan.places.every
        self.task: Task = plan.task
        self.share: str | None = options.get("share")
        self.log_group: logs.ILogGroup = options.get("log_group") or logs.LogGroup(
            self,
            "Logs",
            retention=options.get("log_retention", logs.RetentionDays.ONE_MONTH),
            encryption_key=queue.hosts.encryption_key,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.job_role: iam.IRole = options.get("job_role") or iam.Role(
            self, "JobRole", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")
        )
        plan.places.grant(self.job_role)
        asked = plan.asked
        linux = batch.LinuxParameters(self, "LinuxParameters", shared_memory_size=_mebibytes(asked.shared_memory_mib))
        if asked.devices:
            linux.add_devices(*(batch.Device(host_path=each, container_path=each) for each in asked.devices))
        self.container: batch.EcsEc2ContainerDefinition = batch.EcsEc2ContainerDefinition(
            self,
            "Container",
            image=image,
            command=None if command is None else list(command),
            cpu=known(asked.cpu) // CPU_UNITS_PER_VCPU,
            memory=_mebibytes(asked.memory_limit_mib),
            gpu=known(asked.gpus),
            environment=plan.environment,
            secrets=None if secrets is None else dict(secrets),
            linux_parameters=linux,
            ulimits=_ULIMITS,
            logging=ecs.LogDrivers.aws_logs(stream_prefix=construct_id, log_group=self.log_group),
            job_role=self.job_role,
            execution_role=options.get("execution_role"),
            volumes=None if volumes is None else list(volumes),
            user=options.get("user"),
        )

    def _define(self, kind: Callable[..., _Definition], plan: JobPlan, **own: object) -> _Definition:
        """The job definition, with what the job needs of each GPU, which none of its properties says."""
        definition = kind(self, "Definition", **plan.definition(), **own)
        needs = metadata_of(self.task)
        if needs is not None:
            cast("batch.CfnJobDefinition", definition.node.default_child).add_metadata(METADATA_KEY, needs)
        return definition

    @checked
    def submit_command(self, job_name: str | None = None) -> str:
        """The command line that submits it, for an output.

        AWS Batch takes the newest revision of the job definition, so that the line stays right after a deploy.

        Args:
            job_name: What the job is called. By default its construct id.
        """
        name = self.node.id if job_name is None else job_name
        # The last part of the ARN is the revision.
        definition = cdk.Stack.of(self).split_arn(
            self.job_definition.job_definition_arn, cdk.ArnFormat.SLASH_RESOURCE_NAME
        )
        words = [
            "aws batch submit-job",
            f"--job-name {shlex.quote(name)}",
            f"--job-queue {self.queue.job_queue.job_queue_arn}",
            f"--job-definition {definition.resource_name}",
        ]
        return " ".join([*words, *([] if self.share is None else [f"--share-identifier {self.share}"])])


@cache  # nothing changes it, and it costs a call into Node
def _mebibytes(number: int | Unknown | None) -> cdk.Size:
    return cdk.Size.mebibytes(known(number or 0))


def _require_variables(plan: JobPlan, secrets: Mapping[str, batch.Secret]) -> None:
    """Refuses a job that chooses its GPUs itself, and a name of a variable and of a secret, in words of tasks."""
    container = plan.asked
    every = (*container.environment, *((name, UNKNOWN) for name in secrets))
    task = replace(plan.task, containers=(replace(container, environment=every),))
    arguments = {**arguments_of(task.name), "Environment": "secrets" if _VISIBLE in secrets else "environment"}
    require_yes(task, "GPU037", arguments=arguments)
    taken = next((each for each in secrets if each in plan.environment), None)
    if taken is not None:
        raise InvalidValueError(
            f"{taken} is an environment variable already, and ECS takes each name once",
            argument="secrets",
            value=taken,
            fix="leave it out of one of them",
        )
