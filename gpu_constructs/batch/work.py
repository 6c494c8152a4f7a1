"""What every job definition has, whether it is for one host or for several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.batch.job_plan import JobPlan
from gpu_constructs.batch.retries import BatchRetries
from gpu_constructs.cdk.given import construct_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.refusal import require_yes
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import METADATA_KEY, UNKNOWN, Task
from gpu_constructs.tasks.gpu_needs import metadata_of

if TYPE_CHECKING:
    from gpu_constructs.batch.queue import GpuBatchQueue

__all__ = ["DAY_SECONDS", "BatchWork", "JobSettings", "require_name", "require_volumes", "seconds_of"]

DAY_SECONDS = 86_400
"""How long an attempt may take by default."""

# https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitJob.html
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
# https://docs.aws.amazon.com/batch/latest/APIReference/API_RegisterJobDefinition.html and API_CreateJobQueue.html
_NAME_OF_RESOURCE = re.compile(r"[A-Za-z0-9_-]{1,128}")
# https://docs.aws.amazon.com/batch/latest/userguide/service_limits.html
_LARGEST_DEFINITION_KIB = 24
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"

# What NVIDIA's own container images ask for: unlimited locked memory for pinned buffers, a 64 MiB stack
# (https://docs.nvidia.com/deeplearning/frameworks/user-guide/).
_ULIMITS = [
    batch.Ulimit(name=batch.UlimitName.MEMLOCK, soft_limit=-1, hard_limit=-1),
    batch.Ulimit(name=batch.UlimitName.STACK, soft_limit=67108864, hard_limit=67108864),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """What a job is besides its size; the arguments of `GpuBatchQueue.add_job`."""

    image: ecs.ContainerImage
    command: Sequence[str] | None
    secrets: Mapping[str, batch.Secret] | None
    timeout: cdk.Duration
    retries: BatchRetries
    share: str | None
    scheduling_priority: int | None
    job_role: iam.IRole | None
    execution_role: iam.IRole | None
    log_group: logs.ILogGroup | None
    log_retention: logs.RetentionDays
    volumes: Sequence[batch.EcsVolume] | None
    user: str | None
    job_definition_name: str | None


class BatchWork(Construct):
    """Defines a container, its role and a log group for it.

    Attributes:
        queue: Its queue.
        task: What it asks of a host, as the value that every check reads.
        share: The share of the queue that it counts against; None in a queue without shares.
        log_group: Where its logs go.
        job_role: What it may do on AWS.
        container: Its container.
        job_definition: The job definition.
    """

    job_definition: batch.IJobDefinition

    def __init__(
        self, scope: Construct, construct_id: str, *, queue: GpuBatchQueue, plan: JobPlan, settings: JobSettings
    ) -> None:
        require_name("job_definition_name", settings.job_definition_name)
        _require_user(settings.user)
        _require_left_to_ecs(plan, settings)
        _require_size(plan, settings)
        super().__init__(scope, construct_id)
        self.queue: GpuBatchQueue = queue
        self.task: Task = plan.task
        self.share: str | None = settings.share
        self.log_group: logs.ILogGroup = settings.log_group or construct_of(
            logs.LogGroup,
            logs.LogGroupProps,
            self,
            "Logs",
            retention=settings.log_retention,
            encryption_key=queue.hosts.encryption_key,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.job_role: iam.IRole = settings.job_role or iam.Role(
            self, "JobRole", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")
        )
        linux = batch.LinuxParameters(
            self, "LinuxParameters", shared_memory_size=cdk.Size.mebibytes(plan.shared_memory_mib)
        )
        if plan.devices:
            linux.add_devices(*(batch.Device(host_path=each, container_path=each) for each in plan.devices))
        self.container: batch.EcsEc2ContainerDefinition = construct_of(
            batch.EcsEc2ContainerDefinition,
            batch.EcsEc2ContainerDefinitionProps,
            self,
            "Container",
            image=settings.image,
            command=None if settings.command is None else list(settings.command),
            cpu=plan.vcpus,
            memory=cdk.Size.mebibytes(plan.memory_mib),
            gpu=plan.gpus,
            environment=plan.environment,
            secrets=None if settings.secrets is None else dict(settings.secrets),
            linux_parameters=linux,
            ulimits=_ULIMITS,
            logging=ecs.LogDrivers.aws_logs(stream_prefix=construct_id, log_group=self.log_group),
            job_role=self.job_role,
            execution_role=settings.execution_role,
            volumes=None if settings.volumes is None else list(settings.volumes),
            user=settings.user,
        )

    def _add_needs(self, definition: Construct) -> None:
        """Writes down what the job needs of each GPU, which no property of a job definition says."""
        needs = metadata_of(self.task)
        if needs is not None:
            cast("batch.CfnJobDefinition", definition.node.default_child).add_metadata(METADATA_KEY, needs)

    @checked
    def submit_command(self, job_name: str | None = None) -> str:
        """The command line that submits it, for an output.

        AWS Batch takes the newest revision of the job definition, so that the line stays right after a deploy.

        Args:
            job_name: What the job is called. By default its construct id.

        Raises:
            InvalidValueError: AWS Batch takes no such name.
        """
        name = self.node.id if job_name is None else job_name
        if not is_token(name) and not _NAME.fullmatch(name):
            raise InvalidValueError(
                f"{shown(name)} is not the name of a job",
                argument="job_name",
                value=name,
                allowed="letters, digits, hyphens and underscores, up to 128, the first a letter or a digit",
                fix="job_name='nightly'",
            )
        # The last part of the ARN is the revision.
        definition = cdk.Stack.of(self).split_arn(
            self.job_definition.job_definition_arn, cdk.ArnFormat.SLASH_RESOURCE_NAME
        )
        words = [
            "aws batch submit-job",
            f"--job-name {name}",
            f"--job-queue {self.queue.job_queue.job_queue_arn}",
            f"--job-definition {definition.resource_name}",
        ]
        return " ".join([*words, *([] if self.share is None else [f"--share-identifier {self.share}"])])


@cache  # nothing changes it, and it costs a call into Node
def seconds_of(number: int) -> cdk.Duration:
    """A duration.

    Args:
        number: Its seconds.
    """
    return cdk.Duration.seconds(number)


def require_name(argument: str, name: str | None) -> None:
    """Refuses what AWS Batch does not take as the name of a job queue or a job definition.

    Args:
        argument: The argument, as the user spells it.
        name: As given; None where CloudFormation makes one.

    Raises:
        InvalidValueError: It is not such a name; a token passes.
    """
    if name is not None and not is_token(name) and not _NAME_OF_RESOURCE.fullmatch(name):
        raise InvalidValueError(
            f"{shown(name)} is not a name that AWS Batch takes",
            argument=argument,
            value=name,
            allowed="letters, digits, hyphens and underscores, up to 128",
            fix="leave it out, and CloudFormation makes one",
        )


def require_volumes(volumes: object) -> None:
    """Refuses volumes that are none of AWS Batch.

    Args:
        volumes: As given.

    Raises:
        InvalidValueError: They are something else.
    """
    if volumes is not None and not (
        isinstance(volumes, (list, tuple)) and all(isinstance(each, batch.EcsVolume) for each in volumes)
    ):
        raise InvalidValueError(
            f"expects a list of batch.EcsVolume, got {shown(volumes)}",
            argument="volumes",
            value=volumes,
            fix="volumes=[batch.EcsVolume.host(name='data', container_path='/data', host_path='/mnt/data')]",
        )


def _require_user(user: str | None) -> None:
    if user == "":
        raise InvalidValueError(
            "got '', which names no user",
            argument="user",
            value=user,
            fix="leave it out for the image's own, or user='1000'",
        )


def _require_left_to_ecs(plan: JobPlan, settings: JobSettings) -> None:
    """Refuses a job that chooses its GPUs itself, in a variable or in a secret."""
    secrets = settings.secrets or {}
    (container,) = plan.task.containers
    every = (*container.environment, *((name, UNKNOWN) for name in secrets))
    task = replace(plan.task, containers=(replace(container, environment=every),))
    arguments = {"Environment": "secrets" if _VISIBLE in secrets else "environment", "ResourceRequirements": "gpus"}
    require_yes(task, "GPU037", arguments=arguments)


def _require_size(plan: JobPlan, settings: JobSettings) -> None:
    """Refuses text that alone is larger than a job definition; what only a deploy knows is not counted."""
    command = settings.command or ()
    variables = [text for pair in plan.environment.items() for text in pair]
    sizes = {"command": _bytes(command), "environment": _bytes(variables)}
    if sum(sizes.values()) > _LARGEST_DEFINITION_KIB * 1024:
        larger = max(sizes, key=lambda each: sizes[each])
        raise InvalidValueError(
            f"command and environment have {sum(sizes.values())} bytes, more than a job definition of AWS Batch",
            argument=larger,
            value=command if larger == "command" else plan.environment,
            allowed=f"{_LARGEST_DEFINITION_KIB} KiB for the whole job definition",
            fix="keep the text in the image or in Amazon S3, and give its place",
        )


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(each.encode()) for each in texts if not is_token(each))
